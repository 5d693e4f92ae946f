"""The numba back end on loops of many styles: same bits, same types, or a reason."""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from harness import Run, assert_same, region_for, run
from numba_corpus import COMPILED, REFUSED, Grid, Loop  # type: ignore[import-not-found]

from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.edits import apply_edits, combine
from gpuadvise.loopnest.lower import lower
from gpuadvise.model import Match, Refusal
from gpuadvise.observe.values import describe


@pytest.fixture(autouse=True)
def _private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled code of tests goes to a folder of their own."""
    old = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(tmp_path_factory.getbasetemp() / "numba")
    yield
    numba.config.CACHE_DIR = old


class Loaded:
    """A module executed once from a real file, so that each kernel is compiled once."""

    def __init__(self, text: str, file: Path) -> None:
        file.write_text(text)
        self.names: dict[str, Any] = {"__name__": file.stem, "__file__": str(file)}
        self.printed = io.StringIO()
        with contextlib.redirect_stdout(self.printed):
            exec(compile(text, str(file), "exec"), self.names)

    def call(self, function: str, args: tuple[Any, ...]) -> Run:
        """All that one call leaves behind."""
        found: Any = self.names
        for part in function.split("."):
            found = found[part] if isinstance(found, dict) else getattr(found, part)
        args = copy.deepcopy(args)
        result = error = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = found(*args)
            except Exception as problem:
                error = (type(problem), str(problem))
        warned = tuple(dict.fromkeys((w.category, str(w.message)) for w in caught))
        return Run(result, args, {}, "", error, warned)

    @property
    def compilations(self) -> int:
        """Specialisations of the kernels: 0 if the guard turned all calls down."""
        return sum(len(v.signatures) for k, v in self.names.items() if "_kernel" in k)


def kernels_compiled(text: str, function: str, args: tuple[Any, ...], folder: Path) -> int:
    """How many kernels one call compiles."""
    loaded = Loaded(text, folder / "rewritten.py")
    loaded.call(function, args)
    return loaded.compilations


def rewritten(
    text: str, function: str | None, args: tuple[Any, ...], parallel: bool = False
) -> str:
    """The new text; fails with the refusal's words."""
    region = region_for(text, function, args)
    match = emit(region, parallel=parallel)
    assert isinstance(match, Match), match
    assert match.safe, match.ledger
    return apply_edits(region.source, match.edits).decode()


@pytest.mark.parametrize("loop", COMPILED, ids=lambda loop: loop.name)
def test_same_bits_and_types(loop: Loop, tmp_path: Path) -> None:
    after = rewritten(loop.text, loop.function, loop.args[0])
    now = Loaded(after, tmp_path / "after.py")
    if loop.function is None:
        before = Loaded(loop.text, tmp_path / "before.py")
        assert now.printed.getvalue() == before.printed.getvalue()
        assert now.compilations == 1
        return
    before = Loaded(loop.text, tmp_path / "before.py")
    for number, args in enumerate(loop.args):
        expected, found = before.call(loop.function, args), now.call(loop.function, args)
        if number == 0:
            assert now.compilations == 1, "the guard turned down what was observed"
        assert_same(expected, found)
    assert now.compilations <= 2, "compiled again for other types"


@pytest.mark.parametrize("loop", REFUSED, ids=lambda loop: loop.name)
def test_refused_with_a_reason(loop: Loop) -> None:
    found = emit(region_for(loop.text, loop.function, loop.args[0]), parallel=False)
    assert isinstance(found, Refusal), found
    assert loop.reason is not None and loop.reason in found.reason


SMOOTH = """\
import numpy as np

def smooth(u, out):
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            t = u[i - 1, j] + u[i + 1, j]
            out[i, j] = 0.25 * (t + u[i, j - 1] + u[i, j + 1])
    return out
"""


def test_parallel_loop_in_threads(tmp_path: Path) -> None:
    args = (np.random.default_rng(1).random((9, 8)), np.zeros((9, 8)))
    after = rewritten(SMOOTH, "smooth", args, parallel=True)
    assert "numba.prange(1, n - 1)" in after
    assert kernels_compiled(after, "smooth", args, tmp_path) == 1
    assert_same(run(SMOOTH, "smooth", args), run(after, "smooth", args))


def test_parallel_loop_asks_for_distinct_memory(tmp_path: Path) -> None:
    u = np.random.default_rng(1).random((9, 8))
    after = rewritten(SMOOTH, "smooth", (u, np.zeros((9, 8))), parallel=True)
    assert "may_share_memory(out, u)" in after
    # smooth(u, u) is an in-place sweep: threads would race
    assert kernels_compiled(after, "smooth", (u, u), tmp_path) == 0
    assert_same(run(SMOOTH, "smooth", (u, u)), run(after, "smooth", (u, u)))


@pytest.mark.parametrize(
    "text",
    [
        "def f(a):\n    for i in range(1, len(a)):\n        a[i] += a[i - 1]\n",
        "def f(a):\n    for i in range(len(a)):\n        a[a.size - 1 - i] = a[i]\n",
        "def f(a):\n    for i in range(len(a)):\n        a[i // 2] = a[i]\n",
    ],
)
def test_dependent_iterations_stay_serial(text: str) -> None:
    region = region_for(text, "f", (np.arange(6.0),))
    assert isinstance(emit(region, parallel=True), Refusal)
    assert isinstance(emit(region, parallel=False), Match)


def test_two_regions_of_a_file_combine() -> None:
    text = (
        "def f(a):\n"
        "    s = 0.0\n"
        "    for i in range(len(a)):\n"
        "        s += a[i]\n"
        "    for i in range(len(a)):\n"
        "        a[i] = a[i] / s\n"
        "    return a\n"
    )
    args = ([1.0, 2.0, 5.0],)
    first = region_for(text, "f", args)
    assert first.function is not None
    loops = [n for n in first.function.body if isinstance(n, ast.For)]
    observation = first.observation
    assert observation is not None
    values = {**observation.values, "s": describe(8.0)}
    observation = replace(observation, values=values)
    nest = lower(
        loops[1],
        source=first.source,
        function=first.function,
        observation=observation,
        functions={},
    )
    second = replace(first, loop=loops[1], nest=nest, observation=observation)
    groups = []
    for region in (first, second):
        match = emit(region, parallel=False)
        assert isinstance(match, Match), match
        groups.append(match.edits)
    after = combine(first.source, groups).decode()
    assert after.count("def _is_vector") == 1
    assert_same(run(text, "f", args), run(after, "f", args))


def test_indices_that_may_be_out_of_bounds_are_checked() -> None:
    text = "def f(a, b, k):\n    for i in range(len(k)):\n        b[i] = a[k[i]]\n"
    args = (np.arange(3.0), np.zeros(2), np.array([0, 2]))
    assert "boundscheck=True" in rewritten(text, "f", args)
    args = (np.arange(3.0), np.zeros(3))
    proved = "def f(a, b):\n    for i in range(len(a)):\n        b[i] = a[i]\n"
    assert "boundscheck" not in rewritten(proved, "f", args)


def test_comments_go_into_the_kernel() -> None:
    text = (
        "def f(a):\n"
        "    # scale\n"
        "    for i in range(len(a)):  # each\n"
        "        a[i] *= 2.0  # by two\n"
        "        # done\n"
        "    return a\n"
    )
    after = rewritten(text, "f", (np.ones(3),))
    for comment in ("# scale", "# each", "# by two", "# done"):
        assert after.count(comment) == 1
    assert after.index("# done") < after.index("def f(")


def test_numba_already_imported_is_used() -> None:
    text = "from numba import njit\nimport numpy as xp\n\n\ndef f(a):\n"
    text += "    for i in range(len(a)):\n        a[i] = a[i] + 1.0\n"
    after = rewritten(text, "f", (np.ones(3),))
    assert "@njit(cache=True)" in after and after.count("import") == 2
    assert "xp.ndarray" in after


def test_attribute_names_do_not_clash() -> None:
    text = (
        "def f(obj, u):\n"
        "    for i in range(len(u)):\n"
        "        u[i] = u[i] + obj.u[i]\n"
        "    return u\n"
    )
    args = (Grid(u=np.ones(3)), np.arange(3.0))
    after = rewritten(text, "f", args)
    assert_same(run(text, "f", args), run(after, "f", args))


def test_refusal_of_the_nest_is_handed_on() -> None:
    region = region_for("def f(s):\n    for c in s:\n        print(c)\n", "f", ("ab",))
    assert isinstance(region.nest, Refusal)
    assert emit(region, parallel=False) is region.nest

"""The numba back end on loops of many styles: same bits, same types, or a reason."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from harness import assert_same, region_for, run
from numba_corpus import COMPILED, REFUSED, Loop  # type: ignore[import-not-found]

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


def kernels_compiled(text: str, function: str | None, args: tuple[Any, ...], folder: Path) -> int:
    """How many kernels one run of the rewritten text compiles: 0 if the guard turned it down."""
    file = folder / "rewritten.py"
    file.write_text(text)
    names: dict[str, Any] = {"__name__": "rewritten"}
    exec(compile(text, str(file), "exec"), names)
    if function is not None:
        found: Any = names
        for part in function.split("."):
            found = found[part] if isinstance(found, dict) else getattr(found, part)
        found(*copy.deepcopy(args))
    kernels = [v for k, v in names.items() if "_kernel" in k]
    assert all(len(k.signatures) <= 1 for k in kernels)
    return sum(len(k.signatures) for k in kernels)


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
    assert kernels_compiled(after, loop.function, loop.args[0], tmp_path) == 1
    for one in loop.args:
        before, now = run(loop.text, loop.function, one), run(after, loop.function, one)
        if before.error and now.error:  # compiled code words its exceptions otherwise
            now = replace(now, error=(now.error[0], before.error[1]))
        assert_same(before, now, scalar_names=loop.function is not None)


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

"""Products of matrices by CuPy, run against the loops: over NumPy, and on a GPU where one is."""

from __future__ import annotations

import math
import re
import sys
from types import SimpleNamespace
from typing import Any

import fake_cupy
import numpy as np
import pytest
from harness import assert_same, region_for, run, tolerance_for
from test_arrays import cupy  # noqa: F401  (a fixture)

from gpuadvise.codegen.cupy_backend import products_on_gpu
from gpuadvise.codegen.cupy_backend.matrices import Block
from gpuadvise.codegen.nb_values import Unsupported
from gpuadvise.model import Exactness, Match, Refusal, Source
from gpuadvise.patch import apply_edits
from gpuadvise.verify.claims import broken_step

CHAIN = """
import numpy as np


def f(a, b, c):
    n, m, p = a.shape[0], b.shape[1], c.shape[1]
    half = np.zeros((n, m))
    whole = np.zeros((n, p))
    for i in range(n):
        for j in range(m):
            for k in range(b.shape[0]):
                half[i, j] += a[i, k] * b[k, j]
    for i in range(n):
        for j in range(p):
            for k in range(m):
                whole[i, j] += half[i, k] * c[k, j]
    return whole
"""
UPDATE = """
def f(alpha, a, b, c):
    n, m = a.shape
    for i in range(n):
        for j in range(n):
            c[i, j] *= 0.5
            for k in range(m):
                c[i, j] += alpha * a[i, k] * b[j, k]
    return c
"""
GRAM = """
import numpy as np


def f(data):
    n, m = data.shape
    cov = np.zeros((m, m))
    for i in range(m):
        for j in range(i, m):
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= n - 1.0
            cov[j, i] = cov[i, j]
    return cov
"""
STACK = """
import numpy as np


def f(a, c):
    nr, nq, ns = a.shape
    row = np.zeros(ns)
    for r in range(nr):
        for q in range(nq):
            for p in range(ns):
                row[p] = 0.0
                for s in range(ns):
                    row[p] += a[r, q, s] * c[s, p]
            for p in range(ns):
                a[r, q, p] = row[p]
    return a
"""
LOWER = """
def f(alpha, beta, a, c):
    n, m = a.shape
    for i in range(n):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, k] * a[j, k]
    return c
"""
PART = """
import numpy as np


def f(x, w, layers):
    score = np.zeros((90, 80))
    for row in range(x.shape[0]):
        for unit in range(w.shape[1]):
            s = 0.0
            for k in range(w.shape[0]):
                s += x[row, k] * w[k, unit]
            score[row, unit] = layers * s
    return score
"""
BLOCK = """
def f(left, right, result, n):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                result[i, j] -= left[i, k] * right[k, j]
"""
MODULE = """
import numpy as np

rng = np.random.default_rng(1)
a, b = rng.random((80, 90)), rng.random((90, 85))
c = np.zeros((80, 85))
for i in range(a.shape[0]):
    for j in range(b.shape[1]):
        for k in range(a.shape[1]):
            c[i, j] += a[i, k] * b[k, j]
"""
INTO = """
def f(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total
    return out
"""


EQUAL = {"tolerance": tolerance_for(100), "new_names": frozenset({"np", "cp", "_f_product"})}


def matrices(seed: int, *shapes: tuple[int, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


PROGRAMS = {
    "one after the other": (CHAIN, lambda s: tuple(matrices(s, (66, 70), (70, 65), (65, 68)))),
    "an update of a third": (UPDATE, lambda s: (1.5, *matrices(s, (70, 80), (70, 80), (70, 70)))),
    "with its own transpose": (GRAM, lambda s: tuple(matrices(s, (90, 70)))),
    "a stack": (STACK, lambda s: tuple(matrices(s, (12, 9, 64), (64, 64)))),
    "one triangle": (LOWER, lambda s: (1.5, 0.5, *matrices(s, (70, 80), (70, 70)))),
    "into a part": (PART, lambda s: (*matrices(s, (70, 75), (75, 66)), 3)),
    "of parts": (BLOCK, lambda s: (*matrices(s, (90, 70), (70, 90), (80, 80)), 68)),
    "into another's": (INTO, lambda s: tuple(matrices(s, (70, 80), (80, 66), (70, 66)))),
}


def rewritten(text: str, args: tuple[object, ...]) -> str:
    region = region_for(text, "f", args)
    match = products_on_gpu(region)
    assert isinstance(match, Match), match
    assert match.exactness is Exactness.REASSOCIATED and "cupy" in match.needs
    new = apply_edits(region.source, match.edits)
    assert broken_step(region.source, new, match) is None
    return new.decode()


@pytest.mark.parametrize(("text", "make"), PROGRAMS.values(), ids=PROGRAMS.keys())
def test_equal(text: str, make: object, cupy: bool) -> None:  # noqa: F811
    new = rewritten(text, make(1))  # type: ignore[operator]
    assert ".get(out=" in new
    for seed in (2, 3):
        args = make(seed)  # type: ignore[operator]
        names = frozenset({"np", "cp", "_f_product"})
        before, after = run(text, "f", args), run(new, "f", args)
        assert_same(before, after, tolerance=tolerance_for(100), new_names=names)


def test_the_product_is_made_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    text, make = PROGRAMS["an update of a third"]
    new = rewritten(text, make(1))
    fake_cupy.copies.update(there=0, back=0)
    run(new, "f", make(1))
    assert fake_cupy.copies == {"there": 3, "back": 1}
    for setting in ("is_available", "runtime"):
        with monkeypatch.context() as there:
            none: Any = SimpleNamespace(memGetInfo=lambda: (0, 0))
            none = none if setting == "runtime" else (lambda: False)
            there.setattr(fake_cupy.cuda, setting, none)
            assert_same(run(text, "f", make(1)), run(new, "f", make(1)), **EQUAL)
        assert fake_cupy.copies == {"there": 3, "back": 1}


def test_what_is_only_written_is_not_copied_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    text, make = PROGRAMS["into another's"]
    new = rewritten(text, make(1))
    assert "gpu_out = cp.empty(out.shape, out.dtype)" in new
    fake_cupy.copies.update(there=0, back=0)
    run(new, "f", make(1))
    assert fake_cupy.copies == {"there": 2, "back": 1}


def test_arrays_that_cannot_take_the_result_are_left_to_numpy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    text, make = PROGRAMS["into another's"]
    new = rewritten(text, make(1))
    a, b, _ = make(2)
    others = (
        lambda: np.zeros((70, 66), order="F"),
        lambda: np.zeros((140, 132))[::2, ::2],
        lambda: np.zeros((70, 66), np.float32),
    )
    for other in others:
        fake_cupy.copies.update(there=0, back=0)
        space: dict[str, Any] = {}
        exec(new, space)  # harness.run() would copy the arrays into one block of memory
        assert np.allclose(space["f"](a, b, other()), a @ b, rtol=1e-5, atol=1e-4)
        assert fake_cupy.copies == {"there": 0, "back": 0}


def test_stored_through_one_name_and_read_through_another() -> None:
    """The text of two statements may not be made on copies where arrays are parts of one."""
    text, make = PROGRAMS["one triangle"]
    new = rewritten(text, make(1))
    assert "not np.may_share_memory(a, c)" in new


def test_one_product_for_a_stack_of_matrices() -> None:
    text, make = PROGRAMS["a stack"]
    assert "cp.tensordot(gpu_a, gpu_c, 1)" in rewritten(text, make(1))


def test_products_at_the_top_of_a_module_leave_nothing_on_the_device() -> None:
    """Names of the module live as long as the program."""
    region = region_for(MODULE, None, ())
    match = products_on_gpu(region)
    assert isinstance(match, Match), match
    new = apply_edits(region.source, match.edits).decode()
    assert "gpu_c" not in new and "_loop_product(" in new


def test_left_to_the_cpu() -> None:
    small = products_on_gpu(
        region_for(UPDATE, "f", (1.5, *matrices(1, (20, 20), (20, 20), (20, 20))))
    )
    assert isinstance(small, Refusal) and "take longer than the product" in small.reason
    whole = [m.astype(np.int64) for m in matrices(1, (80, 80), (80, 80), (80, 80))]
    assert products_on_gpu(region_for(UPDATE.replace("0.5", "2"), "f", (3, *whole))) is None


@pytest.mark.parametrize(
    ("text", "followed"),
    [
        ("a += a.T", True),
        ("a[1:] = a[:-1]", True),
        ("np.copyto(a, a.T, where=np.tri(n, dtype=bool))", True),
        ("np.copyto(a[1:, :-1].T, a[:-1, 1:], where=np.tri(n - 1, dtype=bool))", True),
        ("a -= b.sum(axis=0)", True),
        ("a[:] = np.sqrt((b - a) ** 2) / math.sqrt(n)", True),
        ("a[:] = b**3", False),
        ("a[:] = b.mean(axis=0)", False),
        ("a *= math.sqrt(b)", False),
        ("a += 1.0 * a.T + b", True),
        ("a[1:] = b[1:]", True),
        ("c = a @ b\na += c.T", True),
        ("a @= b", False),
        ("a[0] = 1.0", False),
        ("a += k", False),
        ("a += np.sort(b)", False),
        ("a += np.arange(n, dtype=float)", False),
        ("n = 3\na += n * b", False),
        ("t = 3.0 * b\na += t\nt = a @ b\na -= t", True),
        ("b = 3.0 * b\na += b", False),
        ("c = a @ b", False),
        ("for i in range(n):\n    a += b", False),
    ],
)
def test_statements_that_are_followed(text: str, followed: bool) -> None:
    """CuPy does not read all before it stores, and has another idea of some of these."""
    a, b = matrices(1, (70, 70), (70, 70))
    made = "def f(a, b, n, k):\n    for i in range(n):\n        a[i] = b[i]\n"
    region = region_for(made, "f", (a, b, 70, [1.0]))
    source = Source(region.source.path, ("import numpy as np\n" + text).encode())
    block = Block(region, source, source.tree.body[1:], "", "np", "cp", frozenset({"n"}))
    two = re.search(r"\bb\b", text) is not None
    if followed:
        assert "may_share_memory(a, b)" in "".join(block.lines()) or not two
        block = Block(region, source, source.tree.body[1:], "", "np", "cp", frozenset({"n"}))
    else:
        with pytest.raises(Unsupported):
            block.lines()
        return
    new = "\n".join(block.lines())
    assert two or ".copy()" in new  # what is read while it is stored
    known = {"np": np, "math": math, "n": 70, "b": b}
    space: dict[str, Any] = {**known, "cp": fake_cupy, "a": a.copy()}
    exec(new, space)
    other: dict[str, Any] = {**known, "a": a.copy()}
    exec(text, other)
    assert np.array_equal(space["a"], other["a"])

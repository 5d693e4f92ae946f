"""Products that feed other products stay on the device: over NumPy, and on a GPU where one is."""

from __future__ import annotations

import sys

import fake_cupy
import numpy as np
import pytest
from harness import assert_same, run, tolerance_for
from test_arrays import cupy  # noqa: F401  (a fixture)
from test_products import CHAIN, matrices

from gpuadvise.cases import chains_for
from gpuadvise.codegen.cupy_backend import products_on_gpu_together
from gpuadvise.codegen.together import converts_once, emit_arrays_together
from gpuadvise.model import Match, Region
from gpuadvise.patch import apply_edits
from gpuadvise.verify.claims import broken_step

THREE = """
import numpy as np


def f(a, b, c, d):
    n, m, q = a.shape[0], b.shape[1], d.shape[1]
    left = np.zeros((n, m))
    right = np.zeros((m, q))
    whole = np.zeros((n, q))
    for i in range(n):
        for j in range(m):
            for k in range(a.shape[1]):
                left[i, j] += a[i, k] * b[k, j]
    for i in range(m):
        for j in range(q):
            for k in range(c.shape[1]):
                right[i, j] += c[i, k] * d[k, j]
    for i in range(n):
        for j in range(q):
            for k in range(m):
                whole[i, j] += left[i, k] * right[k, j]
    return whole
"""
UPDATE = """
import numpy as np


def f(alpha, a, b, c, out):
    n, m = a.shape[0], b.shape[1]
    work = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for k in range(a.shape[1]):
                work[i, j] += alpha * a[i, k] * b[k, j]
    for i in range(n):
        for j in range(out.shape[1]):
            out[i, j] *= 0.25
            for k in range(m):
                out[i, j] += work[i, k] * c[k, j]
    return out
"""
LAYERS = """
import numpy as np


def f(x, first, second):
    hidden = np.zeros((len(x), first.shape[1]))
    out = np.zeros((len(x), second.shape[1]))
    for row in range(len(x)):
        for unit in range(first.shape[1]):
            s = 0.0
            for k in range(x.shape[1]):
                s += x[row, k] * first[k, unit]
            hidden[row, unit] = 0.5 * s
    for row in range(len(x)):
        for unit in range(second.shape[1]):
            s = 0.0
            for k in range(hidden.shape[1]):
                s += hidden[row, k] * second[k, unit]
            out[row, unit] = s
    return hidden, out
"""
PROGRAMS = {
    "a chain": (CHAIN, ((66, 70), (70, 65), (65, 68)), (3, 1)),
    "two that feed a third": (THREE, ((66, 70), (70, 65), (65, 72), (72, 68)), (4, 1)),
    "an update": (UPDATE, ((66, 70), (70, 65), (65, 68), (66, 68)), (4, 1)),
    "both are wanted": (LAYERS, ((66, 70), (70, 65), (65, 68)), (3, 2)),
}


def arguments(name: str, seed: int) -> tuple[object, ...]:
    shapes = PROGRAMS[name][1]
    return ((1.5,) if name == "an update" else ()) + tuple(matrices(seed, *shapes))


def region(text: str, args: tuple[object, ...]) -> Region:
    found = [r for chain in chains_for(text, "f", args) for r in chain if r.beside]
    assert len(found) == 1, found
    return found[0].together


def rewritten(name: str) -> str:
    where = region(PROGRAMS[name][0], arguments(name, 1))
    match = products_on_gpu_together(where)
    assert isinstance(match, Match), match
    new = apply_edits(where.source, match.edits)
    assert broken_step(where.source, new, match) is None
    return new.decode()


@pytest.mark.parametrize("name", PROGRAMS)
def test_equal(name: str, cupy: bool) -> None:  # noqa: F811
    text, new = PROGRAMS[name][0], rewritten(name)
    for seed in (2, 3):
        before = run(text, "f", arguments(name, seed))
        after = run(new, "f", arguments(name, seed))
        names = frozenset({"np", "cp"})
        assert_same(before, after, tolerance=tolerance_for(5000), new_names=names)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_feeds_others_stays_on_the_device(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    fake_cupy.copies.update(there=0, back=0)
    run(rewritten(name), "f", arguments(name, 2))
    assert tuple(fake_cupy.copies.values()) == PROGRAMS[name][2]


@pytest.mark.parametrize(
    "looks",
    ["print(half.sum())\n    return whole", "return whole, half", "keep = half\n    return whole"],
)
def test_what_is_looked_at_comes_back(looks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    text = CHAIN.replace("return whole", looks)
    where = region(text, arguments("a chain", 1))
    match = products_on_gpu_together(where)
    assert isinstance(match, Match), match
    assert b"gpu_half.get(out=half)" in apply_edits(where.source, match.edits)


def test_named_twice_before_the_loops_comes_back() -> None:
    text = CHAIN.replace("    whole = np", "    frames = [half]\n    whole = np")
    text = text.replace("return whole", "return whole, frames")
    where = region(text, arguments("a chain", 1))
    match = products_on_gpu_together(where)
    assert match is None or b"gpu_half.get(out=half)" in apply_edits(
        where.source,
        match.edits,  # type: ignore[union-attr]
    )


BLEND = """
def f(a, b, out, beta):
    n, m = out.shape
    for i in range(n):
        for j in range(m):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = beta * out[i, j] + total
    for i in range(n):
        for j in range(m):
            for k in range(m):
                b[i, j] += out[i, k] * a[k, j]
    return b
"""


def test_every_length_that_must_be_equal_is_asked() -> None:
    """``b`` may have fewer rows than are asked of its shape: ``a`` has fewer columns."""
    square = (*matrices(1, (30, 30), (30, 30), (30, 30)), 0.5)
    where = region(BLEND, square)
    match = emit_arrays_together(where)
    assert isinstance(match, Match), match
    new = apply_edits(where.source, match.edits).decode()
    for shapes in (((30, 30),) * 3, ((8, 6), (8, 4), (8, 4)), ((8, 8), (8, 4), (8, 4))):
        args = (*matrices(2, *shapes), 0.5)
        before, after = run(BLEND, "f", args), run(new, "f", args)
        assert_same(before, after, tolerance=tolerance_for(1000), new_names=frozenset({"np"}))


def test_lists_and_what_is_not_handed_on_are_left_to_other_rules() -> None:
    lists = tuple(m.tolist() for m in matrices(1, (9, 8), (8, 7)))
    text = "def f(a, b):\n    for i in range(9):\n        a[i][0] += 1.0\n"
    text += "    for i in range(9):\n        a[i][1] += b[0][0]\n"
    assert converts_once(region(text, lists))
    assert not converts_once(region(CHAIN, arguments("a chain", 1)))
    apart = "def f(a, b):\n    for i in range(9):\n        a[i, 0] += 1.0\n"
    apart += "    for i in range(8):\n        b[i, 1] += 2.0\n"
    chains = chains_for(apart, "f", tuple(map(np.array, lists)))
    assert not any(r.beside for chain in chains for r in chain)

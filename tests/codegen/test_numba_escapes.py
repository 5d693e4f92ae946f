"""``for k in range(limit): .. break`` and then ``k``: compiled for a limit of one and more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import assert_same, region_for, run
from test_numba_cpu import Loaded, _private_cache

from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.edits import apply_edits
from gpuadvise.model import Match, Refusal

__all__ = ["_private_cache"]

ESCAPE = """
def f(w, h, limit):
    image = [[0] * w for _ in range(h)]
    for py in range(h):
        for px in range(w):
            x0, y0 = -2.0 + 3.0 * px / w, -1.2 + 2.4 * py / h
            x = y = 0.0
            for k in range(limit):
                if x * x + y * y > 4.0:
                    break
                x, y = x * x - y * y + x0, 2 * x * y + y0
            image[py][px] = k
    return image
""".lstrip("\n")
FIRST = """
def f(a, limit):
    found = 0
    for i in range(len(a)):
        for k in range(limit):
            last = a[i] * k
            if last > 6:
                break
        found += last + k
    return found
""".lstrip("\n")
LIVE = """
def f(a, n):
    for i in range(n):
        for j in range(n):
            last = a[i] + j
        a[i] = last
    if n:
        a[0] = j
    return a
""".lstrip("\n")


@pytest.mark.parametrize(
    ("text", "args", "others"),
    [
        (ESCAPE, (12, 9, 20), [(5, 3, 1), (5, 3, 0), (0, 3, 0), (3, 0, 4)]),
        (FIRST, ([1, 2, 3], 9), [([5], 1), ([5], 0), ([], 0), ([], 3)]),
    ],
)
def test_the_index_after_its_loop(
    text: str, args: tuple[Any, ...], others: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    """Where the limit is 0, Python says what happens: a NameError, or nothing at all."""
    region = region_for(text, "f", args)
    match = emit(region, parallel=False)
    assert isinstance(match, Match), match
    loaded = Loaded(apply_edits(region.source, match.edits).decode(), tmp_path / "escape.py")
    for given in (args, *others):
        assert_same(run(text, "f", given), loaded.call("f", given))
    assert loaded.compilations == 1


def test_read_after_the_whole() -> None:
    """With ``n`` of 0 there is no ``j`` to hand back, and no one asks for it."""
    found = emit(region_for(LIVE, "f", ([1, 2, 3], 3)), parallel=False)
    assert isinstance(found, Refusal) and "may not assign" in found.reason, found

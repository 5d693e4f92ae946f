"""Bytearrays in compiled loops: read as ints, and nothing stored that is no byte."""

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

TEXT = """
def sharpen(image, w, h):
    out = bytearray(len(image))
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            p = y * w + x
            v = 5 * image[p] - image[p - 1] - image[p + 1] - image[p - w] - image[p + w]
            if v < 0:
                v = 0
            elif v > 255:
                v = 255
            out[p] = v
    return out


def lighter(image, by):
    for i in range(len(image)):
        image[i] = image[i] + by
    return image


def threshold(image, out, limit):
    count = 0
    for i, v in enumerate(image):
        out[i] = 255 if v > limit else 0
        count += v > limit
    return count


def histogram(image):
    counts = [0] * 256
    for value in image:
        counts[value] += 1
    return counts


def darker(image, by):
    for i in range(len(image)):
        image[i] -= by
    return image
""".lstrip("\n")


def _bytes(factor: int, size: int = 600) -> bytearray:
    return bytearray((i * factor) % 251 for i in range(size))


SAME = _bytes(9)
CASES: dict[str, list[tuple[Any, ...]]] = {
    "sharpen": [(_bytes(7), 30, 20), (_bytes(5), 25, 24), (_bytes(3, 9), 30, 20), (b"abcd", 2, 2)],
    # 251 + 3 is a byte, 251 + 9 is none: what was lighter by then stays so
    "lighter": [(_bytes(7), 3), (_bytes(7), 9), (bytearray(), 900), (_bytes(7), -1)],
    "threshold": [(_bytes(7), _bytes(3), 100), (_bytes(7), _bytes(3, 9), 9), (SAME, SAME, 100)],
    "histogram": [(_bytes(7),), (bytearray(),), ([1, 2],), (bytes(5),)],
}


@pytest.mark.parametrize("name", CASES)
def test_bytearrays(name: str, tmp_path: Path) -> None:
    region = region_for(TEXT, name, CASES[name][0])
    match = emit(region, parallel=False)
    assert isinstance(match, Match), match
    loaded = Loaded(apply_edits(region.source, match.edits).decode(), tmp_path / "rewritten.py")
    for args in CASES[name]:
        assert_same(run(TEXT, name, args), loaded.call(name, args))
    assert loaded.compilations == 1


def test_refusal() -> None:
    """``x[i] -= e`` has no place for a look at the number."""
    found = emit(region_for(TEXT, "darker", (_bytes(7), 1)), parallel=False)
    assert isinstance(found, Refusal)
    assert "may get an int that is no byte" in found.reason and found.line == 38

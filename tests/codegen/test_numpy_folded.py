"""Images and tables that are kept flat: looked at as rows, with slices for neighbours."""

from __future__ import annotations

import random

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

BLUR = """
KERNEL = [[1, 2, 1], [2, 4, 2], [1, 2, 1]]


def clamp(v, lo, hi):
    return max(lo, min(v, hi))


def f(pixels, width, height):
    out = bytearray(width * height)
    for y in range(height):
        for x in range(width):
            acc = 0
            for ky in range(-1, 2):
                for kx in range(-1, 2):
                    yy = clamp(y + ky, 0, height - 1)
                    xx = clamp(x + kx, 0, width - 1)
                    acc += KERNEL[ky + 1][kx + 1] * pixels[yy * width + xx]
            out[y * width + x] = acc // 16
    return out
"""
HEAT = """
def f(u, w, h):
    new = list(u)
    for j in range(1, h - 1):
        for i in range(1, w - 1):
            k = j * w + i
            new[k] = u[k] + 0.1 * (u[k - 1] + u[k + 1] + u[k - w] + u[k + w] - 4.0 * u[k])
    return new
"""
LIFE = """
import numpy as np


def f(world, n, m):
    new = np.zeros(n * m, dtype=int)
    for r in range(n):
        for c in range(m):
            alive = 0
            for dr in (-1, 0, 1):
                for dc in (-1, 0, 1):
                    if dr != 0 or dc != 0:
                        alive += world[((r + dr) % n) * m + (c + dc) % m]
            if alive == 3 or (alive == 2 and world[r * m + c] == 1):
                new[r * m + c] = 1
    return new
"""
PRODUCT = """
import numpy as np


def f(a, b, n):
    c = np.zeros(16 * n)
    for i in range(n):
        for j in range(16):
            total = 0.0
            for k in range(8):
                total += a[8 * i + k] * b[k * 16 + j]
            c[i * 16 + j] = total
    return c
"""

EDGES = """
def f(g, w, h):
    out = [0] * (w * h)
    for y in range(h):
        for x in range(w):
            total = g[y * w + x]
            if x > 0:
                total += g[y * w + x - 1]
            if x < w - 1:
                total += g[y * w + x + 1]
            if y > 0:
                total += g[(y - 1) * w + x]
            if y + 1 < h:
                total += g[(y + 1) * w + x]
            out[y * w + x] = total
    return out
"""
GREY = """
def f(rgb, w, h):
    grey = bytearray(w * h)
    for y in range(h):
        for x in range(w):
            k = 3 * (y * w + x)
            grey[y * w + x] = (77 * rgb[k] + 150 * rgb[k + 1] + 29 * rgb[k + 2]) >> 8
    return grey
"""
SOBEL = """
import math


def f(img, w, h):
    out = [0] * (w * h)
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            gx = img[y * w + x + 1] - img[y * w + x - 1]
            gy = img[(y + 1) * w + x] - img[(y - 1) * w + x]
            out[y * w + x] = min(255, int(math.sqrt(gx * gx + gy * gy)))
    return out
"""


def numbers(count, most=255, seed=1):
    rng = random.Random(seed)
    return [rng.randint(0, most) for _ in range(count)]


def floats(count, seed=1):
    return [0.37 * v - 9.0 for v in numbers(count, seed=seed)]


EQUAL = {
    "bytes": (
        BLUR,
        (bytearray(numbers(12 * 9)), 12, 9),
        [
            (bytearray(numbers(4 * 5)), 4, 5),
            (bytearray(numbers(6)), 1, 6),
            (bytearray(), 0, 0),
            (bytearray(numbers(30)), 7, 4),
            (bytearray(numbers(28)), 7, 5),
            (numbers(20), 4, 5),
            (bytearray(numbers(20)), 4.0, 5),
        ],
        ("out_rows[:]", "padded[0] = padded[1]"),
    ),
    "a list": (
        HEAT,
        (floats(12 * 9), 12, 9),
        [
            (floats(20), 4, 5),
            (floats(20), 5, 4),
            (floats(19), 5, 4),
            (numbers(20), 5, 4),
            ([], 0, 3),
        ],
        ("u_rows[1:-1, :-2]", "new[:] = new_rows.ravel().tolist()"),
    ),
    "an array": (
        LIFE,
        (np.array(numbers(20 * 14, 1)), 20, 14),
        [
            (np.array(numbers(12, 1)), 3, 4),
            (np.array(numbers(12, 1)), 3, 5),
            (np.array(numbers(24, 1))[::2], 3, 4),
            (np.array(numbers(12, 5)), 4, 3),
            (np.array(numbers(12, 1), dtype=np.uint8), 4, 3),
        ],
        (".reshape(-1, m)",),
    ),
    "slices that conditions keep in their row": (
        EDGES,
        (numbers(12 * 9), 12, 9),
        [
            (numbers(n), w, h)
            for n, w, h in ((12, 3, 4), (1, 1, 1), (5, 5, 1), (11, 3, 4), (0, 0, 2))
        ],
        ("total[:, 1:] += g_rows[:, :-1]",),
    ),
    "colours": (
        GREY,
        (bytearray(numbers(360)), 12, 10),
        [(bytearray(numbers(n)), w, h) for n, w, h in ((36, 3, 4), (35, 3, 4), (0, 0, 0))],
        ("grey_rows[:]", ">> 8"),
    ),
    "a root": (
        SOBEL,
        (numbers(120), 12, 10),
        [(numbers(20), 5, 4), ([2**70, *numbers(19)], 5, 4), ([-3, *numbers(19)], 5, 4)],
        ("np.sqrt(",),
    ),
    "a row length that is a number": (
        PRODUCT,
        (np.array(floats(8 * 30)), np.array(floats(8 * 16, 2)), 30),
        [
            (np.array(floats(16)), np.array(floats(128)), 2),
            (np.array(floats(16)), np.array(floats(127)), 3),
        ],
        (".reshape(-1, 16)",),
    ),
}


@pytest.mark.parametrize(("text", "seen", "others", "wanted"), EQUAL.values(), ids=EQUAL)
def test_equal(text, seen, others, wanted):
    region = region_for(text, "f", seen)
    match = emit(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    for part in wanted:
        assert part in after, after
    for args in (seen, *others):
        assert_same(run(text, "f", args), run(after, "f", args))


BRIGHTER = """
def f(pixels, width, height, gain):
    out = bytearray(pixels)
    for y in range(height):
        for x in range(width):
            out[y * width + x] = pixels[y * width + x] * gain // 8
    return out
"""


def test_what_is_no_byte_raises_as_it_did():
    """The new elements are looked at before any is stored, and the loop runs where one is none."""
    region = region_for(BRIGHTER, "f", (bytearray(numbers(120, 60)), 12, 10, 9))
    match = emit(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert ">> 8 == 0).all()" in after
    for args in ((bytearray(numbers(20)), 5, 4, 9), (bytearray(numbers(20)), 5, 4, -1)):
        found = run(after, "f", args)
        assert_same(run(BRIGHTER, "f", args), found)
        assert found.error is not None and found.error[0] is ValueError


BEYOND = """
def f(g, w, h):
    out = [0] * (w * h)
    for y in range(h):
        for x in range(w):
            if x > 0:
                out[y * w + x] = g[y * w + x - 2]
            else:
                out[y * w + x] = g[y * w + x]
    return out
"""


def test_the_end_of_the_row_above_is_no_slice():
    """``g[y * w + x - 2]`` at ``x == 1`` is in the row above, or the last of all."""
    region = region_for(BEYOND, "f", (numbers(120), 12, 10))
    assert isinstance(emit(region), Refusal)


OVERLAPPING = {
    # out[y * width + x] with x up to width: a pixel of the next row too
    "rows that overlap": "for y in range(h - 1):\n        for x in range(w + 1):",
    "an unknown step": "for y in range(0, h, 2):\n        for x in range(q):",
}


@pytest.mark.parametrize("loops", OVERLAPPING.values(), ids=OVERLAPPING)
def test_rows_that_overlap_stay_equal(loops):
    text = f"""
def f(a, w, h, q):
    out = [0] * len(a)
    {loops}
            out[y * w + x] = out[y * w + x] // 2 + a[y * w + x]
    return out
"""
    region = region_for(text, "f", (numbers(120), 12, 10, 12))
    match = emit(region)
    if isinstance(match, Refusal):
        return
    after = apply_edits(region.source, match.edits).decode()
    for args in ((numbers(120), 12, 10, 12), (numbers(120), 12, 10, 15), (numbers(12), 4, 3, 7)):
        assert_same(run(text, "f", args), run(after, "f", args))

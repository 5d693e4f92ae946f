"""Sums into elements that the data choose: in the loop's order, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from harness import assert_same, region_for, run
from numpy_cases import Cases, check, reason

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

rng = np.random.default_rng(3)
BINS, WEIGHTS = rng.integers(0, 12, 400), rng.random(400) - 0.4
CASES = Cases()
CASES.add(
    "counts",
    "def k(b, h):\n    for i in range(len(b)):\n        h[b[i]] += 1\n",
    (BINS, np.zeros(12, dtype=int)),
    [(BINS, np.zeros(5, dtype=int)), (BINS - 3, np.zeros(12, dtype=int)), (BINS[:0], np.zeros(3))],
)
CASES.add(
    "counts in a list",
    "def k(b, n):\n    h = [0] * n\n    for v in b:\n        h[v] += 2\n    return h\n",
    (BINS, 12),
    [(BINS.tolist(), 12), (BINS, 5), (BINS - 20, 12), (BINS - 12, 12)],
)
SERIES = rng.random(400)
CASES.add(
    "seasons",
    """
def k(x, period):
    sums = [0.0] * period
    for i, v in enumerate(x):
        sums[i % period] += v
    return sums
""",
    (SERIES.tolist(), 12),
    [(SERIES[:n].tolist(), period) for n, period in ((40, 1), (3, 7), (40, 0), (40, -3), (0, 5))],
)
CASES.add(
    "seasons taken off",
    """
def k(x, means, period, out):
    for i in range(len(x)):
        out[i] = x[i] - means[i % period]
""",
    (SERIES, SERIES[:12].copy(), 12, np.zeros(400)),
    [
        (SERIES, SERIES[:n].copy(), period, np.zeros(400))
        for n, period in ((12, 5), (5, 12), (5, -5), (5, 0), (500, 450), (1, 1))
    ],
)
CASES.add(
    "blocks of a width",
    """
def k(x, width, sums):
    for i in range(len(x)):
        sums[i // width] += x[i]
""",
    (SERIES, 20, np.zeros(20)),
    [(SERIES, width, np.zeros(20)) for width in (1, 500, 0, -20, -400)],
)
CASES.add(
    "weights",
    "def k(b, w, h):\n    for i in range(len(b)):\n        h[b[i]] -= w[i] * w[i]\n",
    (BINS, WEIGHTS, np.zeros(12)),
    [(BINS - 12, WEIGHTS, np.ones(12)), (BINS, WEIGHTS[:30], np.ones(12))],
)
CASES.add(
    "weights in lists",
    "def k(b, w, h):\n    for i in range(len(b)):\n        h[b[i]] += w[i]\n",
    (BINS.tolist(), WEIGHTS.tolist(), [0.0] * 12),
    [(BINS.tolist(), WEIGHTS.tolist(), [0.5] * 3)],
)
CASES.add(
    "chosen ones",
    """
def k(b, w, h, n):
    for i in range(len(b)):
        if w[i] > 0.1:
            h[b[i]] += w[i]
            n[b[i]] += 1
""",
    (BINS, WEIGHTS, np.zeros(12), np.zeros(12, dtype=int)),
)
CASES.add(
    "sparse rows",
    """
def k(rows, cols, vals, x, y):
    for p in range(len(vals)):
        y[rows[p]] += vals[p] * x[cols[p]]
""",
    (BINS, rng.integers(0, 30, 400), WEIGHTS, rng.random(30), np.zeros(12)),
)
CASES.add(
    "means of clusters",
    """
def k(labels, points, sums, counts):
    for i in range(len(points)):
        c = labels[i]
        counts[c] += 1
        for d in range(points.shape[1]):
            sums[c, d] += points[i, d]
""",
    (BINS, rng.random((400, 20)), np.zeros((12, 20)), np.zeros(12, dtype=int)),
)
CASES.add(
    "clamped bins",
    """
def k(x, low, width, h):
    for i in range(len(x)):
        b = int((x[i] - low) / width)
        if b < 0:
            b = 0
        elif b > 9:
            b = 9
        h[b] += 1
""",
    (rng.random(400), 0.1, 0.05, np.zeros(10, dtype=int)),
    [(rng.random(400), 0.1, 0.05, np.zeros(7, dtype=int))],
)
CASES.add(
    "clamped floats",
    """
def k(x, h):
    for i in range(len(x)):
        v = x[i]
        if v > 5:
            v = 5
        elif v < 0:
            v = 0
        h[int(v)] += 1
""",
    (7 * rng.random(400) - 1, np.zeros(6, dtype=int)),
    [(7 * rng.random(400) - 1, np.zeros(5, dtype=int)), (np.array([4.5, 5.0, -0.5]), np.ones(6))],
)
CASES.add(
    "two tables of an image",
    """
def k(image, rows, table):
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            table[image[i, j], rows[i]] += 1
""",
    (rng.integers(0, 9, (40, 50)), rng.integers(0, 4, 40), np.zeros((9, 4), dtype=int)),
)


CASES.add(
    "only what lies inside",
    """
def k(x, w, h, n, low, high):
    lost = 0
    for i in range(len(x)):
        if x[i] < low or x[i] >= high:
            lost += 1
            continue
        b = int((x[i] - low) / (high - low) * 10)
        h[b] += w[i]
        n[b] += 1
    return lost
""",
    (3 * WEIGHTS, WEIGHTS, np.zeros(10), np.zeros(10, dtype=int), -0.5, 1.25),
    [
        (3 * WEIGHTS, WEIGHTS, np.zeros(9), np.zeros(10, dtype=int), -0.5, 1.25),
        (3 * WEIGHTS, WEIGHTS, np.zeros(10), np.zeros(10, dtype=int), 7.5, 9.25),
        (np.append(WEIGHTS, np.nan), WEIGHTS, np.zeros(10), np.zeros(10, dtype=int), -0.5, 1.25),
    ],
)


POSITIONS = (1.2 * rng.random(300) - 0.1).tolist()
HEIGHTS = rng.random(300).tolist()
SPOILT = [
    ([*HEIGHTS[:9], odd, *HEIGHTS[:9]], HEIGHTS[:19]) for odd in (np.nan, np.inf, 1e300, 2.0, -3.0)
]
CASES.add(
    "cells of a list",
    """
def k(xs, ys, n):
    grid = [[0] * n for _ in range(n)]
    for x, y in zip(xs, ys):
        i = int(x * n)
        j = int(y * n)
        if 0 <= i < n and 0 <= j < n:
            grid[j][i] += 1
    return grid
""",
    (POSITIONS, HEIGHTS, 8),
    [*((*pair, 8) for pair in SPOILT), (POSITIONS, HEIGHTS, 0), (POSITIONS, HEIGHTS[:5], 8)],
)
CASES.add(
    "cells of an array that others see",
    """
import math

def k(xs, ys, density, weight):
    rows, columns = density.shape
    for p in range(len(xs)):
        i = math.floor(xs[p] * columns)
        j = math.floor(ys[p] * rows)
        if i < 0 or j < 0 or i >= columns or j >= rows:
            continue
        density[j, i] += weight * xs[p]
""",
    (POSITIONS, HEIGHTS, np.zeros((5, 8)), 0.5),
    [(*pair, np.ones((5, 8)), 0.5) for pair in SPOILT]
    + [(POSITIONS, [1, 0] * 150, np.ones((5, 8)), 0.5)],
)
CASES.add(
    "fewer elements than the condition lets through",
    """
def k(xs, counts, n):
    for x in xs:
        b = int(x * n)
        if not (b < 0 or n <= b):
            counts[b] += 1
""",
    (POSITIONS, [0] * 8, 8),
    [(POSITIONS, [0] * 7, 8), (POSITIONS, [0] * 9, 8), ([0.01, -0.9], [0] * 8, 8)],
)
for low in ("", "-9 <= "):
    CASES.add(
        f"a condition that lets too small ones through {low}",
        f"""
def k(xs, counts, n):
    for x in xs:
        b = int(x * n)
        if {low}b < n:
            counts[b] += 1
""",
        (POSITIONS, [0] * 8, 8),
        [([0.01, 0.02, x, 0.5], [0] * 8, 8) for x in (-0.9, -1.01, -1.125, -1.5)],
    )
CASES.add(
    "one flat array of cells",
    """
def k(pairs, n):
    count = [0] * (n * n)
    met = 0
    for x, y in pairs:
        cx = int(x * n)
        cy = int(y * n)
        if cx >= 0 and cx < n and cy >= 0 and cy < n:
            count[cy * n + cx] += 1
            met += 1
    return count, met
""",
    (list(zip(POSITIONS, HEIGHTS, strict=True)), 8),
    [(list(zip(*pair, strict=True)), 8) for pair in SPOILT],
)
CASES.add(
    "bins that the data may leave",
    """
def k(xs, low, high, n):
    counts = [0] * n
    for x in xs:
        counts[min(int((x - low) / (high - low) * n), n - 1)] += 1
    return counts
""",
    (HEIGHTS, 0.0, 1.0, 12),
    [*((xs, 0.0, 1.0, 12) for xs, _ in SPOILT), (HEIGHTS, 0.9, 1.0, 12), (HEIGHTS, 0.0, 0.0, 12)],
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_sums_into_computed_elements(case):
    check(case)


def test_what_a_condition_leaves_out_need_not_be_inside():
    """Else the test in front of the array code would fail on the very data it was made for."""
    case = CASES["only what lies inside"]
    after = check(case)
    original = after.rpartition("    if not stored:\n")[2].partition("    return")[0]
    assert original.lstrip().startswith("for i in range(len(x)):")
    without = after.replace(original, "        raise AssertionError\n")
    assert_same(run(case.text, "k", case.observed), run(without, "k", case.observed))


def test_what_a_condition_says_of_subscripts_is_not_asked_of_the_data():
    text = check(CASES["cells of a list"])
    assert "raise IndexError" not in text
    assert ".min()" not in text


def test_arrays_that_others_see_are_added_to_when_nothing_can_raise_any_more():
    text = check(CASES["cells of an array that others see"])
    computed, _, behind = text.partition("except FloatingPointError:")
    assert "np.add.at(density" in behind.partition("if not stored")[0]
    assert "np.add.at(density" not in computed


def test_a_place_that_is_set_again_before_its_sum():
    text = """
def k(xs, ys, a, b):
    for p in range(len(xs)):
        i = int(xs[p] * 8)
        if 0 <= i < 8:
            a[i] += 1
        i = int(ys[p] * 8)
        if 0 <= i < 8:
            b[i] += 1
"""
    arrays = np.zeros(8, dtype=int), np.zeros(8, dtype=int)
    assert "before what may raise" in reason(text, POSITIONS, HEIGHTS, *arrays)


def test_the_next_number_of_bins_is_another():
    """A guard that holds up to 31 bins only would send a finer histogram back to the loop."""
    case = CASES["cells of a list"]
    after = check(case)
    original = after.rpartition("    if not stored:\n")[2].partition("    return")[0]
    without = after.replace(original, "        raise AssertionError\n")
    finer = (POSITIONS, HEIGHTS, 200)
    assert_same(run(case.text, "k", finer), run(without, "k", finer))


def test_counts_are_counted_and_clamps_need_no_test_of_the_data():
    text = check(CASES["clamped bins"])
    assert "h += np.bincount(b, minlength=len(h))" in text
    assert "h.shape[0] >= 10" in text


REFUSED = {
    "read besides": """
def k(b, h):
    for i in range(len(b)):
        h[b[i]] += 1.0
        b[i] = h[0]
""",
    "used in the term": """
def k(b, h):
    for i in range(len(b)):
        h[b[i]] += h[0]
""",
    "bytes that wrap": """
def k(b, h):
    for i in range(len(b)):
        h[b[i]] += 1
""",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_plain_sum(name):
    kind = np.uint8 if "bytes" in name else float
    assert reason(REFUSED[name], BINS.copy(), np.zeros(12, dtype=kind))


def test_single_precision_is_rounded_after_each_term():
    text = "def k(b, w, h):\n    for i in range(len(b)):\n        h[b[i]] += w[i]\n"
    assert reason(text, BINS.copy(), WEIGHTS, np.zeros(12, dtype=np.float32))


def test_floats_keep_the_order_of_loops_that_stay():
    text = """
def k(b, w, h):
    for i in range(len(b)):
        for j in range(i):
            h[b[i]] += w[j]
"""
    assert reason(text, BINS[:80].copy(), WEIGHTS, np.zeros(12))


HISTOGRAM = """
import numpy as np

def histogram(x, lo, hi, n):
    h = np.zeros(n, dtype=np.int64)
    for i in range(len(x)):
        if x[i] < lo or x[i] >= hi:
            continue
        h[int((x[i] - lo) / (hi - lo) * n)] += 1
    return h
"""


@pytest.mark.parametrize("hi", [0.9, 0.25, 0.0])
def test_a_guard_does_not_warn_where_the_loop_does_not(hi):
    region = region_for(HISTOGRAM, "histogram", (WEIGHTS, 0.25, 0.9, 10))
    match = emit(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert "hi - lo != 0" in after
    args = (WEIGHTS, 0.25, hi, 10)
    assert_same(run(HISTOGRAM, "histogram", args), run(after, "histogram", args))

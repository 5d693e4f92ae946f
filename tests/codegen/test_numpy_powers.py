"""Powers of floats: where the last digit counts, they are those of the C library."""

from __future__ import annotations

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Exactness, Match, Refusal
from gpuadvise.patch import apply_edits

HEAD = "import math\n\nimport numpy as np\n\n\n"
rng = np.random.default_rng(8)
POINTS = rng.normal(0.0, 3.0, (60, 3)).tolist()
CENTRES = rng.normal(0.0, 3.0, (5, 3)).tolist()
NEAREST = """\
def nearest(points, centres):
    labels = [0] * len(points)
    for i in range(len(points)):
        best = 1e300
        for c in range(len(centres)):
            d = 0.0
            for k in range(3):
                d += (points[i][k] - centres[c][k]) ** 2
            if math.sqrt(d) < best:
                best = math.sqrt(d)
                labels[i] = c
    return labels
"""
SPREAD = """\
def spread(xs, mean):
    total = 0.0
    for i in range(len(xs)):
        total += (xs[i] - mean) ** 2
    return total
"""
ARCS = """\
def arcs(lat, lon):
    n = len(lat)
    table = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            a = math.sin((lat[j] - lat[i]) / 2) ** 2
            a += math.cos(lat[i]) * math.cos(lat[j]) * math.sin((lon[j] - lon[i]) / 2) ** 2
            table[i][j] = 2 * math.asin(math.sqrt(a))
    return table
"""
TREE = """\
def tree(values, u, n):
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            exercise = 100.0 - 95.0 * u ** (2 * j - i)
            hold = 0.99 * (0.5 * values[j + 1] + 0.5 * values[j])
            if exercise > hold:
                values[j] = exercise
            else:
                values[j] = hold
    return values
"""
GROWTH = """\
def growth(rates, years):
    out = [0.0] * len(rates)
    for i in range(len(rates)):
        out[i] = (1.0 + rates[i]) ** years[i] - 1.0
    return out
"""


def rewritten(text: str, name: str, args: tuple[object, ...]) -> tuple[str, Match]:
    """The new text, and the match."""
    region = region_for(HEAD + text, name, args)
    match = emit(region)
    assert isinstance(match, Match), match
    return apply_edits(region.source, match.edits).decode(), match


@pytest.mark.parametrize(
    ("text", "args", "others"),
    [
        (
            NEAREST,
            (POINTS, CENTRES),
            [(POINTS, []), ([], CENTRES), (POINTS, [[1e200] * 3]), (POINTS, [[float("nan")] * 3])],
        ),
        (
            TREE,
            ([float(max(0, 40 - k)) for k in range(41)], 1.02, 40),
            [
                ([1.0, 2.0, 3.0], 1.02, 0),
                ([1.0, 2.0, 3.0], 1.02, 3),
                ([1.0, 2.0, 3.0], -1.02, 2),
                ([1.0, 2.0, 3.0, 4.0], 0.0, 3),
                ([1.0, 2.0, 3.0, 4.0], 1e-200, 3),
                ([1.0, 2.0, 3.0, 4.0], float("inf"), 3),
                ([1.0, 2.0, 3.0, 4.0], 2, 3),
            ],
        ),
        (
            GROWTH,
            (rng.random(50).tolist(), list(range(50))),
            [
                ([-0.5, 0.5], [3, -2]),
                ([-1.0, 0.5], [3, -2]),
                ([-1.0, 0.5], [-3, 2]),
                ([-3.0, 0.5], [3, 2]),
                ([1e200, 0.5], [3, 2]),
                ([0.25, 0.5], [3, 2**70]),
                ([0.25, 0.5], [3, 0.5]),
                ([0.25, 0.5], [3]),
            ],
        ),
    ],
    ids=("nearest", "tree", "growth"),
)
def test_bit_for_bit(text: str, args: tuple[object, ...], others: list[tuple[object, ...]]) -> None:
    """``x ** 2`` is no ``x * x`` for one number in a thousand; results and exceptions stay."""
    name = text[4 : text.index("(")]
    after, match = rewritten(text, name, args)
    assert match.safe and match.exactness is Exactness.BITS
    assert "np.float_power(" in after
    for one in (args, *others):
        old, new = run(HEAD + text, name, one), run(after, name, one)
        assert_same(old, new, compare_warnings=False)


def test_many_powers_are_the_same() -> None:
    """Against Python's own, of random numbers and exponents: squares and roots, too."""
    bases = rng.lognormal(0.0, 4.0, 4000)
    for exponents in (rng.normal(0.0, 4.0, 4000), np.full(4000, 2.0), np.full(4000, 0.5)):
        mine = [x**y for x, y in zip(bases.tolist(), exponents.tolist(), strict=True)]
        assert np.float_power(bases, exponents).tolist() == mine


def test_what_a_steep_function_is_given() -> None:
    """``asin`` near one magnifies the last digit of a square; its own may differ."""
    lat = np.linspace(-1.5, 1.5, 30).tolist()
    lon = np.linspace(-3.0, 3.14, 30).tolist()
    after, match = rewritten(ARCS, "arcs", (lat, lon))
    assert match.safe and match.exactness is Exactness.LAST_DIGIT
    assert after.count("np.float_power(") == 2


def test_squares_that_are_added_up_are_products() -> None:
    """One of a thousand differs in its last place, which a sum of many does not have."""
    after, match = rewritten(SPREAD, "spread", (POINTS[0] * 99, 0.3))
    assert "np.float_power(" not in after and match.exactness is Exactness.LAST_DIGIT


def test_squares_that_only_are_stored_are_products() -> None:
    text = "def k(a, out):\n    for i in range(len(a)):\n        out[i] = a[i] ** 2\n"
    after, match = rewritten(text, "k", (rng.random(90), np.zeros(90)))
    assert "out[:] = a**2" in after
    assert match.exactness is Exactness.LAST_DIGIT


def test_other_precisions_are_not_called_exact() -> None:
    """``np.float_power`` makes doubles of float32."""
    text = (
        "def k(a, t):\n    n = 0\n    for i in range(len(a)):\n"
        "        if a[i] ** 2 > t:\n            n += 1\n    return n\n"
    )
    region = region_for(HEAD + text, "k", (rng.random(90).astype(np.float32), 0.5))
    match = emit(region)
    assert isinstance(match, Match) and not match.safe
    region = region_for(HEAD + text, "k", (rng.random(90), 0.5))
    match = emit(region)
    assert isinstance(match, Match) and match.safe and match.exactness is Exactness.BITS


def test_a_varying_power_that_cannot_start_again_is_refused() -> None:
    """What was stored into an array stays where Python raises in the middle."""
    text = "def k(a, n, out):\n    for i in range(len(a)):\n        out[i] = (a[i] - 2.0) ** n[i]\n"
    args = ([3.0, 4.0, 5.0] * 20, [1, 2, 3] * 20, np.zeros(60))
    match = emit(region_for(HEAD + text, "k", args))
    assert isinstance(match, Refusal) and "complex" in match.reason

"""Where curves cross: on times that follow a law, with noise."""

from __future__ import annotations

import numpy as np
import pytest

from gpuadvise.crossover.curves import Condition, Curves, Growth, Point, predicted
from gpuadvise.crossover.versions import Kind

SIZES = (25, 50, 100, 200, 400, 800)


def times(seconds: float, rng: np.random.Generator, count: int = 3) -> tuple[float, ...]:
    return tuple(float(seconds * (1.0 + 0.02 * rng.standard_normal())) for _ in range(count))


def curves(sizes: tuple[int, ...] = SIZES, **laws: object) -> Curves:
    """Laws by name: a function of the size, or a pair (first run, later run)."""
    rng = np.random.default_rng(5)
    rows = {}
    for size in sizes:
        row = {}
        for name, law in laws.items():
            first, later = law if isinstance(law, tuple) else (law, None)
            row[Kind[name]] = Point(
                times(first(size), rng), times(later(size), rng) if later else ()
            )
        rows[size] = row
    return Curves(rows)


def naive(n: float) -> float:
    return 0.05 + 5e-5 * n * n


def numpy(n: float) -> float:
    return 0.15 + 1e-6 * n * n


def compiled(n: float) -> float:
    return 0.55 + 2e-7 * n * n


def cold(n: float) -> float:
    return 1.30 + 2e-7 * n * n


def root(one, other) -> float:
    return min(np.arange(1, 3000), key=lambda n: abs(one(n) - other(n)))


def test_the_lead_changes_where_the_laws_cross() -> None:
    found = curves(ORIGINAL=naive, NUMPY=numpy, NUMBA=(cold, compiled))
    lead = found.lead(Condition.LATER)
    assert lead.smallest is Kind.ORIGINAL
    assert [(c.before, c.after) for c in lead.changes] == [
        (Kind.ORIGINAL, Kind.NUMPY),
        (Kind.NUMPY, Kind.NUMBA),
    ]
    for change, pair in zip(lead.changes, ((naive, numpy), (numpy, compiled)), strict=True):
        assert change.low <= change.size <= change.high
        assert change.size == pytest.approx(root(*pair), rel=0.2)
    assert lead.at(30) is Kind.ORIGINAL and lead.at(200) is Kind.NUMPY
    assert lead.at(5000) is Kind.NUMBA
    assert [c.after for c in found.lead(Condition.FIRST).changes] == [Kind.NUMPY]


def test_closer_sizes_make_the_estimate_better() -> None:
    exact = root(numpy, compiled)
    wide = curves((400, 1600), NUMPY=numpy, NUMBA=(cold, compiled)).lead(Condition.LATER)
    close = curves((600, 840), NUMPY=numpy, NUMBA=(cold, compiled)).lead(Condition.LATER)
    assert abs(close.changes[0].size - exact) < 0.05 * exact
    assert abs(close.changes[0].size - exact) < abs(wide.changes[0].size - exact)


def test_the_interval_holds_the_size_although_the_times_are_noisy() -> None:
    """One unlucky time at a neighbouring size must not place the change, nor make it look sure."""
    exact, held, errors = root(naive, numpy), 0, []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        rows = {}
        for size in (25, 32, 36, 40, 45, 50, 64, 100):
            noise = 1.0 + 0.08 * rng.standard_normal((2, 3))
            rows[size] = {
                Kind.ORIGINAL: Point(tuple(naive(size) * noise[0])),
                Kind.NUMPY: Point(tuple(numpy(size) * noise[1])),
            }
        (change,) = Curves(rows).lead(Condition.FIRST).changes
        held += change.low <= exact <= change.high
        errors.append(change.size / exact - 1.0)
    assert held >= 90  # of 100, for intervals of 95 %
    # From the two enclosing sizes alone: 0.042, and 87 intervals.
    assert np.std(errors) < 0.033 and abs(np.mean(errors)) < 0.02


def test_noise_is_no_change_of_lead() -> None:
    found = curves(NUMPY=lambda n: 0.2, NUMBA=lambda n: 0.2)
    assert found.lead(Condition.FIRST).changes == ()


def test_what_was_too_slow_to_be_run_loses_the_lead() -> None:
    found = curves((50, 100), ORIGINAL=lambda n: 0.1, NUMPY=lambda n: 0.3)
    rows = dict(found.rows)
    rows[200] = {Kind.ORIGINAL: Point(why="too slow"), Kind.NUMPY: rows[100][Kind.NUMPY]}
    change = Curves(rows).lead(Condition.FIRST).changes[0]
    assert change.after is Kind.NUMPY and 100 <= change.size <= 200


def test_the_gap_to_be_halved_next() -> None:
    found = curves(ORIGINAL=naive, NUMPY=numpy)
    assert found.widest(1.15, (Condition.FIRST,)) == (25, 50)
    assert found.widest(2.5, (Condition.FIRST,)) is None
    assert Curves().widest(1.15, tuple(Condition)) is None


def test_prediction_follows_a_power_law() -> None:
    found = curves((200, 400), ORIGINAL=lambda n: 1e-6 * n**3)
    assert predicted(found, Kind.ORIGINAL, 800, Condition.FIRST) == pytest.approx(512, rel=0.3)
    assert predicted(found, Kind.NUMPY, 800, Condition.FIRST) is None
    late = curves((20, 40), ORIGINAL=lambda n: 0.2 + 0.01 * n)
    assert predicted(late, Kind.ORIGINAL, 2000, Condition.FIRST, Growth(0.2)) == pytest.approx(
        20, rel=0.6
    )


def test_the_sizes_to_be_measured_again() -> None:
    rows = {
        n: {Kind.ORIGINAL: Point((0.2 + 1e-4 * n * n,) * k), Kind.NUMPY: Point((1.2,) * k)}
        for n, k in ((50, 2), (90, 2), (110, 1), (200, 1))
    }
    found = Curves(rows).vaguest(1.05, 9, (Condition.FIRST,))
    assert found is not None and found[1] == 110  # it has run once only; 200 is far off
    assert Curves(rows).vaguest(9.0, 9, (Condition.FIRST,)) is None
    assert Curves(rows).vaguest(1.05, 1, (Condition.FIRST,)) is None


def test_where_curves_hardly_cross_the_interval_says_so() -> None:
    """One version stays a little ahead over a range of sizes: the far ends do not place it."""
    held = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = {}
        for size in (32, 64, 80, 90, 100, 115, 130, 300):
            noise = 1.0 + 0.05 * rng.standard_normal((2, 3))
            slow = {32: 0.5, 300: 2.0}.get(size, 1.0)
            rows[size] = {
                Kind.ORIGINAL: Point(tuple(slow * noise[0])),
                Kind.NUMPY: Point(tuple(0.98 * noise[1])),
            }
        change = Curves(rows).lead(Condition.FIRST).changes[0]
        assert change.low <= change.size <= change.high
        held += change.high / change.low > 1.5
    assert held > 20  # through all eight sizes, none

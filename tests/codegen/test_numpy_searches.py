"""Searches that end early: ``any`` where nothing but the result shows where they ended."""

from __future__ import annotations

import numpy as np
import pytest
from numpy_cases import Cases, check, reason

rng = np.random.default_rng(9)
CASES = Cases()
CASES.add(
    "found or not",
    """
def k(x, t):
    found = False
    for i in range(len(x)):
        if x[i] > t:
            found = True
            break
    return found
""",
    (rng.random(300), 2.0),
    [(rng.random(300), 0.5), (np.zeros(0), 0.5)],
)
CASES.add(
    "with a named value",
    """
def k(x, y, t):
    state = 0
    for i in range(len(x)):
        d = abs(x[i] - y[i])
        if d > t:
            state = 2
            break
    return state
""",
    (rng.random(300), rng.random(300), 0.5),
    [(rng.random(300), rng.random(300), 2.0), (rng.random(300), rng.random(200), 0.5)],
)
CASES.add(
    "two loops that end",
    """
def k(a, t):
    symmetric = True
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            if abs(a[i, j] - a[j, i]) > t:
                symmetric = False
                break
    return symmetric
""",
    (np.ones((40, 40)), 0.1),
    [(rng.random((40, 40)), 0.1), (rng.random((40, 30)), 0.1)],
)
CASES.add(
    "one search for each row",
    """
def k(a, t, out):
    for i in range(a.shape[0]):
        hit = 0
        for j in range(a.shape[1]):
            if a[i, j] > t:
                hit = 1
                break
        out[i] = hit
""",
    (rng.random((40, 300)), 0.99, np.zeros(40, dtype=int)),
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_searches(case):
    assert "break" not in check(case).partition("else:")[0]


REFUSED = {
    "where it ended is read": "found = 1",
    "the place of the hit": "found = i",
    "how far it got is counted": "found = 1",
    "two conditions": "found = 1",
    "a value of the hit": "found = x[i]",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_shows_where_the_search_ended(name):
    text = f"""
def k(x, t):
    found = 0
    steps = 0
    for i in range(len(x)):
        {"steps = steps + 1" if "counted" in name else "pass"}
        if x[i] > t:
            {REFUSED[name]}
            break
        {"if x[i] > 0.5: steps = 7" if "two" in name else "pass"}
    return found, steps{", i" if "read" in name else ""}
"""
    assert "break" in reason(text, rng.random(300), 0.9)


PLACES = Cases()
PLACES.add(
    "the place of the greatest",
    """
def k(x):
    best = 0
    for i in range(1, len(x)):
        if x[i] > x[best]:
            best = i
    return best
""",
    (rng.random(300),),
    [(np.array([1.0, 3.0, np.nan, 3.0, 2.0]),), (np.array([np.nan, 3.0]),), (np.ones(1),)],
)
PLACES.add(
    "selection sort",
    """
def k(a):
    for i in range(len(a)):
        low = i
        for j in range(i + 1, len(a)):
            if a[low] > a[j]:
                low = j
        t = a[i]
        a[i] = a[low]
        a[low] = t
""",
    (rng.random(120),),
    [(np.array([3.0, 1.0, np.nan, 1.0, -0.0, 0.0]),), (np.zeros(0),)],
)
PLACES.add(
    "pivots",
    """
def k(a, p):
    for i in range(len(a)):
        best = abs(a[i, i])
        row = i
        for j in range(i + 1, len(a)):
            if abs(a[j, i]) > best:
                best = abs(a[j, i])
                row = j
        p[i] = row
""",
    (rng.random((60, 60)), np.zeros(60, dtype=int)),
)


@pytest.mark.parametrize("case", PLACES.values(), ids=PLACES)
def test_places_of_extremes(case):
    assert ".size:" in check(case) or case is PLACES["the place of the greatest"]

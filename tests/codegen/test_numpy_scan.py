"""Elements made from the one before: accumulated in the loop's order, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy_cases import Cases, check, reason

rng = np.random.default_rng(5)
STEPS, FACTORS = rng.random(400) - 0.4, 1.0 + 0.01 * rng.random(400)
CASES = Cases()
CASES.add(
    "prefix sums",
    "def k(v, s):\n    for i in range(1, len(v)):\n        s[i] = s[i - 1] + v[i]\n",
    (STEPS, np.ones(400)),
    [(STEPS, np.ones(200)), (STEPS[:1], np.ones(5)), (STEPS[:0], np.ones(5)), (STEPS, np.ones(0))],
)
CASES.add(
    "one longer than its terms",
    "def k(v, s):\n    for i in range(len(v)):\n        s[i + 1] = v[i] + s[i]\n    return s[-1]\n",
    (STEPS, np.ones(401)),
    [(STEPS, np.ones(400)), (STEPS[:0], np.ones(1))],
)
CASES.add(
    "from some place on: before element 0 is the last one",
    "def k(v, s, lo):\n    for i in range(lo, len(v)):\n        s[i] = s[i - 1] + v[i]\n",
    (STEPS, np.arange(400.0), 3),
    [(STEPS, np.arange(400.0), 0), (STEPS, np.arange(400.0), 399), (STEPS, np.ones(400), 500)],
)
CASES.add(
    "a walk in lists",
    """
import math

def k(a, n):
    x = [0.0] * n
    y = [1.5] * n
    for i in range(1, n):
        x[i] = x[i - 1] + a[i] * a[i]
        y[i] = y[i - 1] - a[i] / 3.0
    return x, y
""",
    (STEPS.tolist(), 400),
    [(STEPS.tolist(), 1), (STEPS.tolist(), 0), (STEPS.tolist(), 401)],
)
CASES.add(
    "compound interest",
    """
def k(rates, money):
    best = 0.0
    for i in range(1, len(rates)):
        money[i] = money[i - 1] * rates[i]
        if money[i] > best:
            best = money[i]
    return best
""",
    (FACTORS, np.full(400, 100.0)),
    [(FACTORS * 1e200, np.full(400, 100.0))],
)
CASES.add(
    "each row",
    """
def k(v, s):
    for r in range(v.shape[0]):
        for i in range(1, v.shape[1]):
            s[r, i] = s[r, i - 1] + v[r, i] * 0.5
""",
    (rng.random((6, 300)), np.ones((6, 300))),
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_elements_made_from_the_one_before(case):
    assert "np.add.accumulate(" in check(case) or "multiply.accumulate(" in check(case)


REFUSED = {
    "two before": "s[i] = s[i - 1] + s[i - 2]",
    "a factor besides": "s[i] = s[i - 1] * 0.5 + v[i]",
    "divided": "s[i] = s[i - 1] / v[i]",
    "taken from": "s[i] = v[i] - s[i - 1]",
    "not in every iteration": "if v[i] > 0.1:\n            s[i] = s[i - 1] + v[i]",
    "two steps": "s[2 * i] = s[2 * i - 2] + v[i]",
    "the next one": "s[i - 1] = s[i] + v[i]\n        v[i] = s[i - 1]",
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_recurrences_stay(name):
    text = f"def k(v, s):\n    for i in range(2, len(v) // 2):\n        {REFUSED[name]}\n"
    assert reason(text, STEPS, np.ones(400))


@pytest.mark.parametrize("start", [np.ones(400, dtype=np.float32), np.ones(400, dtype=int)])
def test_only_double_precision(start):
    text = "def k(v, s):\n    for i in range(1, len(v)):\n        s[i] = s[i - 1] + v[i]\n"
    assert reason(text, (STEPS * 10).astype(start.dtype), start)


def test_the_loop_around_keeps_its_order():
    """Every pass over t writes the same elements again."""
    text = """
def k(v, s, n):
    for t in range(n):
        for i in range(1, len(v)):
            s[i] = s[i - 1] + v[i] * t
        s[0] = s[-1]
"""
    cases = Cases()
    cases.add("again", text, (STEPS, np.ones(400), 6), [(STEPS, np.ones(400), 0)])
    assert "for t in range(n):" in check(cases["again"])


@pytest.mark.parametrize(
    "lines",
    [
        ["s[i] = v[i] - 2.0", "t[i] = s[i - 1]"],
        ["s[i] = v[i]", "v[i] = t[i]", "t[i] = s[i - 1] + s[i]"],
    ],
)
def test_the_last_element_is_read_before_it_is_written(lines):
    """At i == 0, ``s[i - 1]`` is what the last element was before the loop."""
    body = "".join(f"        {line}\n" for line in lines)
    text = f"def k(v, s, t, n):\n    for i in range(n):\n{body}"
    assert "across its edge" in reason(text, STEPS, np.ones(400), np.ones(400), 400)


def test_the_last_element_of_what_only_other_loops_write_is_known():
    text = """
def k(v, s, t, n):
    for i in range(n):
        s[i] = v[i] - 2.0
    for i in range(n):
        t[i] = s[i - 1] + s[i]
"""
    cases = Cases()
    cases.add("two loops", text, (STEPS, np.ones(400), np.ones(400), 400))
    check(cases["two loops"])

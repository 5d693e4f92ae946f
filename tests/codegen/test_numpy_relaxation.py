"""All shortest paths: one array statement for each ``k``, as long as nothing is negative."""

from __future__ import annotations

import numpy as np
import pytest
from numpy_cases import Case, Cases, check, reason

rng = np.random.default_rng(5)
FLOATS = np.where(rng.random((40, 40)) < 0.2, rng.random((40, 40)), 1e6)
WHOLE = rng.integers(0, 1000, (40, 40))
BELOW = WHOLE - 300
LOOP = """
def k(d, n):
    for m in range(n):
        for i in range(n):
{body}
"""
PLAIN = """\
            for j in range(n):
                if d[i{x}m] + d[m{x}j] < d[i{x}j]:
                    d[i{x}j] = d[i{x}m] + d[m{x}j]"""
NAMED = """\
            first = d[i{x}m]
            for j in range(n):
                through = first + d[m{x}j]
                if d[i{x}j] > through:
                    d[i{x}j] = through"""
SMALLEST = """\
            for j in range(n):
                d[i{x}j] = min(d[i{x}j], d[i{x}m] + d[m{x}j])"""
CASES = Cases()
for name, body in {"plain": PLAIN, "named": NAMED, "min": SMALLEST}.items():
    text = LOOP.format(body=body.format(x=", "))
    infinite = np.where(FLOATS > 1.0, np.inf, FLOATS)
    CASES.add(name, text, (FLOATS, 40), [(FLOATS - 0.3, 40), (infinite, 30)])
    CASES.add(f"{name} of integers", text, (WHOLE, 40), [(BELOW, 40), (WHOLE, 45)])
    rows = LOOP.format(body=body.format(x="]["))
    lists = [(BELOW.tolist(), 40), (WHOLE[:, ::-1].tolist(), 39)]
    CASES.add(f"{name} over lists", rows, (WHOLE.tolist(), 40), lists)
    CASES.add(f"{name} over lists of floats", rows, (FLOATS.tolist(), 40), [(BELOW.tolist(), 40)])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_shortest_paths(case):
    text = check(case)
    assert "for m in range(n):" in text.partition("else:")[0]
    assert "for i in" not in text.partition("else:")[0]


def test_a_smaller_integer_is_a_minimum():
    """Of floats it may be NaN, which a comparison keeps out and a minimum does not."""
    whole, floats = check(CASES["named of integers"]), check(CASES["named"])
    assert "np.minimum(d, through, out=d)" in whole
    assert "np.minimum" not in floats


OTHERS = {"longest paths": PLAIN.replace("<", ">"), "a product": PLAIN.replace("+", "*")}
REFUSED = {
    "another row": PLAIN.replace("d[m{x}j]", "d[m - 1{x}j]"),
    "a further read": PLAIN.replace(" <", " + 0 * d[j{x}i] <"),
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_is_no_relaxation(body):
    assert "another iteration" in reason(LOOP.format(body=body.format(x=", ")), FLOATS.copy(), 40)


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_what_is_no_relaxation_keeps_its_order(body):
    """Row and column m change while they are read: element by element along the diagonals."""
    text = LOOP.format(body=body.format(x=", "))
    assert "for diagonal in" in check(Case(text, (FLOATS.copy(), 40), [(FLOATS - 0.3, 40)]))

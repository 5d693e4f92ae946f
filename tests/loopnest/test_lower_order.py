"""Helpers that store into arrays, called inside expressions: in Python's order, or refused."""

from __future__ import annotations

import itertools

import pytest
from nests import compare, nest_of

from gpuadvise.model import Refusal

HEAD = """
def bump(xs, k):
    xs[k] += 1
    return xs[k] + k

def get(xs, k):
    return xs[k]

def f(xs, ys, n):
    total = 0
    for k in range(n):
        {statement}
    return total
"""
IN_ORDER = (
    "total += bump(xs, 0) + bump(xs, 1) * xs[0]",
    "total = total + bump(xs, k % 3) + xs[k % 3]",
    "if bump(xs, 0) != bump(xs, 1): total += k",
    "ys[bump(xs, 0) % 4] = bump(xs, 1)",
    "ys[bump(xs, 0) % 4] = k",
    "total += bump(xs, bump(xs, 1) % 3)",
    "a, b = bump(xs, 0), bump(xs, 0); total += a * b",
    "for m in range(bump(xs, 0) % 5): total += m",
    "total += -(k + 2 * bump(xs, 1)) - xs[1]",
)
READ_BEFORE = (
    "total += xs[0] + bump(xs, 0)",
    "total = xs[1] * bump(xs, 1)",
    "ys[k % 4] = xs[0] - bump(xs, 0)",
    "ys[bump(xs, 0) % 4] = xs[0]",
    "ys[k % 4] += bump(ys, k % 4)",
    "total += get(xs, 0) + bump(xs, 0)",
    "total += abs(xs[0]) + bump(xs, 0)",
    "if xs[0] < bump(xs, 0): total += k",
    "total += ys[bump(xs, 2) % 4] if bump(xs, 1) > 6 else xs[1]",
    "total += k if xs[0] < 3 else bump(xs, 0)",
    "total += bump(xs, xs[1] % 2) + get(xs, bump(xs, 0) % 3)",
    "total += (xs[0] < 5) + bump(xs, 0)",
    "total += 7 // (k - 2) + bump(xs, 0)",
    "xs[0] = ys[bump(xs, 0) % 4] = k",
)


@pytest.mark.parametrize("statement", IN_ORDER)
def test_a_call_that_comes_first_runs_above_its_statement(statement: str) -> None:
    compare(HEAD.format(statement=statement), [3, 1, 4], [2, 7, 1, 8], 5)


@pytest.mark.parametrize("statement", READ_BEFORE)
def test_what_is_read_before_the_call_is_not_read_behind_it(statement: str) -> None:
    text = HEAD.format(statement=statement)
    if isinstance(nest_of(text, [3, 1, 4], [2, 7, 1, 8], 2), Refusal):
        return
    compare(text, [3, 1, 4], [2, 7, 1, 8], 2)


def test_reading_before_the_call_is_named() -> None:
    refusal = nest_of(HEAD.format(statement=READ_BEFORE[0]), [3, 1], [2, 7], 2)
    assert isinstance(refusal, Refusal)
    assert "larger expression" in refusal.reason


@pytest.mark.parametrize("first", ["k", "xs[0]", "bump(xs, 0)", "get(xs, 1)"])
def test_every_pair_of_operands(first: str) -> None:
    others = ("bump(xs, 1)", "xs[1]", "(bump(xs, 0) - xs[0])")
    for second, third in itertools.product(others, others):
        text = HEAD.format(statement=f"total += {first} - {second} * 3 + {third}")
        if not isinstance(nest_of(text, [3, 1, 4], [2, 7, 1, 8], 4), Refusal):
            compare(text, [3, 1, 4], [2, 7, 1, 8], 4)

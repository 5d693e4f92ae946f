"""Whole rows by ``a[i, :]``, and words for what is no array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nests import compare, nest_of

from gpuadvise.model import Refusal

ROWS = """
def f(a):
    t = 0.0
    for i in range(len(a)):
        row = a[i, :]
        for v in row:
            t += v * 2
        row[0] = t
        a[i, 1] += row[0]
    return t
"""


def test_a_row_is_a_view() -> None:
    compare(ROWS, np.random.default_rng(1).random((4, 3)))


WORDS: dict[str, tuple[str, Any, str]] = {
    "dict items": ("for k, v in d.items():\n        s += v", {1: 2}, "d.items() of a dict"),
    "text": ("for k in d:\n        s += k", "abc", "operator + on int and str"),
    "set": ("for k in d:\n        s += k", {1, 2}, "which is a set"),
    "range object": ("for k in d:\n        s += k", range(5), "which is a range"),
    "dict element": ("for k in range(2):\n        s += d[k]", {0: 1, 1: 2}, "d being a dict"),
}


@pytest.mark.parametrize("name", WORDS)
def test_refused_in_words(name: str) -> None:
    loop, value, words = WORDS[name]
    found = nest_of(f"def f(d):\n    s = 0\n    {loop}\n    return s\n", value)
    assert isinstance(found, Refusal) and words in found.reason, found

"""Lists made and grown inside a loop, as nests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nests import compare, good, nest_of

from gpuadvise.loopnest.ir import AppendRow, Len, NewList, expressions, statements, walk
from gpuadvise.loopnest.printing import text as spelled
from gpuadvise.model import Refusal

MATMUL = """
def f(A, B):
    C = []
    for i in range(len(A)):
        row = []
        for j in range(len(B[0])):
            s = 0
            for k in range(len(B)):
                s += A[i][k] * B[k][j]
            row.append(s)
        C.append(row)
    return C
"""

EQUAL: dict[str, tuple[str, tuple[Any, ...]]] = {
    "matrix product": (MATMUL, ([[1, 2], [3, 4], [5, 6]], [[1, 2, 3], [4, 5, 6]])),
    "floats, an int if no term": (MATMUL, ([[1.5, 2.0]], [[1.0], [2.5]])),
    "last element of a list of floats": (
        "def f(n):\n    xs = [0.3]\n    for k in range(n):\n"
        "        xs.append(3.7 * xs[-1] * (1 - xs[-1]))\n    return xs\n",
        (6,),
    ),
    "read before its type shows": (
        "def f(n):\n    for i in range(n):\n        row = []\n        for j in range(3):\n"
        "            if len(row) > 0:\n                row.append(row[-1] * 0.5)\n"
        "            else:\n                row.append(1.0)\n",
        (3,),
    ),
    "primes": (
        "def f(n):\n    primes = []\n    for k in range(2, n):\n        ok = True\n"
        "        for p in primes:\n            if k % p == 0:\n                ok = False\n"
        "                break\n        if ok:\n            primes.append(k)\n",
        (40,),
    ),
    "table": (
        "def f(x):\n    s = 0\n    for i in range(len(x)):\n"
        "        t = [[0 for _ in range(3)] for _ in range(2)]\n        t[1][i % 3] += x[i]\n"
        "        s += t[1][0]\n    return s\n",
        ([1, 2, 3, 4],),
    ),
    "elements from the start": (
        "def f(x):\n    out = []\n    for i in range(len(x)):\n        p = [x[i], 2.0]\n"
        "        p[0] = p[1] + p[0]\n        out.append(p)\n    return out\n",
        ([1.5, 2.5],),
    ),
    "tuples": (
        "def f(x):\n    out = []\n    for v in x:\n        out.append((v, v * 2.0))\n",
        ([1.5, 2.5],),
    ),
    "length": (
        "def f(n):\n    xs = []\n    while len(xs) < n:\n        xs.append(len(xs) * 2)\n",
        (5,),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_same_lists(name: str) -> None:
    text, args = EQUAL[name]
    compare(text, *args)


def test_the_nest_names_its_lists() -> None:
    nest = good(MATMUL, [[1, 2]], [[1], [2]])
    assert (nest.made, nest.grown) == ({"row"}, {"C"})
    assert nest.arrays["C"].ndim == 2 and nest.arrays["row"].ndim == 1
    kinds = [type(s) for s in statements((nest.root,))]
    assert kinds.count(NewList) == kinds.count(AppendRow) == 1


def test_what_trips_decide_is_relied_on() -> None:
    nest = good(MATMUL, [[1.5, 2.0]], [[1.0], [2.5]])
    assert [spelled(e) for e in nest.relies_on] == ["0 < len(B)"]
    assert good(MATMUL, [[1, 2]], [[1], [2]]).relies_on == ()


def test_the_length_of_a_growing_list_is_no_extent() -> None:
    nest = good("def f(n):\n    xs = [1]\n    for i in range(n):\n        xs.append(xs[-1])\n", 3)
    found = [e for s in statements((nest.root,)) for t in expressions(s) for e in walk(t)]
    assert any(isinstance(e, Len) and e.array == "xs" for e in found)


REFUSED: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "one row appended again and again": (
        "def f(x):\n    out = []\n    row = []\n    for v in x:\n        row.append(v)\n"
        "        out.append(row)\n    return out\n",
        ([1.0],),
        "row or tuple appended",
    ),
    "changed after it was handed on": (
        "def f(x):\n    out = []\n    for v in x:\n        row = [v]\n        out.append(row)\n"
        "        row.append(2.0)\n    return out\n",
        ([1.0],),
        "handed on",
    ),
    "handed on twice": (
        "def f(x):\n    out = []\n    for v in x:\n        row = [v]\n        out.append(row)\n"
        "        out.append(row)\n    return out\n",
        ([1.0],),
        "handed on",
    ),
    "made before the inner loop that hands it on": (
        "def f(n):\n    out = []\n    for i in range(n):\n        row = [i]\n"
        "        for j in range(2):\n            out.append(row)\n",
        (3,),
        "does not stand for the same",
    ),
    "a row of the last iteration": (
        "def f(n):\n    row = [0]\n    for i in range(n):\n        k = row[0]\n"
        "        row = [k + 1]\n    return n\n",
        (3,),
        "before it is assigned",
    ),
    "older list under another name": (
        "def f(n):\n    s = 0\n    for i in range(n):\n        row = [i]\n        old = row\n"
        "        row = [2]\n        s += old[0]\n    return s\n",
        (3,),
        "older list",
    ),
    "read after the loop": (
        "def f(n):\n    for i in range(n):\n        row = [i]\n    return row\n",
        (3,),
        "is read after it",
    ),
    "rows of two kinds": (
        "def f(x):\n    out = []\n    for v in x:\n        out.append((v, v))\n"
        "        out.append([v, v])\n",
        ([1.0],),
        "different kinds",
    ),
    "tuples of different lengths": (
        "def f(x):\n    out = []\n    for v in x:\n        out.append((v, v))\n"
        "        out.append((v,))\n",
        ([1.0],),
        "different kinds",
    ),
    "two types": (
        "def f(n):\n    for i in range(n):\n        row = [i, 0.5]\n",
        (3,),
        "would hold int and float",
    ),
    "grows while looped over": (
        "def f(xs):\n    for x in xs:\n        if x > 3:\n            xs.append(x - 1)\n",
        ([5, 6],),
        "grows while it is looped over",
    ),
    "another list of the same object": (
        "def f(xs):\n    ys = xs\n    for i in range(3):\n        xs.append(ys[i])\n",
        ([5, 6],),
        "were one list",
    ),
    "never filled": (
        "def f(n):\n    for i in range(n):\n        row = []\n",
        (3,),
        "nothing is ever put",
    ),
    "an element of another type than before": (
        "def f(n):\n    xs = [1]\n    for i in range(n):\n        xs.append(xs[-1] * 0.5)\n",
        (3,),
        "another type",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, args, words = REFUSED[name]
    found = nest_of(text, *args)
    assert isinstance(found, Refusal) and words in found.reason, found


def test_numpy_numbers_keep_their_type() -> None:
    text = (
        "def f(a):\n    out = []\n    for v in a:\n        row = [v, v]\n        out.append(row)\n"
    )
    nest = compare(text, np.arange(3.0))
    assert nest.arrays["out"].element.dtype == "float64"

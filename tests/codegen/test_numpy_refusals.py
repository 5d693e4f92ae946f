"""Loops that have no array form with the same result, and the reason given."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from numpy_cases import Case, reason, rewritten

rng = np.random.default_rng(3)
LINE = rng.standard_normal(400)
PLANE = rng.standard_normal((30, 30))
INTEGERS = rng.integers(0, 10, 400)

REFUSED = {
    "prefix sum": (
        "def k(x):\n    for i in range(1, len(x)):\n        x[i] = x[i] + x[i - 1]\n",
        (LINE,),
        "reads an element of x that another iteration writes (line 3)",
    ),
    "upwind sweep in place": (
        "def k(u, c):\n    for i in range(1, len(u)):\n"
        "        u[i] = u[i] - c * (u[i] - u[i - 1])\n",
        (LINE, 0.1),
        "another iteration writes",
    ),
    "gauss-seidel": (
        "def k(u):\n    n = len(u)\n    for i in range(1, n - 1):\n"
        "        for j in range(1, n - 1):\n"
        "            u[i, j] = 0.25 * (u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1])\n",
        (PLANE,),
        "another iteration writes",
    ),
    "histogram": (
        "def k(h, b):\n    for i in range(len(b)):\n        h[b[i]] = 2 * h[b[i]] + 1\n",
        (np.zeros(10, dtype=int), INTEGERS),
        "h",
    ),
    "scatter: the last write wins": (
        "def k(h, b, v):\n    for i in range(len(b)):\n        h[b[i]] = v[i]\n",
        (np.zeros(10), INTEGERS, LINE),
        "write the same element of h",
    ),
    "scalar recurrence": (
        "def k(x, y):\n    s = 0.5\n    for i in range(len(x)):\n"
        "        s = 0.9 * s + x[i]\n        y[i] = s\n",
        (LINE, LINE.copy()),
        "each iteration of i needs the s of the one before (line 4)",
    ),
    "break": (
        "def k(x, y):\n    for i in range(len(x)):\n        if x[i] > 2:\n            break\n"
        "        y[i] = x[i]\n",
        (LINE, LINE.copy()),
        "break",
    ),
    "while": (
        "def k(x):\n    while x > 1:\n        x = x * 0.5\n    return x\n",
        (1e9,),
        "while",
    ),
    "last value read after the loop": (
        "def k(x, y):\n    for i in range(len(x)):\n        d = x[i] * 2.0\n"
        "        y[i] = d + 1.0\n    return d\n",
        (LINE, LINE.copy()),
        "last value of d",
    ),
    "python integers without bound": (
        "def k(x):\n    y = [0] * len(x)\n    for i in range(len(x)):\n"
        "        y[i] = x[i] * x[i] * x[i] * x[i] * x[i]\n    return y\n",
        ([2**30 - i for i in range(300)],),
        "64 bits",
    ),
    "short arrays": (
        "def k(x, y):\n    for i in range(len(x)):\n        y[i] = x[i] + 1.0\n",
        (np.zeros(3), np.zeros(3)),
        "too short",
    ),
    "two accumulators that need each other": (
        "def k(x):\n    a = 0.0\n    b = 0.0\n    for i in range(len(x)):\n"
        "        a = a + x[i]\n        b = b + a\n    return b\n",
        (LINE,),
        "needs the",
    ),
    "shifted write over a read array": (
        "def k(x):\n    for i in range(len(x) - 1):\n        x[i + 1] = x[i] / 3.0\n",
        (LINE,),
        "another iteration writes",
    ),
    "floats of a list cut without a bound": (
        "def k(x, y):\n    for i in range(len(x)):\n        y[i] = int(x[i])\n",
        (LINE.tolist(), np.zeros(len(LINE), dtype=int)),
        "too large for an integer",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_why(name):
    text, args, expected = REFUSED[name]
    assert expected in reason(text, *args)


def test_a_copy_is_kept_of_an_element_that_is_overwritten():
    text = (
        "def k(a, b):\n    for i in range(len(a)):\n        t = a[i]\n        a[i] = b[i]\n"
        "        b[i] = t\n"
    )
    _, after = rewritten(Case(text, (LINE, LINE[::-1].copy()), ()))
    assert "t = a.copy()" in after


def test_the_original_loop_is_the_other_branch_comment_and_all():
    text = "def k(x, y):\n    for i in range(len(x)):\n        # twice\n        y[i] = x[i] * 2.0\n"
    match, after = rewritten(Case(text, (LINE, LINE.copy()), ()))
    assert "    else:\n        for i in range(len(x)):\n            # twice\n" in after
    assert all(c.guarded for c in match.ledger if c.basis.value == "observed")


def test_arrays_made_in_place_need_no_test():
    text = (
        "import numpy as np\n\ndef k(n):\n    y = np.zeros(n)\n    for i in range(n):\n"
        "        y[i] = i * 0.5\n    return y\n"
    )
    _, after = rewritten(Case(text, (500,), ()))
    tree = ast.parse(after)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.If | ast.For)]


def test_tabs_stay_tabs():
    text = "def k(x, y):\n\tfor i in range(len(x)):\n\t\ty[i] = x[i] + 1.0\n"
    _, after = rewritten(Case(text, (LINE, LINE.copy()), ()))
    assert "\n\t\ty[:] = x + 1.0\n" in after

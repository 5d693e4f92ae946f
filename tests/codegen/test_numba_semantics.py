"""Loops on which compiled code and Python part: each comes out the same, on data never observed.

The first arguments of a case are those the loop was observed with; the others were never seen. The
compiled loop has to run at least once, so that a case cannot pass by always falling back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import assert_same, chain_for, region_for
from test_numba_cpu import Loaded, _private_cache

from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.edits import apply_edits
from gpuadvise.model import Match, Refusal

__all__ = ["_private_cache"]

nan, inf = float("nan"), float("inf")
Case = tuple[str, tuple[tuple[Any, ...], ...]]


class Holder:
    """An object with attributes, as ``self``."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)


def loop(body: str, head: str = "x") -> str:
    """A function ``f`` with this body, modules at hand."""
    lines = [f"    {line}\n" for line in body.strip("\n").split("\n")]
    return f"import math\nimport numpy as np\n\n\ndef f({head}):\n{''.join(lines)}"


SAME: dict[str, Case] = {
    # ------------------------------------------------------------- exceptions
    "text of a division by zero": (
        loop("s = 0\nfor v in x:\n    s += 7 // v + 7 % v\nreturn s"),
        (([3, -2],), ([3, 0],), ([],)),
    ),
    "text of an index of a list": (
        loop("s = 0\nfor i in idx:\n    s += x[i]\nreturn s", "x, idx"),
        (([1, 2, 3], [0, 2]), ([1, 2, 3], [0, 3]), ([1, 2, 3], [-3, -4]), ([], [0])),
    ),
    "text of an index of an array, and what was stored before": (
        loop("for i in idx:\n    h[i] += 1\nreturn h", "h, idx"),
        (
            (np.zeros(3), np.array([0, 2])),
            (np.zeros(3), np.array([0, 2, 3])),
            (np.zeros(3), np.array([-3, -4, 1])),
        ),
    ),
    "a list half written": (
        loop("for i in range(len(x)):\n    x[i] = 60 // x[i]\nreturn x"),
        (([1, 2, 3],), ([5, 0, 3],)),
    ),
    "appended until it raised": (
        loop("for v in x:\n    out.append(1 / v)\n", "x, out"),
        (([1.0, 2.0], []), ([1.0, 0.0, 3.0], [5.0])),
    ),
    "domain errors": (
        loop("s = 0.0\nfor v in x:\n    s += math.sqrt(v) + math.log(v)\nreturn s"),
        (([1.0, 2.0],), ([-1.0],), ([0.0],), ([nan],), ([inf],), ([-0.0],)),
    ),
    "an attribute as far as it came": (
        "def f(self, x):\n    for v in x:\n        self.s += 1 / v\n",
        (
            (Holder(s=0.0), [1.0, 2.0]),
            (Holder(s=0.0), [1.0, 0.0, 2.0]),
            (Holder(s=0.0), [1.0, "a"]),
        ),
    ),
    "a size that is not enough": (
        "def f(self, u):\n    for i in range(self.n):\n        self.t += u[i]\n",
        ((Holder(n=3, t=0.5), np.ones(4)), (Holder(n=3, t=0.5), np.ones(2))),
    ),
    # ------------------------------------------------------ types of results
    "a flag only where the other type is stored": (
        loop(
            "c = 0.0\nfor i in range(len(x)):\n    if x[i] > 1:\n        c += 1\n"
            "    else:\n        c -= x[i]\nreturn c"
        ),
        ((np.array([1.0, 2]),), (np.zeros(0),), (np.array([2.0]),), (np.array([0.0, 2]),)),
    ),
    "set back to its own type": (
        loop(
            "c = 0.0\nfor i in range(len(x)):\n    if x[i] < 0:\n        c = 0.0\n"
            "    else:\n        c += x[i]\nreturn c"
        ),
        ((np.array([1.0, 2]),), (np.array([2.0, -1]),), (np.array([-1.0, 3]),), (np.zeros(0),)),
    ),
    "the target of a loop": (
        loop("v = 0\nfor v in x:\n    pass\nreturn v"),
        ((np.array([1, 2]),), (np.array([], dtype=int),)),
    ),
    "an element of another kind as the best": (
        loop("best = lo\nfor v in x:\n    if v > best:\n        best = v\nreturn best", "x, lo"),
        ((np.array([1, 2]), -1.0), (np.array([1, 2]), 5.5), (np.array([1, 2]), 1.0)),
    ),
    "a value from before where no loop runs": (
        loop("s = 0.5\nfor i in range(len(x)):\n    s = i * 2\nreturn s"),
        ((np.zeros(4),), (np.zeros(0),), ([1],)),
    ),
    "reset in front of a loop that runs less and less": (
        loop(
            "s = 1\nfor i in range(1, n - 1):\n    s = 0\n    for j in range(i, m):\n"
            "        s += x[j] * 0.5\nreturn s",
            "x, n, m",
        ),
        (([1.0, 2.0, 3.0, 4.0], 4, 4), ([1.0, 2.0, 3.0, 4.0], 4, 2), ([1.0, 2.0, 3.0, 4.0], 6, 4)),
    ),
    # ------------------------------------------------------------- arithmetic
    "an int product at the edge": (
        loop("p = 1\nfor i in range(1, len(x)):\n    p = p * x[i] % m\nreturn p", "x, m"),
        (([1, 5, 9], 1000003), ([1, 2**31, 2**31 - 1], 2**31), ([1, 2**40], 7), ([1, 1], 0)),
    ),
    "floor and modulo of negative floats": (
        loop(
            "o = np.zeros(len(x))\nfor i in range(len(x)):\n    o[i] = x[i] // k - x[i] % k\n"
            "return o",
            "x, k",
        ),
        (
            (np.array([1.5, -2.5]), 0.7),
            (np.array([0.0, -0.0, nan, inf, -1e-20, 1e300]), -0.7),
            (np.array([0.0, -0.0, 3.0]), inf),
            (np.array([1.0]), 0.0),
        ),
    ),
    "the smallest int64": (
        loop("for i in range(len(x)):\n    x[i] = -x[i] + abs(x[i]) * 3\nreturn x"),
        ((np.array([1, -2]),), (np.array([-(2**63), 2**63 - 1]),)),
    ),
    "ties to even": (
        loop("s = 0\nfor v in x:\n    s += round(v)\nreturn s"),
        (([0.5, 1.5, -2.5],), ([0.49999999999999994, 2.5],), ([1e300],), ([nan],)),
    ),
    "int() of what is no int": (
        loop("s = 0\nfor v in x:\n    s += int(v)\nreturn s"),
        (([0.5, -1.5],), ([1e19],), ([nan],), ([inf],)),
    ),
    "a power that overflows": (
        loop("s = 0.0\nfor v in x:\n    s += v ** 2 + v ** -1\nreturn s"),
        (([0.5, 1.5],), ([1e200],), ([0.0],), ([nan, inf],)),
    ),
    "shifted out": (
        loop("s = 0\nfor i in range(n):\n    s ^= (i << 3) & 255\nreturn s >> 1", "n"),
        ((20,), (0,), (-3,)),
    ),
    "a clamp of NaN and of -0.0": (
        loop(
            "o = [0.0] * len(x)\nfor i in range(len(x)):\n"
            "    o[i] = max(0.0, min(x[i], 1.0)) + min(max(x[i], x[0]), x[-1])\nreturn o"
        ),
        (([0.3, 2.0, -1.0],), ([nan, -0.0, 0.0],), ([-0.0, 1.0, nan],)),
    ),
    "single precision": (
        loop(
            "s = np.float32(0)\nfor i in range(len(x)):\n    s += x[i] * 0.1 + k\nreturn s", "x, k"
        ),
        (
            (np.array([1, 0.3], dtype=np.float32), 0.7),
            (np.array([1, 0.3], dtype=np.float32), 1e30),
            (np.array([1, 0.3]), 0.7),
        ),
    ),
    "no fused multiply and add": (
        loop("y = 0.0\nfor v in x:\n    y = a * y + b * v - a\nreturn y", "x, a, b"),
        (([0.1, 0.2, 0.7], 0.3, 0.7), ([0.1 * k for k in range(300)], 0.9, 0.1)),
    ),
    # ------------------------------------------------------- names and objects
    "arrays of odd kinds": (
        loop("s = 0.0\nfor i in range(x.shape[0]):\n    s += x[i] * 2.0\nreturn s"),
        (
            (np.arange(4.0),),
            (np.arange(4.0).astype(">f8"),),
            (np.ma.array(np.arange(4.0), mask=[0, 1, 0, 0]),),
            (np.arange(8.0)[::-2],),
            (np.arange(4.0, dtype=np.float16),),
            (np.arange(4.0).reshape(2, 2),),
        ),
    ),
    "an array that may not be written": (
        loop("for i in range(x.shape[0]):\n    x[i] = x[i] * 2.0\nreturn x"),
        ((np.arange(4.0),), (np.broadcast_to(np.ones(1), (4,)),)),
    ),
    "one list under two names": (
        loop("for i in range(len(x)):\n    x[i] = x[i] * 0.5\n    y[i] = y[i] + 1\n", "x, y"),
        (([1.0, 2.0], [3.0, 4.0]), (lambda a: (a, a))([1.0, 2.0])),
    ),
    "a row twice": (
        loop(
            "for i in range(len(g)):\n    for j in range(len(g[i])):\n"
            "        g[i][j] = (g[i][j] + i) % 5\nreturn g",
            "g",
        ),
        (([[1, 2], [3, 4]],), (lambda r: ([r, r],))([1, 2]), ([[1], [2, 3]],), ([],)),
    ),
}

REFUSED: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "an exception that a context manager swallows": (
        "from contextlib import suppress\n\n\ndef f(x):\n    s = 0.0\n"
        "    with suppress(ZeroDivisionError):\n        for v in x:\n            s += 1 / v\n"
        "    return s\n",
        ([1.0, 2.0],),
        "may be caught",
    ),
    "a global as far as it came": (
        "total = 0.0\n\n\ndef f(x):\n    global total\n    for v in x:\n        total += 1 / v\n",
        ([1.0, 2.0],),
        "half way",
    ),
    "an int that compiled code would keep as a float": (
        loop(
            "s = 0.5\nfor i in range(len(x)):\n    for j in range(3):\n        s = j\n"
            "    x[i] = s // 2\nreturn x"
        ),
        (np.zeros(4),),
        "before a loop and",
    ),
    "the sign of a zero that is an int at first": (
        loop("t = 0\nfor i in range(len(x)):\n    x[i] = -t\n    t = 0.5 * (i % 3)\nreturn x"),
        (np.zeros(4),),
        "sign of a zero",
    ),
    "2**63 - 1 less 0.0 is 2**63": (
        loop(
            "for i in range(len(x)):\n    x[i] -= (1 * 1) * (k if 2 > s else s)\nreturn x",
            "x, k, s",
        ),
        (np.array([1, 2]), 1.0, 3.0),
        "outside the range",
    ),
    "complex numbers in order": (
        loop("n = 0\nfor v in x:\n    if v > 1.0:\n        n += 1\nreturn n"),
        (np.array([1j, 2.0]),),
        "complex",
    ),
}


def rewritten(text: str, args: tuple[Any, ...]) -> tuple[Match, str]:
    region = region_for(text, "f", args)
    match = emit(region, parallel=False)
    assert isinstance(match, Match), match
    return match, apply_edits(region.source, match.edits).decode()


@pytest.mark.parametrize("name", SAME)
def test_same_on_data_never_observed(name: str, tmp_path: Path) -> None:
    text, (observed, *others) = SAME[name]
    match, after_text = rewritten(text, observed)
    assert match.safe, match.ledger
    before = Loaded(text, tmp_path / "before.py")
    after = Loaded(after_text, tmp_path / "after.py")
    for args in (observed, *others):
        assert_same(before.call("f", args), after.call("f", args))
    assert after.compilations


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, args, words = REFUSED[name]
    found = emit(region_for(text, "f", args), parallel=False)
    assert isinstance(found, Refusal), found
    assert words in found.reason, found


def test_a_type_that_hangs_on_the_data_is_assumed() -> None:
    """``m = max(m, v, k)``: the largest may be k, which is no NumPy number."""
    text = loop("m = x[0]\nfor v in x:\n    m = max(m, v, k)\nreturn m", "x, k")
    match, _ = rewritten(text, (np.array([1.0, 2.0]), 0.5))
    assert not match.safe
    assert "m is float64 after the loop" in [c.text for c in match.ledger]


def test_the_exception_has_no_compiled_one_behind_it(tmp_path: Path) -> None:
    text = loop("s = 0\nfor i in idx:\n    s += x[i]\nreturn s", "x, idx")
    _, after = rewritten(text, ([1, 2], [0, 1]))
    function = Loaded(after, tmp_path / "after.py").names["f"]
    with pytest.raises(IndexError, match=r"^list index out of range$") as caught:
        function([1, 2], [0, 2])
    assert caught.value.__context__ is None


def test_a_test_that_can_never_hold_is_not_asked() -> None:
    """``for j in range(i + 1, n)`` does not run for the last i: a flag says what the sum is."""
    body = "s = 0.0\nn = len(x)\nfor i in range(n):\n    for j in range(i + 1, n):\n"
    _, after = rewritten(loop(f"{body}        s += x[i] * x[j]\nreturn s"), (np.arange(4.0),))
    assert "s_set = True" in after and "< n\n" not in after


def test_infinity_in_a_list_is_no_bug_of_ours() -> None:
    text = loop("s = 0.0\nfor v in x:\n    s = max(s, v * 0.5)\nreturn s")
    match, _ = rewritten(text, ([1.0, inf],))
    assert match.safe


def test_an_inner_loop_is_not_handed_what_it_sets_only_later() -> None:
    """``j`` and ``k`` have no value when the inner loop is reached for the first time."""
    text = loop(
        "for i in range(n):\n    for j in range(m):\n        k = i * j\nreturn j, k", "n, m"
    )
    for region in chain_for(text, "f", (4, 3)):
        found = emit(region, parallel=False)
        assert isinstance(found, Refusal) and "may not assign" in found.reason, found

"""Lists made and grown in compiled loops: same elements, same types, same list objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import assert_same, region_for, run
from test_numba_cpu import Loaded, _private_cache, rewritten

from gpuadvise.codegen import numpy_backend
from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

__all__ = ["_private_cache"]

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
INTS = ([[1, 2], [3, 4], [5, 6]], [[1, 2, 3], [4, 5, 6]])
FLOATS = ([[1.5, 2.0]], [[1.0], [2.5]])

COMPILED: dict[str, tuple[str, tuple[tuple[Any, ...], ...]]] = {
    "rows of ints": (MATMUL, (INTS, ([], []), FLOATS, ([[2**50]], [[2**50]]))),
    # an int 0 if the inner loop does not run
    "rows of floats from an int start": (MATMUL, (FLOATS, INTS, ([[]], []), ([[], []], [[1.0]]))),
    "floats only if the inner loop runs": (
        """
def f(x, m):
    out = []
    for i in range(len(x)):
        s = 0
        for k in range(m):
            s += x[i] * k
        out.append(s)
    return out
""",
        (([1.5, 2.5], 3), ([1.5, 2.5], 0), ([1.5], -1), ([], 3), ([2], 2)),
    ),
    "moving average": (
        """
def f(x, w):
    out = []
    for i in range(len(x) - w + 1):
        s = 0.0
        for k in range(w):
            s += x[i + k]
        out.append(s / w)
    return out
""",
        (([1.5, 2.5, 4.0, 8.0], 2), ([], 2), ([1.0], 5), ([1.0, 2.0], 0), ([1, 2, 3], 2)),
    ),
    "numbers under a condition, of NumPy's type": (
        """
def f(x, out):
    for i in range(len(x)):
        if x[i] > 0.5:
            out.append(x[i] * 2)
    return out
""",
        (
            (np.arange(4.0), [7]),
            (np.arange(4.0), ["x"]),
            (np.arange(4), []),
            (np.arange(4, dtype=np.float32), []),
            (np.zeros(0), [1]),
        ),
    ),
    "primes, read while it grows": (
        """
def f(n):
    primes = []
    for k in range(2, n):
        ok = True
        for p in primes:
            if p * p > k:
                break
            if k % p == 0:
                ok = False
                break
        if ok:
            primes.append(k)
    return primes
""",
        ((60,), (1,), (3,), (True,)),
    ),
    "last element": (
        """
def f(n, xs):
    for k in range(n):
        xs.append(xs[-1] * 3.7 * (1 - xs[-1]))
    return xs
""",
        ((9, [0.3]), (3, []), (2, [1]), (4, [0.5, 0.25])),
    ),
    "length as the condition": (
        """
def f(n):
    found = []
    k = 1
    while len(found) < n:
        if k % 3 == 1:
            found.append(k * 5)
        k += 1
    return found, k
""",
        ((7,), (0,), (-4,)),
    ),
    "repeated and stored to": (
        """
def f(n):
    rows = []
    for i in range(n):
        row = [1] * (i + 1)
        for j in range(1, i):
            row[j] = i * j
        rows.append(row)
    return rows
""",
        ((5,), (0,), (-3,)),
    ),
    "a table made in each iteration": (
        """
def f(x, w):
    out = []
    for i in range(w, len(x)):
        t = [[0.0] * w for _ in range(2)]
        for k in range(w):
            t[0][k] = x[i - k]
            t[1][k] += t[0][k] * 2.0
        s = 0.0
        for k in range(w):
            s += t[1][k]
        out.append(s / w)
    return out
""",
        (([1.5, 2.0, 3.5, 1.0, 9.0], 3), ([], 3), ([1.0] * 4, 9), ([1.0] * 4, 0), ([1.0] * 4, -1)),
    ),
    "rows made on the spot": (
        """
def f(x):
    out = []
    for i in range(len(x)):
        out.append([x[i], x[i] * 2.0])
        out.append([0.0] * i)
    return out
""",
        (([1.5, 2.0],), ([],), ([1],)),
    ),
    "tuples": (
        """
def f(n, dt):
    x, v = 1.0, 0.0
    path = []
    for i in range(n):
        v -= x * dt
        x += v * dt
        path.append((x, v))
    return path, x
""",
        ((9, 0.01), (0, 0.01), (-1, 0.5), (3, 1)),
    ),
    "an element of a list that is made is put into another one": (
        """
def f(values, n):
    out = []
    for i in range(n):
        row = []
        for k in range(i, i + 3):
            row.append(values[k] * 0.5)
        out.append(row[1])
    return out
""",
        (([0.5, 1.5, 2.5, 3.5, 4.5], 3), ([0.5, 1.5], 0), ([0.5, 1.5], 1), ([1, 2, 3], 1)),
    ),
    "an int that becomes complex": (
        """
def f(w, h):
    image = []
    for y in range(h):
        row = []
        for x in range(w):
            z = 0
            c = complex(3.0 * x / w - 2.0, 2.0 * y / h - 1.0)
            n = 0
            while abs(z) <= 2 and n < 50:
                z = z * z + c
                n += 1
            row.append(n)
        image.append(row)
    return image
""",
        ((9, 7), (0, 3), (3, 0), (31, 17)),
    ),
    "an attribute, and truth values": (
        """
def f(obj, n):
    for i in range(n):
        obj.big.append(i * i > 5)
    return obj.big
""",
        (),
    ),
    "a name that was another list before": (
        """
def f(n):
    row = [0.5, 1.5]
    rows = []
    for i in range(n):
        row = []
        for j in range(i):
            row.append(j)
        rows.append(row)
    return rows
""",
        ((4,), (0,)),
    ),
    "the same list as input and output": (
        """
def f(a, out):
    for i in range(len(a)):
        out.append(a[i] * 2)
    return out
""",
        (([1, 2], []), ([], [])),
    ),
    "rows of characters": (
        """
def f(n, m):
    rows = []
    for y in range(n):
        row = []
        for x in range(m):
            row.append("#" if (x * y) % 3 == 0 else ".")
        rows.append(row)
    return rows
""",
        ((4, 5), (0, 3), (3, 0), (-1, 2)),
    ),
    "numbers from one on": (
        """
def f(a, b):
    previous = list(range(len(b) + 1))
    for i, ca in enumerate(a, start=1):
        current = [i]
        for j, cb in enumerate(b, start=1):
            change = previous[j - 1] + (ca != cb)
            current.append(min(current[j - 1] + 1, previous[j] + 1, change))
        previous = current
    return previous
""",
        (("kitten", "sitting"), ("", "a"), ("a", ""), ("\u00e9a", "ea"), ("ab", "abab")),
    ),
}


class Holder:
    """An object with a list."""

    def __init__(self) -> None:
        self.big: list[bool] = []


@pytest.mark.parametrize("name", COMPILED)
def test_same_elements(name: str, tmp_path: Path) -> None:
    text, argument_sets = COMPILED[name]
    text = text.lstrip("\n")
    argument_sets = argument_sets or ((Holder(), 6),)
    after = Loaded(rewritten(text, "f", argument_sets[0]), tmp_path / "after.py")
    before = Loaded(text, tmp_path / "before.py")
    for number, args in enumerate(argument_sets):
        expected, found = before.call("f", args), after.call("f", args)
        if number == 0:
            assert after.compilations == 1, "the guard turned down what was observed"
        assert (expected.error and expected.error[0]) == (found.error and found.error[0])
        if not expected.error:
            assert_same(expected, found)
    assert after.compilations == 1


def test_the_list_object_stays_the_same(tmp_path: Path) -> None:
    text = "def f(a, out):\n    for v in a:\n        out.append(v + 1)\n    return out\n"
    after = Loaded(rewritten(text, "f", ([1, 2], [])), tmp_path / "after.py")
    out = [7]
    assert after.names["f"]([1, 2], out) is out and out == [7, 2, 3]
    same = [1, 2]
    # the loop would go on for ever, or over what it appends: Python decides
    limited = text.replace("+ 1)", "+ 1)\n        if len(out) > 9:\n            break")
    after = Loaded(rewritten(limited, "f", ([1, 2], [])), tmp_path / "limited.py")
    assert after.names["f"](same, same) == [1, 2, 2, 3, 3, 4, 4, 5, 5, 6]
    assert after.compilations == 0


def test_rows_are_distinct_lists(tmp_path: Path) -> None:
    after = Loaded(rewritten(MATMUL.lstrip("\n"), "f", INTS), tmp_path / "after.py")
    rows = after.names["f"](*INTS)
    assert len({id(row) for row in rows}) == 3
    assert {type(v) for row in rows for v in row} == {int}


REFUSED: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "caught half-way": (
        """
def f(x):
    out, total = [], 0
    try:
        for i in range(len(x)):
            total += x[i]
            out.append(1 // x[i])
    except ZeroDivisionError:
        pass
    return out, total
""",
        ([1, 2],),
        "may be caught",
    ),
    "four levels": (
        """
def f(a):
    for i in range(len(a)):
        a[i][0][0][0] += 1.0
""",
        ([[[[1.0]]], [[[2.0]]]],),
        "4 deep",
    ),
    "a generator modulo 2**64": (
        """
def f(x, n):
    out = []
    for k in range(n):
        x = (6364136223846793005 * x + 1442695040888963407) % 2**64
        out.append(x)
    return out
""",
        (9, 3),
        "64 bits",
    ),
    # as a complex number it would be rounded
    "a large int that becomes complex": (
        """
def f(z, n):
    out = []
    for k in range(n):
        out.append(abs(z) <= 9007199254740990)
        z = z * 1j
    return out
""",
        (2**61 + 1, 3),
        "an int on one path and a complex",
    ),
    "rows of NumPy numbers": (
        """
def f(a):
    out = []
    for i in range(len(a)):
        row = []
        for j in range(3):
            row.append(a[i] * j)
        out.append(row)
    return out
""",
        (np.arange(4.0),),
        "rows of float64",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, args, words = REFUSED[name]
    found = emit(region_for(text.lstrip("\n"), "f", args), parallel=False)
    assert isinstance(found, Refusal) and words in found.reason, found


def test_tuples_in_a_list_are_compiled_and_not_run_in_python(tmp_path: Path) -> None:
    """Of points as most write them; lists in their place, or both, are left to Python."""
    text = """\
def f(points):
    total = 0.0
    for i in range(len(points)):
        for j in range(i):
            total += points[i][0] * points[j][1]
    return total
"""
    points = [(0.5, 0.25), (1.0, 3.0), (-2.0, 0.125)]
    region = region_for(text, "f", (points,))
    found = emit(region, parallel=False)
    assert isinstance(found, Match)
    after = apply_edits(region.source, found.edits).decode("utf-8")
    only_compiled = after.replace("_f_kernel.py_func(points, total)", "'in Python'")
    assert only_compiled != after
    same = run(only_compiled, "f", (points,), folder=tmp_path)
    assert_same(run(text, "f", (points,), folder=tmp_path), same)
    for others in ([[0.5, 1.0], (2.0, 1.0)], [(1, 2.0), (2.0, 1.0)], [(1.0,), (2.0, 1.0)]):
        assert run(only_compiled, "f", (others,), folder=tmp_path).result == "in Python"


@pytest.mark.parametrize("parallel", [True, False])
def test_other_back_ends_refuse(parallel: bool) -> None:
    region = region_for(MATMUL.lstrip("\n"), "f", INTS)
    found = emit(region, parallel=True) if parallel else numpy_backend.emit(region)
    assert isinstance(found, Refusal) and "list" in found.reason, found

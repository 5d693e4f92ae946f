"""What cannot be expressed is refused by its name and line, never raised, never guessed."""

import numpy as np
import pytest
from nests import nest_of

from gpuadvise.model import Refusal

X = np.arange(1.0, 7.0)

REFUSED: dict[str, tuple[str, tuple[object, ...], str, int]] = {
    "print": ("def f(a):\n    for v in a:\n        print(v)\n", (X,), "print()", 3),
    "unknown call": (
        "import random\ndef f(a):\n    for i in range(3):\n        a[i] = random.random()\n",
        (X,),
        "random.random()",
        4,
    ),
    "slice": ("def f(a):\n    for i in range(3):\n        a[i] = a[i:].sum()\n", (X,), "a[i:]", 3),
    "array operation": (
        "def f(a, b):\n    for i in range(3):\n        b[i] = (a + 1)[i]\n",
        (X, X),
        "a + 1",
        3,
    ),
    "comprehension": (
        "def f(a):\n    for i in range(3):\n        a[i] = len([v for v in a])\n",
        (X,),
        "len(",
        3,
    ),
    "try": (
        "def f(a):\n    for i in range(3):\n        try:\n            a[i] = 1\n"
        "        except ValueError:\n            pass\n",
        (X,),
        "try",
        3,
    ),
    "return": (
        "def f(a):\n    for v in a:\n        if v > 3:\n            return v\n",
        (X,),
        "return",
        4,
    ),
    "assert": ("def f(a):\n    for v in a:\n        assert v > 0\n", (X,), "assert", 3),
    "for else": (
        "def f(a):\n    for v in a:\n        pass\n    else:\n        a[0] = 1\n",
        (X,),
        "else",
        2,
    ),
    "recursion": (
        "def fib(n):\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n"
        "def f(a):\n    for i in range(3):\n        a[i] = fib(i)\n",
        (X,),
        "fib() calls itself",
        4,
    ),
    "ragged": (
        "def f(a):\n    s = 0\n    for row in a:\n        for v in row:\n            s += v\n",
        ([[1, 2], [3]],),
        "different lengths",
        3,
    ),
    "mixed list": (
        "def f(a):\n    s = 0\n    for v in a:\n        s += v\n",
        ([1, 2.0],),
        "different types",
        3,
    ),
    "int list given floats": (
        "def f(a):\n    out = [0] * 6\n    for i in range(6):\n        out[i] = a[i] * 0.5\n",
        (X.tolist(),),
        "holds int and is given float",
        4,
    ),
    "list given an int or a float": (
        "def f(a):\n    m = 0\n    for i in range(6):\n        if a[i] > m:\n            m = a[i]\n"
        "        a[i] = m\n",
        (X.tolist(),),
        "float or int",
        6,
    ),
    "narrow on one path": (
        "def f(a, out):\n    t = 0\n    for i in range(6):\n        out[i] = t - 1\n"
        "        t = a[i]\n",
        (X.astype(np.uint8), X * 0),
        "uint8",
        4,
    ),
    "maybe unassigned": (
        "def f(a):\n    for i in range(6):\n        if a[i] > 2:\n            t = a[i]\n"
        "        a[i] = t\n",
        (X,),
        "t may be read before it is assigned",
        5,
    ),
    "row kept over iterations": (
        "def f(g):\n    old = g[0]\n    for i in range(3):\n        g[i, 0] = old[0]\n"
        "        old = g[i]\n",
        (X.reshape(3, 2),),
        "old does not stand for the same thing",
        4,
    ),
    "row chosen with an old index": (
        "def f(g):\n    k = 0\n    for i in range(2):\n        row = g[k]\n        k = k + 1\n"
        "        row[0] = i\n",
        (X.reshape(3, 2),),
        "row was chosen with an older k",
        6,
    ),
    "row read after the loop": (
        "def f(g):\n    for i in range(2):\n        row = g[i]\n        row[0] = i\n"
        "    return row\n",
        (X.reshape(3, 2),),
        "row, a row or array chosen in the loop, is read after it",
        3,
    ),
    "bool and int": (
        "def f(a, out):\n    t = False\n    for i in range(6):\n        out[i] = t + 1\n"
        "        t = i\n",
        (X, X * 0),
        "bool",
        4,
    ),
    "decorated helper": (
        "import functools\n@functools.lru_cache\ndef g(x):\n    return x + 1\n"
        "def f(a):\n    for i in range(6):\n        a[i] = g(i)\n",
        (X,),
        "g() is decorated",
        7,
    ),
    "helper's global is a local": (
        "K = 3\ndef g(x):\n    return x + K\n"
        "def f(a):\n    K = 5\n    for i in range(6):\n        a[i] = g(i) + K\n",
        (X,),
        "g() uses the global K, which is a local here",
        7,
    ),
    "varying step": (
        "def f(a, s):\n    for i in range(0, 6, s):\n        a[i] = 0.0\n",
        (X, 2),
        "step that is not proved positive",
        2,
    ),
    "negative power": (
        "def f(a, k):\n    for i in range(6):\n        a[i] = i ** k\n",
        (X, 2),
        "exponent could be negative",
        3,
    ),
    "sum of floats": (
        "def f(a, out):\n    for i in range(1, 5):\n"
        "        out[i] = sum(a[i + d] for d in (0, 1))\n",
        (X.tolist(), X * 0),
        "compensate",
        3,
    ),
    "object array": (
        "def f(a):\n    for i in range(6):\n        a[i] += 1\n",
        (X.astype(object),),
        "array of object",
        3,
    ),
    "string": ("def f(a, s):\n    for i in range(3):\n        s += str(i)\n", (X, ""), "s ", 3),
    "fraction of a negative": (
        "def f(a):\n    for i in range(6):\n        a[i] = (a[i] - 3.0) ** 0.5\n",
        (X.tolist(),),
        "complex",
        3,
    ),
    "property": (
        "class P:\n    def __init__(self): self._x = 0.0\n    @property\n"
        "    def x(self): return self._x\n"
        "    @x.setter\n    def x(self, v): self._x = v + 1\n"
        "def f(p, a):\n    for v in a:\n        p.x = v\n",
        (type("P", (), {"x": 0.0})(), X),
        "property",
        9,
    ),
    "one attribute under two names": (
        "class P:\n    x = 1.0\ndef f(p, q, a):\n    for v in a:\n        p.x = q.x * v\n",
        (type("P", (), {"x": 0.0})(), type("P", (), {"x": 0.0})(), X),
        "may be the same attribute",
        4,
    ),
    "rebound helper": (
        "def g(x):\n    return x + 1\ndef h(x):\n    return x\n"
        "g_old = g\nglobals()['g'] = h\n"
        "def f(a):\n    for i in range(6):\n        a[i] = g(i)\n",
        (X,),
        "g() is called inside the loop",
        9,
    ),
    "bounds of the loop itself": (
        "def f(n, a):\n    for i in range(n):\n        n -= 1\n        a[i] = n\n",
        (5, X),
        "bound",
        2,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name_and_line(name: str) -> None:
    text, args, words, line = REFUSED[name]
    found = nest_of(text, *args)
    assert isinstance(found, Refusal), found
    assert words in found.reason, found
    assert found.line == line, found

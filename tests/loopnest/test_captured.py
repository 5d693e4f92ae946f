"""Which names of a scope the functions inside it can see."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gpuadvise.loopnest.liveness import _captured, live_after
from gpuadvise.model import Source


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(x, k):\n    return g(-x * k)", {"g"}),
        ("def f():\n    x = 1\n    return x", set()),
        ("def f():\n    return [x for x in a] + [x]", {"a", "x"}),
        ("def f():\n    global x\n    x = 1", {"x"}),
        ("def f(y=x):\n    return y", {"x"}),
        ("@deco\ndef f(): pass", {"deco"}),
        ("def f():\n    def g(y):\n        return x + y\n    return g", {"x"}),
        ("h = lambda i: i + x", {"x"}),
        ("class C:\n    x = x\n    def m(self):\n        return y", {"x", "y"}),
        (
            "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += x\n    return g",
            {"x"},
        ),
    ],
)
def test_captured(text: str, names: set[str]) -> None:
    assert _captured(ast.parse(text)) == names


def test_nonlocal_alone_counts_everything() -> None:
    outer = ast.parse(
        "def f():\n    n = 0\n    def g(m):\n        nonlocal n\n        n += m"
    ).body[0]
    assert {"n", "m"} <= _captured(outer)


@pytest.mark.parametrize(
    ("after", "live"),
    [
        ("max(xs, key=lambda i: xs[i])", False),
        ("sorted(xs, key=lambda *i, k=0, **j: k)", False),
        ("sorted(xs, key=lambda v, k=i: v * k)", True),  # a default is read outside
        ("sorted(xs, key=lambda v: v * i)", True),
        ("[lambda i: i for k in xs] + [i]", True),
    ],
)
def test_a_lambda_reads_its_own_parameters(after: str, live: bool) -> None:
    text = f"def f(xs):\n    for i in range(9):\n        xs[i] = i\n    return {after}\n"
    source = Source(Path("f.py"), text.encode())
    function = source.tree.body[0]
    assert isinstance(function, ast.FunctionDef) and isinstance(function.body[0], ast.For)
    names = live_after(source, function, function.body[0])
    assert names is not None and ("i" in names) == live

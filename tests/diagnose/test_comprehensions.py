"""Statements with a comprehension as hot places: which they are, and where they stand."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gpuadvise.diagnose.program import Program
from gpuadvise.diagnose.regions import not_expressed
from gpuadvise.model import Source
from gpuadvise.rowcalls import is_comprehension, statement_of

TEXT = """\
def work(xs, ys):
    total = sum(f(x) for x in xs)
    for y in ys:
        row = [g(x, y) for x in xs]
        for z in row: last = [z + x for x in xs]
    a = 1; b = [f(x) for x in xs]
    return tuple(f(x) for x in xs), last, b, a
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("labels = [nearest(p, centres) for p in points]", True),
        ("total += sum(x * x for x in xs) / n", True),
        ("print(any(f(x) for x in xs))", True),
        ("grid = [[0] * m for _ in range(n)]", False),
        ("zeros = [0.0 for _ in range(n)]", False),
        ("later = (f(x) for x in xs)", False),
        ("names = {x: f(x) for x in xs}", False),
        ("best = max(xs, key=lambda x: [f(x, y) for y in ys])", False),
        ("found = [y for x in xs if (y := f(x))]", False),
        ("if any(f(x) for x in xs):\n    pass", False),
    ],
)
def test_statements_with_a_loop_inside(text: str, expected: bool) -> None:
    assert is_comprehension(ast.parse(text).body[0]) is expected


def test_each_has_its_line_for_itself() -> None:
    """Two statements on one line would be looked at as one."""
    source = Source(Path("p.py"), TEXT.encode())
    scope = Program({source.path: source}).scope(source.path, "work")
    assert scope is not None
    hidden = [loop for loop in scope.loops if statement_of(loop) is not None]
    assert [loop.lineno for loop in hidden] == [2, 4, 7]
    for loop in hidden:
        statement = statement_of(loop)
        assert statement is not None and source.span(loop) == source.span(statement)
        assert "comprehension" in not_expressed(statement).reason

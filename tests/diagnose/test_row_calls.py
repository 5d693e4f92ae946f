"""``df.apply(f, axis=1)`` as a hot place: found, with the function's time, and told from loops."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gpuadvise.diagnose.program import Program
from gpuadvise.model import Source
from gpuadvise.rowcalls import as_loop, is_row_call, statement_of

TEXT = """\
import pandas as pd

def cost(row):
    return row["a"] * 2

def work(df):
    df["c"] = df.apply(cost, axis=1)
    for i in range(3):
        df["d"] = df.apply(lambda r: r.b, axis="columns")
    return df.apply(sum)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = df.apply(f, axis=1)", True),
        ("df['c'] = df.apply(lambda r: r.a, axis='columns') + 1", True),
        ("return_ = df.apply(f, 1)", True),
        ("df.apply(f, axis=0)", False),
        ("df.apply(f)", False),
        ("apply(f, axis=1)", False),
        ("for x in df.apply(f, axis=1):\n    pass", False),
    ],
)
def test_statements_by_rows(text: str, expected: bool) -> None:
    assert is_row_call(ast.parse(text).body[0]) is expected


def test_it_is_a_loop_at_the_statements_own_place() -> None:
    source = Source(Path("p.py"), TEXT.encode())
    program = Program({source.path: source})
    scope = program.scope(source.path, "work")
    assert scope is not None
    assert [loop.lineno for loop in scope.loops] == [7, 8, 9]
    first, plain, inner = scope.loops
    assert statement_of(plain) is None
    for loop in (first, inner):
        statement = statement_of(loop)
        assert statement is not None and source.span(loop) == source.span(statement)
    assert isinstance(as_loop(first.body[0]).iter, ast.Name)


def test_the_function_counts_as_called_there() -> None:
    source = Source(Path("p.py"), TEXT.encode())
    program = Program({source.path: source})
    scope = program.scope(source.path, "work")
    assert scope is not None
    assert {callee.qualname for callee in program.called_in(scope, 7, 7)} == {"cost"}
    assert not program.called_in(scope, 9, 9)

"""Faults injected into correct rewrites, a small version of ``benchmarks/mutants.py``.

All of them must be caught by the path that every rewrite goes; and the rewrites themselves pass.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import mutants as bench
from mutant_operators import OPERATORS
from mutant_operators import mutants as mutants_of
from mutant_text import Rewritten

OLD = """\
import numpy as np


def smooth(u, k):
    new = np.zeros(len(u))
    for i in range(1, len(u) - 1):
        new[i] = u[i] - k * (u[i + 1] - u[i - 1])
    return new
"""
NEW = """\
import numpy as np


def smooth(u, k):
    new = np.zeros(len(u))
    if type(u) is np.ndarray and u.shape[0] >= 1:
        new[1:-1] = u[1:-1] - k * (u[2:] - u[:-2])
    else:
        for i in range(1, len(u) - 1):
            new[i] = u[i] - k * (u[i + 1] - u[i - 1])
    return new
"""
QUICK = frozenset(
    {
        *("slice bound", "wrong operator", "swapped operands", "dropped term", "wrong dtype"),
        *("dropped statement", "rounded", "input zeroed", "type of result", "aliasing"),
        *("done later", "printed in addition", "doubled statement", "draws"),
    }
)
REMEMBERED = frozenset({"first result kept"})
PERTURBED = frozenset({"kept loop damaged"})
"""Faults that the program's own data do not show."""


def faults(operator: str) -> list[str]:
    code = Rewritten(OLD.encode(), NEW.encode(), "smooth", 6)
    return [mutant.what for mutant in mutants_of(code, frozenset({operator}))]


def test_operators_write_what_they_say() -> None:
    assert "1:-1 -> 2:-1" in faults("slice bound")
    assert "u[2:] - u[:-2] -> (u[:-2] - u[2:])" in faults("swapped operands")
    assert "np.zeros(len(u)) -> np.empty(len(u))" in faults("uninitialised")
    assert "u.shape[0] >= 1 -> True" in faults("guard dropped")
    assert "u.shape[0] >= 1 -> (u.shape[0] + 1 >= 1)" in faults("guard too wide")
    assert len(faults("kept loop damaged")) == 1


def test_only_what_was_added_is_damaged() -> None:
    code = Rewritten(OLD.encode(), NEW.encode(), "smooth", 6)
    for mutant in mutants_of(code, frozenset({"off by one", "slice bound", "comparison"})):
        assert mutant.line in (6, 7), mutant.what
        assert ast.dump(ast.parse(mutant.text)) != ast.dump(ast.parse(NEW))


def test_every_kind_of_fault_can_be_made() -> None:
    assert len(OPERATORS) >= 30
    names = {name for name in OPERATORS if faults(name)}
    assert len(names) >= 18, sorted(names)


@pytest.mark.parametrize(
    ("program", "rule", "operators", "least"),
    [
        ("relax_new", "NP201", QUICK | REMEMBERED | PERTURBED, 12),
        ("growing_lists", "PY110", QUICK, 6),
    ],
)
def test_faults_are_caught(program: str, rule: str, operators: frozenset[str], least: int) -> None:
    rows = tried(program, rule, operators)
    assert len(rows) >= least
    assert {row.stage for row in rows} <= {"text", "region", "perturbed"}, escapes(rows)
    for row in rows:
        assert row.stage in ("text", "perturbed") or row.operator not in PERTURBED, row


def tried(program: str, rule: str, operators: frozenset[str]) -> list[bench.Row]:
    path = bench.PROGRAMS / f"{program}.py"
    rows = list(bench.results([path], rules=frozenset({rule}), operators=operators, each=1))
    # A rewrite that does not pass as it is would make every fault in it look caught.
    assert rows and not [row for row in rows if row.operator == "no fault"], rows
    return rows


def escapes(rows: list[bench.Row]) -> list[str]:
    found = bench.sort(rows, bench.reviews())
    return [f"{row.operator}, line {row.line}: {row.what}" for row, _ in found.escaped]

"""Faults injected into correct rewrites, a small version of ``benchmarks/mutants.py``.

All of them must be caught by the path that every rewrite goes; and the rewrites themselves pass.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from mutant_operators import OPERATORS
from mutant_operators import mutants as mutants_of
from mutant_run import NO_FAULT, PROGRAMS, Row, Selection, results
from mutant_table import Review, reviews, sort
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


KERNEL_OLD = """\
import numpy as np


def totals(u, limit):
    out = np.zeros(len(u))
    for i in range(len(u)):
        total = 0.0
        for k in range(i):
            if u[k] > limit:
                break
            total += u[k]
        out[i] = total
    return out
"""
KERNEL = """\
import numba
import numpy as np


@numba.njit(cache=True, error_model="numpy")
def _totals_kernel(u, limit, out):
    for i in range(len(u)):
        total = 0.0
        for k in range(i):
            if u[k] > limit:
                break
            total += u[k]
        out[i] = total


def totals(u, limit):
    out = np.zeros(len(u))
    _totals_kernel(u, limit, out)
    return out
"""


@pytest.mark.parametrize(
    ("operator", "line", "words"),
    [
        ("hoisted", 7, "total = 0.0 -> before the loop"),
        ("threads", 7, "for i in range(len(u)) -> numba.prange"),
        ("threads", 9, "for k in range(i) -> numba.prange"),
        ("narrow accumulator", 12, "total += u[k] -> total = np.float32(total + (u[k]))"),
        ("exit lost", 11, "break -> continue"),
        ("dropped statement", 12, "total += u[k] -> pass"),
    ],
)
def test_faults_of_compiled_kernels(operator: str, line: int, words: str) -> None:
    code = Rewritten(KERNEL_OLD.encode(), KERNEL.encode(), "totals", 6)
    made = {m.what: m for m in mutants_of(code, frozenset({operator}))}
    assert words in made and made[words].line == line, made.keys()
    if operator == "hoisted":
        assert b"    total = 0.0\n    for i in range(len(u)):\n" in made[words].text
    if operator == "threads":
        assert made[words].text.count(b"numba.prange(") == 1
        assert b"parallel=True" in made[words].text


def test_flags_that_are_there_are_no_fault() -> None:
    code = Rewritten(KERNEL_OLD.encode(), KERNEL.encode(), "totals", 6)
    (made,) = mutants_of(code, frozenset({"compiler flags"}))
    assert "fastmath=True" in made.what


def test_a_review_is_of_one_place() -> None:
    row = Row("p", "NP201", "exception swallowed", 8, "try: all of it", "escaped", "", "<module>")
    review = Review(*[*(row.program, row.rule, row.operator, row.what), "equivalent", "so", "f"])
    assert sort([row], [review]).escaped == ((row, None),)
    review = replace(review, place="<module>")
    assert sort([row], [review]).equivalent == ((row, review),)
    assert sort([row], []).caught == 0 and sort([replace(row, stage="region")], []).caught == 1


def test_every_review_has_a_reason_and_is_of_a_known_operator() -> None:
    for review in reviews():
        assert review.operator in OPERATORS and len(review.reason) > 20, review
        assert review.verdict in ("equivalent", "escape"), review


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


def tried(program: str, rule: str, operators: frozenset[str]) -> list[Row]:
    selection = Selection(rules=frozenset({rule}), operators=operators, each=1)
    rows = list(results([PROGRAMS / f"{program}.py"], selection))
    # A rewrite that does not pass as it is would make every fault in it look caught.
    assert rows and not [row for row in rows if row.operator == NO_FAULT], rows
    return rows


def escapes(rows: list[Row]) -> list[str]:
    found = sort(rows, reviews())
    return [f"{row.operator}, line {row.line}: {row.what}" for row, _ in found.escaped]

"""The precondition ledger: true to the emitted text, and guarded where it says so.

Each guard is violated by data made from those it was written for, and the original must be what
runs then. The programs are the cases of all rules and loops in the styles of many authors.
"""

from __future__ import annotations

import ast
import copy
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from guards import Ended, Watched, guard_tests, parts, squeezed
from harness import chain_for, compare, first_match, needed
from other_data import NoMore, variant

from gpuadvise.api import Rewrites
from gpuadvise.matching import counted
from gpuadvise.model import Basis, Match, Region
from gpuadvise.patch import apply_edits
from gpuadvise.registry import Rule, rules

sys.path.insert(0, str(Path(__file__).parent / "codegen"))
import numba_corpus

pytestmark = pytest.mark.usefixtures("cupy_over_numpy")


@dataclass(frozen=True)
class Program:
    """A function with the data that it was observed on."""

    text: str
    function: str | None
    inputs: str
    args: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Rewritten:
    """A program as a rule wrote it anew."""

    program: Program
    match: Match
    after: str


def rewritten(rule: Rule, program: Program) -> Rewritten | None:
    """The first match of a rule; None if it leaves the program alone."""
    args = copy.deepcopy(program.args)
    chain = chain_for(program.text, program.function, args, inputs=program.inputs)
    found = first_match(rule.function, chain)
    if len(found) != 2 or not isinstance(found[1], Match):
        return None
    region, match = found
    assert isinstance(region, Region)
    after = apply_edits(region.source, match.edits).decode()
    return Rewritten(program, counted(match, region), after)


# ---------------------------------------------------------------- true to the text
def disagreements(case: Rewritten) -> list[str]:
    """Guarded conditions without a test in the text, and tests without an entry."""
    found = [part for t in guard_tests(case.program.text, case.after) for part in parts(t)]
    tests = [squeezed(ast.get_source_segment(case.after, p) or ast.unparse(p)) for p in found]
    text = "\n".join((squeezed(case.after), *tests))
    entries = [squeezed(c.test or c.text) for c in case.match.ledger if c.guarded]
    missing = [
        f"no test of: {c.text}"
        for c in case.match.ledger
        if c.guarded and squeezed(c.test or c.text) not in text
    ]
    for asked in tests:
        if not any(asked in entry for entry in entries):
            missing.append(f"no entry for: {asked}")
    return missing


# -------------------------------------------------------------------- violated
MOST_STEPS = 100_000
"""Rounds of loops and calls of a program on its own data."""
ROOM = 600
"""More steps than twice those: changed data may be a trip count, ``n + 2**9`` or ``n + 2**50``,
and a run that goes on for longer is given up."""
PATIENCE = 10
"""Times the steps, for a rewritten program where the original came to an end."""


@dataclass
class Explored:
    """What came of running a rewritten program on data that it was not written for."""

    runs: int = 0
    fell_back: int = 0
    never_violated: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def explore(case: Rewritten) -> Explored:
    """Change the arguments one way at a time; then, for guards that held, the state at the loop."""
    result = Explored()
    program = case.program
    compiled = "numba" in case.match.needs
    old = Watched(program.text, program.text, program.function)
    new = Watched(program.text, case.after, program.function)
    as_observed = old.run(program.inputs, program.args, lambda args: args, MOST_STEPS)
    assert as_observed is not None, f"over {MOST_STEPS} steps as observed"
    most = ROOM + 2 * old.steps
    if program.function is not None:
        for number in itertools.count():
            label = f"arguments {number}"
            pick = variant(number)
            if not _both(result, old, new, program, pick, label, most, compiled=compiled):
                break
    for number in itertools.count():
        if not new.never_violated:
            break
        change = _entry_change(number)
        old.entry = new.entry = change
        label = f"entry {number}"
        if not _both(result, old, new, program, lambda args: args, label, most, at_loop=True):
            break
    result.never_violated = new.never_violated
    return result


def _entry_change(number: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(names: dict[str, Any]) -> dict[str, Any]:
        return dict(zip(names, variant(number)(tuple(names.values())), strict=True))

    return change


def _both(
    result: Explored,
    old: Watched,
    new: Watched,
    program: Program,
    pick: Callable[[Any], Any],
    label: str,
    most: int,
    *,
    at_loop: bool = False,
    compiled: bool = False,
) -> bool:
    """Run both sides; False where there is no such change any more.

    ``most``: steps of the original; the new code may take `PATIENCE` times as many.
    ``at_loop``: what the code before the loop proves may be broken by the change; ``compiled``:
    the new code is meant for a compiler, and types differ without it. What the new code then gives
    says nothing, what the fall-back gives does.
    """
    try:
        first = old.run(program.inputs, program.args, pick, most)
        second = first and new.run(program.inputs, program.args, pick, PATIENCE * most)
    except NoMore:
        return False
    if first is None or second is None:
        if first is not None and not at_loop:
            result.differences.append(f"{label}: does too much")
        return True
    result.runs += 1
    result.fell_back += new.passed is False
    if not (new.passed and (at_loop or compiled)):
        difference = _difference(first, second)
        if difference:
            how = _PLACES[new.passed]
            result.differences.append(f"{label}, {how}: {difference}")
    return True


_PLACES = {
    True: "in the new code",
    False: "in the fall-back",
    None: "outside any guard that leads to the original",
}


def _difference(first: Ended, second: Ended) -> str:
    try:
        assert first.error == second.error, f"raised {first.error}, now {second.error}"
        compare(first.result, second.result, "result", 1e-12)
        compare(first.args, second.args, "args", 1e-12)
        for name, value in first.names.items():
            if name != "args" and name in second.names:
                compare(value, second.names[name], name, 1e-12)
    except AssertionError as error:
        return str(error)
    return ""


# ------------------------------------------------------------------------ tests
def _programs() -> Iterator[Any]:
    for rule in rules():
        rewrites = [case for case in rule.cases if isinstance(case, Rewrites)]
        for number, case in enumerate(rewrites):
            program = Program(case.before, case.function, case.inputs)
            yield pytest.param(
                rule, program, id=f"{rule.code}-case{number}", marks=needed(case.before)
            )
        if rule.code in ("NP201", "NB401"):
            for loop in numba_corpus.COMPILED:
                if loop.name in OTHERS:
                    program = Program(loop.text, loop.function, "", loop.args[0])
                    yield pytest.param(rule, program, id=f"{rule.code}-{loop.name}")


OTHERS = frozenset(
    {"life_modulo", "edit_distance", "int_div_neg", "uint8_wraps", "newton_sqrt", "kmeans_assign"}
)
"""Loops beside the rules' own cases: lists, lists of lists, narrow integers, methods."""

HELD_BY_WHAT_IS_BEFORE = {
    "id(a) not in map(id, d)": "d is made of new rows two lines above",
    "id(b) not in map(id, d)": "d is made of new rows two lines above",
    "min(self.u.shape) >= 1": "shown by the test below",
    "type(inf) is float": "math.inf, imported by name",
    "before.ndim == 1": "two axes: tests/codegen/cupy_backend",
    "len(spins) <= 2 ** 24": "more numbers than fit: tests/codegen/test_restated_draws.py",
    "set(map(type, bodies)) <= {Body}": "another class: tests/codegen/test_restated_records.py",
    "set(map(type, comets)) <= {Comet}": "another class: tests/codegen/test_lanes.py",
    "len(b) > 0": "b[0] was read above",
    "labels is not graph_start": "graph_start is made a few lines above",
    "labels is not graph_flat": "graph_flat is made a few lines above",
    "_is_vector(graph_start, int)": "graph_start holds sums of lengths",
    "not np.may_share_memory(self.u, self.v)": "attributes share: tests/codegen/cupy_backend",
}
"""Guards that no data can violate, with the reason. They cost little, and stay where the engine
does not see the reason."""


@pytest.mark.parametrize(("rule", "program"), list(_programs()))
def test_every_guard_is_in_the_ledger_and_sends_other_data_to_the_original(
    rule: Rule, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = rewritten(rule, program)
    if case is None:
        pytest.skip("this rule leaves it alone")
    assert not disagreements(case)
    if "cuda" in rule.needs:  # kernels are plain functions here, which no device can launch
        monkeypatch.setattr("numba.cuda.is_available", lambda: False)
    for condition in case.match.ledger:
        assert not condition.guarded or condition.basis is Basis.OBSERVED
        if condition.basis is Basis.OBSERVED:
            assert 1 <= condition.seen <= condition.entries, condition
    found = explore(case)
    assert not found.differences, found.differences[:3]
    known = HELD_BY_WHAT_IS_BEFORE
    # What asks the machine, no data can violate: tests/codegen/cupy_backend does.
    left = [t for t in found.never_violated if t not in known and "cp.cuda." not in t]
    assert not left, left
    if guard_tests(program.text, case.after):
        assert found.fell_back, found


TEXT = """\
def scale(x, k):
    for i in range(len(x)):
        x[i] = x[i] * k
"""
RIGHT = """\
import numpy as np
def scale(x, k):
    if type(x) is np.ndarray and x.dtype == np.float64 and x.ndim == 1 and type(k) is float:
        x[:] = x * k
    else:
        for i in range(len(x)):
            x[i] = x[i] * k
"""


@pytest.mark.parametrize(
    ("old", "new", "noticed"),
    [
        ("x[:] = x * k", "x[:] = x * k", ""),
        # a list has no dtype
        ("type(x) is np.ndarray and ", "", "outside any guard"),
        (
            "        for i in range(len(x)):",
            "        for i in range(1, len(x)):",
            "outside any guard that leads to the original",
        ),
    ],
)
def test_the_explorer_sees_a_missing_guard_and_a_wrong_fall_back(
    old: str, new: str, noticed: str
) -> None:
    program = Program(TEXT, "scale", "args = (rng.random(5), 0.5)")
    assert RIGHT.count(old) == 1
    match = Match((), "", "")
    found = explore(Rewritten(program, match, RIGHT.replace(old, new)))
    assert bool(found.differences) == bool(noticed), found.differences
    assert not noticed or any(noticed in difference for difference in found.differences)
    assert found.runs > 20


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        ("for i in range(n): pass", 101),
        ("while n: n -= 1", 101),
        ("sum(1 for i in range(n))", 101),
        ("count(n)", 101),
        ("np.zeros(n // 2**12)", 1),
        ("[0] * (n // 2**14)", 1),
    ],
)
def test_a_run_is_given_up_for_what_it_does_not_for_its_time(body: str, steps: int) -> None:
    text = f"import numpy as np\ndef count(n): return n and count(n - 1)\ndef f(n):\n    {body}\n"
    watched = Watched(text, text, "f")
    assert watched.run("args = (2**40,)", (), lambda args: args, 100) is None
    assert watched.steps == steps
    ended = watched.run("args = (20,)", (), lambda args: args, 100)
    assert ended is not None and ended.error is None and 0 < watched.steps <= 22

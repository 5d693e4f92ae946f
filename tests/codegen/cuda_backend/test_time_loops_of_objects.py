"""Time loops whose steps are methods or functions: arrays stay on the device, objects agree."""

from __future__ import annotations

import pytest
from cuda_programs import Program
from harness import chain_for
from object_programs import OBJECTS
from test_in_simulator import Outcome, resident_or_reason, rewritten, simulated

from gpuadvise.model import Match, Refusal

PLATE = """
import numpy as np


class Plate{bases}:
    def __init__(self, u):
        self.u = u
        self.heat = 1.0

{extra}
    def step(self, r):
        new = self.u.copy()
        for i in range(1, len(self.u) - 1):
            new[i] = self.u[i] + r * (self.u[i - 1] - 2.0 * self.u[i] + self.u[i + 1])
        self.u = new


def look(plate):
    return plate.u[1]


def run(plate, steps):
    for k in range(steps):
        plate.step(0.25){after}
    return plate.u
"""
START = "args = (Plate(rng.random(12)), 3)"


def plate(extra: str = "", after: str = "", bases: str = "") -> str:
    """The program with more in its class, or in its time loop."""
    return PLATE.format(extra=extra, after=after and f"\n        {after}", bases=bases)


SEEN = "    def __setattr__(self, name, value):\n        object.__setattr__(self, name, value)\n"
REFUSED = (
    ("attributes that are noted", plate(SEEN), "__setattr__() sees its attributes"),
    ("a base class", plate(bases="(dict)"), "has bases or decorators"),
    ("another step", plate(after="plate.step = plate.step"), "may be replaced"),
    ("the object itself", plate(after="print(plate)"), "`print(plate)` may need arrays"),
    ("a result that is an array", plate(after="np.abs(plate.u, plate.u)"), "may need arrays"),
    ("a sum put into an array", plate(after="print(plate.u.max(out=plate.u))"), "may need arrays"),
    ("a function that is handed over", plate(after="print(max(plate.u, key=look))"), "may need"),
    ("an element that changes", plate(after="plate.u[0] = k"), "may need arrays"),
    ("a part of an array", plate(after="row = plate.u[2:4]"), "may need arrays"),
    ("a division by zero", plate(after="print(k, 1.0 / (plate.heat - k))"), "may need arrays"),
    (
        "an array handed over, and bound anew",
        plate(
            "    def turn(self, old):\n        self.u = old.copy()\n",
            "plate.turn(plate.u)",
        ),
        "turn() is given plate.u, and binds it anew",
    ),
    (
        "a break before the step is over",
        plate(after="if k == 1:\n            break").replace(
            "        plate.step(0.25)\n        if k == 1:\n            break",
            "        if plate.u.max() < 0.1:\n            break\n        plate.step(0.25)",
        ),
        "the loop may be left before arrays change hands",
    ),
)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[str, Outcome]]:
    """All programs, in one process."""
    texts = {p.name: rewritten(p) for p in OBJECTS}
    found = simulated([(p.text, texts[p.name], p.function, p.args, p.inputs) for p in OBJECTS])
    return {p.name: (texts[p.name], one) for p, one in zip(OBJECTS, found, strict=True)}


@pytest.mark.parametrize("program", OBJECTS, ids=lambda p: p.name)
def test_equal(program: Program, outcomes: dict[str, tuple[str, Outcome]]) -> None:
    text, outcome = outcomes[program.name]
    for wanted in program.contains:
        assert wanted in text, text
    assert [why for why, _ in outcome] == [None] * len(outcome), text
    assert outcome[0][1] >= program.launches, f"{outcome[0][1]} kernels ran"


def test_what_the_loops_may_not_see_ran_in_python(
    outcomes: dict[str, tuple[str, Outcome]],
) -> None:
    kernels = [ran for _, ran in outcomes["membrane"][1]]
    assert kernels == [7, 1, 0, 0, 0, 0]  # no step; two names for one array; a bool; a subclass


def answers(text: str, function: str, inputs: str) -> list[Match | Refusal]:
    return [resident_or_reason(r) for r in chain_for(text, function, inputs=inputs) if r.inside]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0])
def test_refused(case: tuple[str, str, str]) -> None:
    _, text, reason = case
    found = answers(text, "run", START)
    assert not [a for a in found if isinstance(a, Match)]
    assert any(isinstance(a, Refusal) and reason in a.reason for a in found), found


def test_the_plain_one_is_not_refused() -> None:
    assert isinstance(answers(plate(), "run", START)[0], Match)
    assert isinstance(answers(plate(after="print(look(plate))"), "run", START)[0], Match)


def test_the_comparison_sees_what_is_not_brought_back() -> None:
    """An attribute, a look, arrays that changed places."""
    by_name = {p.name: p for p in OBJECTS}
    changes = (
        ("membrane", "    self.steps = steps\n", ""),
        ("membrane", "            gpu_now.copy_to_host(now)\n", ""),
        ("membrane", "    self.now = now\n", ""),
        ("pond", "    clock.now = now\n", ""),
        ("relaxed", "            gpu_p.copy_to_host(p)\n", ""),
    )
    wrong = []
    for name, old, new in changes:
        text = rewritten(by_name[name])
        assert old in text, text
        program = by_name[name]
        wrong.append(
            (
                program.text,
                text.replace(old, new),
                program.function,
                program.args[:1],
                program.inputs[:1],
            )
        )
    assert [outcome[0][0] is None for outcome in simulated(wrong)] == [False] * len(changes)

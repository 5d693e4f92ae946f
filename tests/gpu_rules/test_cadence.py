"""Loops that ask the device in every step whether to go on, rewritten to ask every tenth."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from reading import mistakes

from gpuadvise.model import Basis, Exactness, Match, Source
from gpuadvise.patch import apply_edits

WHILE_NAMED = """\
import cupy as cp


def relax(field, limit):
    error = limit + 1.0
    while error > limit:
        new = 0.5 * (field + cp.roll(field, 1))
        error = float(cp.abs(new - field).max())
        field = new
    return field
"""
SKIPPING = """\
import cupy as cp


def relax(field, limit):
    found = 0
    for round in range(3, 4000):
        new = 0.5 * (field + cp.roll(field, 1))
        moved = cp.abs(new - field).max().item()
        field = new
        if round % 3 == 0:
            continue
        found += 1
        if moved < limit:
            break
    return field
"""
AT_TOP = """\
import cupy as cp

field = cp.asarray(given)
while True:
    old, field = field, 0.5 * (field + cp.roll(field, 1))
    if float(cp.linalg.norm(field - old)) < limit:
        break
"""
LOGGED = """\
import cupy as cp


def relax(field, limit):
    errors = []
    while True:
        new = 0.5 * (field + cp.roll(field, 1))
        error = float(cp.abs(new - field).max())
        field = new
        errors.append(error)
        if error < limit:
            return errors
"""
BOTH = """\
import cupy as cp


def relax(field, limit, most):
    n = 0
    while float(cp.abs(field).max()) > limit and n < most:
        field = 0.5 * field
        n += 1
    return field
"""


def rewritten(text: str) -> tuple[str, Match] | None:
    """The text with what CP303 writes, and that match."""
    source = Source(Path("program.py").absolute(), text.encode())
    found = [m.match for code, _, m in mistakes(source, ("CP303",)) if m.match is not None]
    assert len(found) <= 1
    return (apply_edits(source, found[0].edits).decode(), found[0]) if found else None


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """NumPy in CuPy's place."""
    monkeypatch.setitem(sys.modules, "cupy", np)
    return np


@pytest.mark.parametrize("text", [WHILE_NAMED, SKIPPING, AT_TOP], ids=["while", "skips", "top"])
def test_the_loop_ends_within_nine_steps_of_the_original(text: str, cupy: ModuleType) -> None:
    found = rewritten(text)
    assert found is not None
    after, match = found
    assert not match.safe and match.exactness is Exactness.LAST_DIGIT
    assert [c.basis for c in match.ledger] == [Basis.ASSUMED]
    given = np.random.default_rng(3).random(40)
    longer = False
    for limit in (1e-3, 8e-4, 5e-4):
        one, two = (result_of(t, given.copy(), limit) for t in (text, after))
        assert np.abs(one - two).max() < 9 * limit
        longer |= not np.array_equal(one, two)
    assert longer  # it does take more steps
    assert after.count("% 10") == 1


def result_of(text: str, given: np.ndarray[Any, Any], limit: float) -> Any:
    space: dict[str, Any] = {"given": given, "limit": limit}
    exec(compile(text, "program.py", "exec"), space)
    return space["relax"](given, limit) if "relax" in space else space["field"]


@pytest.mark.parametrize("text", [LOGGED, BOTH], ids=["logged", "both"])
def test_what_is_asked_for_more_than_the_end_stays(text: str) -> None:
    assert rewritten(text) is None

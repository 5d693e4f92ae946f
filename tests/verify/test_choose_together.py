"""Rewrites of single loops that need no trial where one of all loops beside them passed."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from gpuadvise.model import (
    Candidate,
    ErrorSize,
    Exactness,
    Inconclusive,
    Match,
    Ratio,
    Refusal,
    Region,
    Site,
    Source,
    Trial,
    Verified,
)
from gpuadvise.verify.choose import _taken_together

TEXT = """\
def f(a):
    for i in range(9):
        a[i] += 1.0
    for i in range(9):
        a[i] *= 2.0
    for i in range(9):
        print(i)
"""
SOURCE = Source(Path("/p/f.py"), TEXT.encode())
FUNCTION = SOURCE.tree.body[0]
LOOPS = [n for n in ast.walk(SOURCE.tree) if isinstance(n, ast.For)]


def region(loop, until=None):
    site = Site(SOURCE.path, loop.lineno, "f")
    found = Region(site, SOURCE, loop, FUNCTION, None, 0.5, 0, None, Refusal("not lowered"))
    return replace(found, until=until)


def candidate(where, exactness=Exactness.BITS, needs="numba"):
    match = Match((), "slow", "faster", needs=frozenset({needs}), exactness=exactness)
    return Candidate("c", "NB405", where, match)


def passed(one):
    ratio = Ratio(3.0, 2.0, 4.0, (3.0,), (1.0,))
    return Trial(one, Verified(ratio, ErrorSize(), 1, "everything"))


WHOLE = region(LOOPS[0], LOOPS[1])


@pytest.mark.parametrize(
    ("whole", "single", "covered"),
    [
        (candidate(WHOLE), candidate(region(LOOPS[1])), True),
        (candidate(WHOLE), candidate(region(LOOPS[2])), False),
        (candidate(WHOLE), candidate(region(LOOPS[1]), needs="numpy"), False),
        (candidate(WHOLE, Exactness.REASSOCIATED), candidate(region(LOOPS[1])), False),
        (
            candidate(WHOLE, Exactness.REASSOCIATED),
            candidate(region(LOOPS[1]), Exactness.REASSOCIATED),
            True,
        ),
        (candidate(region(LOOPS[1])), candidate(region(LOOPS[1])), False),
        (candidate(WHOLE), candidate(WHOLE), False),
    ],
)
def test_what_is_taken_together(whole, single, covered):
    assert (_taken_together(single, [passed(whole)]) is not None) == covered
    assert _taken_together(single, [Trial(whole, Inconclusive("no time"))]) is None

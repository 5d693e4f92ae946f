"""Array forms of random loops against the loops, exceptions and what they leave behind included."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from gpuadvise.cases import call
from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Exactness, Refusal
from gpuadvise.patch import apply_edits

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import compare, region_for
from random_loops import LENGTH, Loop

SEEDS = range(1_000, 1_260)
FEWEST = 20
"""Loops that must be rewritten, or the test says nothing."""


class Outcome:
    """What one call gave, raised and left in its arguments."""

    def __init__(self, text: str, args: tuple[Any, ...]) -> None:
        names: dict[str, Any] = {"__name__": "case"}
        exec(compile(text, "case.py", "exec", dont_inherit=True), names)
        self.args, self.error, self.result = args, "", None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.result = call(names, "k", args)
            except Exception as problem:
                self.error = f"{type(problem).__name__}: {problem}"


def same(old: Outcome, new: Outcome, tolerance: float) -> None:
    assert old.error == new.error
    compare(old.result, new.result, "result", tolerance)
    compare(old.args, new.args, "args", tolerance)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_loops_keep_their_meaning() -> None:
    rewritten = 0
    for seed in SEEDS:
        loop = Loop(seed)
        region = region_for(loop.text, "k", loop.arguments(LENGTH, "plain", seed))
        match = emit(region)
        if isinstance(match, Refusal):
            assert "could not be written" not in match.reason, f"{loop.text}\n{match.reason}"
            continue
        after = apply_edits(region.source, match.edits).decode()
        rewritten += 1
        if not match.safe:
            continue
        tolerance = 0.0 if match.exactness is Exactness.BITS else 1e-13
        for number, make in enumerate(loop.inputs(seed)):
            try:
                same(Outcome(loop.text, make()), Outcome(after, make()), tolerance)
            except AssertionError as problem:
                pytest.fail(f"seed {seed}, input {number}: {problem}\n{after}")
    assert rewritten >= FEWEST


def test_a_wrong_rewrite_is_noticed() -> None:
    """The comparison above, on a sum that starts one element late."""
    before = "def k(a):\n    s = 0.0\n    for v in a:\n        s += v\n    return s\n"
    wrong = "def k(a):\n    return float(sum(a[1:]))\n"
    with pytest.raises(AssertionError):
        same(Outcome(before, ([1.0, 2.0],)), Outcome(wrong, ([1.0, 2.0],)), 0.0)
    partial = "def k(a):\n    a[:] = [1 / x for x in a]\n"
    stepwise = "def k(a):\n    for i in range(len(a)):\n        a[i] = 1 / a[i]\n"
    with pytest.raises(AssertionError):
        same(Outcome(stepwise, ([2.0, 0.0],)), Outcome(partial, ([2.0, 0.0],)), 0.0)

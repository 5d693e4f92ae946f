"""Array code that stops where Python raises: the loop starts again, and raises as it did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import assert_same, chain_for, run, tolerance_for

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.codegen.restated.as_arrays import emit_restated_arrays
from gpuadvise.model import Exactness, Match, Refusal
from gpuadvise.patch import apply_edits
from gpuadvise.verify.claims import broken_step

XS = "[0.5 + (k * 7919 % 101) / 64 for k in range(300)]"
ODD = ("[]", "[1.5]", "[0.0] * 9", "[1.5, -3.0] * 9", "[float('nan'), 0.0] * 9", "[1e200] * 9")
MORE = ("[float('inf'), 0.0] * 9", "[1, 2, 3]", "[1.5, None]", "[1.5, -0.0, 4.0]", "(1.5, 2.5)")


@dataclass(frozen=True)
class Program:
    """A function ``k(xs, out)`` that raises for some lists."""

    body: str
    out: str = "[0.0] * 300"


PROGRAMS = {
    "root of a difference": Program(
        "for i in range(len(xs)):\n        t = xs[i] * xs[i] - 0.25\n        out[i] = math.sqrt(t)"
    ),
    "quotient of sums": Program(
        "for i in range(len(xs)):\n        s = 0.0\n        for j in range(len(xs)):\n"
        "            s += xs[i] - xs[j]\n        out[i] = 1.0 / s"
    ),
    "power of a quotient": Program(
        "for i in range(len(xs)):\n        out[i] = (xs[i] / (xs[i] + 1.0)) ** 2.5"
    ),
    "power of what it computes": Program(
        "for s in range(3):\n        for i in range(len(xs)):\n"
        "            xs[i] = xs[i] * 0.5 + out[i] ** 2\n            out[i] = xs[i]",
        "[0.5] * 300",
    ),
    "whole parts": Program(
        "for i in range(len(xs)):\n        out[i] = int(xs[i] * 7.0)", "[0] * 300"
    ),
    "cells": Program(
        "met = 0\n    for x in xs:\n        b = int(x * x) % 5\n        out[b] += 1\n"
        "        if x < 1.0:\n            met += 1\n    return met",
        "[0] * 5",
    ),
    "a count that goes on": Program(
        "n = 3\n    for i in range(len(xs)):\n        t = math.sqrt(xs[i] * xs[i] - 0.25)\n"
        "        if t < 1.0:\n            n += 1\n            out[i] = t\n    return n"
    ),
    "between others": Program(
        "for i in range(len(xs)):\n        s = 0.0\n        for j in range(len(xs)):\n"
        "            if i != j:\n                s += math.sqrt(abs(xs[i] - xs[j]) * xs[j])\n"
        "        out[i] = s"
    ),
    "appended": Program(
        "for x in xs:\n        out.append(math.log(x * x - 0.125) + math.asin(x / (1.0 + x)))", "[]"
    ),
}


def text_of(program: Program) -> str:
    return f"import math\n\n\ndef k(xs, out):\n    {program.body}\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_raises_where_the_loop_does(name: str, tmp_path: Path) -> None:
    """Results, what is half filled, exceptions and warnings are the original's."""
    program = PROGRAMS[name]
    text = text_of(program)
    region = chain_for(text, "k", inputs=f"args = ({XS}, {program.out})")[0]
    match = emit(region)
    if isinstance(match, Refusal):
        match = emit_restated_arrays(region)
    assert isinstance(match, Match) and match.safe, match
    data = apply_edits(region.source, match.edits)
    assert broken_step(region.source, data, match) is None
    assert b"FloatingPointError" in data, data.decode()
    exact = match.exactness is Exactness.BITS
    for xs in (XS, *ODD, *MORE):
        for out in (program.out, "[]", "[0.0, 0.0]"):
            inputs = f"args = ({xs}, {out})"
            before = run(text, "k", inputs=inputs, folder=tmp_path)
            after = run(data.decode(), "k", inputs=inputs, folder=tmp_path)
            tolerance = 0.0 if exact else tolerance_for(match.reduction_length)
            assert_same(before, after, tolerance=tolerance)


@pytest.mark.parametrize(
    ("body", "out"),
    [
        # what an array got before the exception stays in it
        (
            "for i in range(len(xs)):\n        out[i] = math.sqrt(xs[i] * xs[i] - 0.25)",
            "np.ones(9)",
        ),
        # the elements that are left out would stop it always
        (
            "for i in range(len(xs)):\n        if xs[i] > 0.75:\n"
            "            out[i] = math.sqrt(xs[i] * xs[i] - 0.5)",
            "[0.0] * 300",
        ),
    ],
)
def test_what_cannot_start_again(body: str, out: str) -> None:
    """Refused, as the exception would find other values than the loop leaves."""
    text = text_of(Program(body))
    region = chain_for(text, "k", inputs=f"args = ({XS}, {out})")[0]
    assert isinstance(emit(region), Refusal)

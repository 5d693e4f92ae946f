"""Scalars of each element that a loop updates under a condition: all at once, as the loop does."""

from __future__ import annotations

import random

import numpy as np
import pytest
from harness import assert_same, region_for, run
from numpy_cases import Cases, check

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Refusal
from gpuadvise.patch import apply_edits

rng = np.random.default_rng(11)
CASES = Cases()
NEAREST = """
def k(x, y, out):
    for i in range(len(x)):
        best = 1e300
        second = 1e300
        label = -1
        for c in range(len(y)):
            d = x[i] - y[c]
            d = d * d
            if d < best:
                {first}
            elif d < second:
                second = d
        out[i] = {last}
"""
DATA = (rng.random(60), rng.random(35), np.zeros(60))
CASES.add(
    "the two nearest",
    NEAREST.format(first="second = best\n                best = d", last="second - best"),
    DATA,
)
CASES.add(
    "the nearest and its number",
    NEAREST.format(first="best = d\n                label = c", last="label + best"),
    DATA,
)
CASES.add(
    "what was nearest before",
    NEAREST.format(first="out[i] = best\n                best = d", last="out[i] + second"),
    DATA,
)
CASES.add(
    "exchanged",
    """
def k(x, y, out):
    for i in range(len(x)):
        a = 0.0
        b = 1.0
        for c in range(len(y)):
            if x[i] < y[c]:
                t = a
                a = b
                b = t + x[i]
        out[i] = a + 10.0 * b
""",
    DATA,
)
CASES.add(
    "labels are integers",
    """
def k(x, y, out):
    for i in range(len(x)):
        best = x[i] + 9.0
        label = 0
        for c in range(len(y)):
            d = abs(x[i] - y[c])
            if d < best:
                best = d
                label = c
        out[i] = label
""",
    (rng.random(60), rng.random(35), np.zeros(60, dtype=int)),
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_updates_under_a_condition(case):
    check(case)


def random_updates(seed):
    """A nest whose inner loop updates scalars, some of them under conditions."""
    choice = random.Random(seed)
    names = ["a", "b", "c"]

    def value():
        one, two = choice.choice([*names, "d"]), choice.choice([*names, "d", "0.5"])
        return choice.choice([one, f"{one} + {two}", f"0.5 * {one} - {two}"])

    def updates(indent):
        return [
            " " * indent + f"{choice.choice(names)} = {value()}"
            for _ in range(choice.randint(1, 3))
        ]

    lines = ["def k(x, y, out):", "    for i in range(len(x)):"]
    lines += [f"        {name} = {choice.choice(['0.0', '1.0', 'x[i]'])}" for name in names]
    lines += ["        for j in range(len(y)):", "            d = x[i] - y[j]"]
    for _ in range(choice.randint(1, 3)):
        left, right = choice.choice([*names, "d"]), choice.choice([*names, "0.1"])
        lines += [f"            if {left} < {right}:", *updates(16)]
        if choice.random() < 0.5:
            lines += ["            else:", *updates(16)]
        if choice.random() < 0.3:
            lines += updates(12)
    lines += [f"            if d > 0.2:\n                out[i] = {choice.choice(names)}"]
    lines += ["        out[i] = out[i] + a + 2.0 * b + 4.0 * c"]
    return "\n".join(lines) + "\n"


def test_random_updates():
    written = 0
    for seed in range(60):
        text = random_updates(seed)
        args = (rng.random(33), rng.random(36) - 0.3, np.zeros(33))
        region = region_for(text, "k", args)
        match = emit(region)
        if isinstance(match, Refusal):
            continue
        written += 1
        after = apply_edits(region.source, match.edits).decode()
        with np.errstate(all="ignore"):
            old, new = run(text, "k", args), run(after, "k", args)
        try:
            assert_same(old, new, compare_warnings=False)
        except AssertionError as problem:
            raise AssertionError(f"seed {seed}: {problem}\n{after}") from None
    assert written > 30

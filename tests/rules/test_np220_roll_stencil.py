from __future__ import annotations

import numpy as np
import pytest
from ast_rule_harness import plain, region, rewritten

from gpuadvise.api import Match, Rewrites
from gpuadvise.edits import apply_edits
from gpuadvise.rules.np220_roll_stencil import CASES, roll_stencil

HEAD = "import numpy as np\n\n\n"

# Functions of an array; each is called in a hot loop.
STENCILS = {
    "five_point": (
        "def step(u):\n    return (np.roll(u, 1, 0) + np.roll(u, -1, 0)\n"
        "            + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u)\n"
    ),
    "weights": (
        "def step(u):\n    return 0.2 * np.roll(u, 1, axis=0) - 0.3 * np.roll(u, shift=-1, axis=0)"
        " + np.roll(u, 2, axis=1) / 3\n"
    ),
    "tuple_axes": (
        "def step(u):\n    return np.roll(u, (1, 1), axis=(0, 1)) + np.roll(u, (-1, 2), (0, 1))"
        " + np.roll(u, 1, -1)\n"
    ),
    "nested": (
        "def step(u):\n    n = np.roll(np.roll(u, 1, 0), 1, 1) + np.roll(np.roll(u, -1, 1), 1, 0)"
        " + np.roll(u, 3, 0) + u\n    return n * 2\n"
    ),
    "named_copies": (
        "def step(u):\n    up = np.roll(u, 1, 0)\n    down = np.roll(u, -1, 0)  # the other way\n"
        "    left = np.roll(u, 1, 1)\n    return up + down * 2 - left\n"
    ),
    "generator": (
        "def step(u):\n    return sum(np.roll(np.roll(u, i, 0), j, 1) for i in (-1, 0, 1)"
        " for j in range(-1, 2) if i or j)\n"
    ),
    "loops": (
        "def step(u):\n    total = np.zeros(u.shape)\n    for di in (-1, 0, 1):\n"
        "        for dj in (-1, 0, 1):\n            if di or dj:\n"
        "                total += np.roll(u, (di, -dj), axis=(0, 1))\n    return total\n"
    ),
    "comparison": (
        "def step(u):\n    return (np.roll(u, 1, 0) > u) & (np.roll(u, -1, 0) > u)"
        " | (np.maximum(np.roll(u, 1, 1), u) == 1)\n"
    ),
    "written_back": (
        "def step(u):\n    u[1:] = (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1))[1:]\n"
        "    return u\n"
    ),
    "one_line_if": (
        "def step(u):\n    a = u * 1\n    v = np.where(u > 0, np.roll(u, 1, 0), np.roll(u, 1, 1))"
        " + np.abs(np.roll(u, -1, 0) + np.roll(u, -1, 1))\n    return a + v\n"
    ),
}
ARRAYS = {
    "floats": lambda: np.random.default_rng(1).normal(size=(7, 9)),
    "float32": lambda: np.random.default_rng(1).normal(size=(4, 5)).astype(np.float32),
    "cells": lambda: np.random.default_rng(1).integers(0, 2, (12, 11)),
    "large_ints": lambda: np.random.default_rng(1).integers(-(2**62), 2**62, (6, 6)),
    "just_too_large": lambda: np.full((5, 5), 86),
    "negative": lambda: np.random.default_rng(1).integers(-3, 3, (6, 8)).astype(np.int16),
    "wraps": lambda: np.random.default_rng(1).integers(0, 256, (6, 8)).astype(np.uint8),
    "int8": lambda: np.full((5, 6), 30, np.int8),
    "bools": lambda: np.random.default_rng(1).random((6, 5)) < 0.5,
    "one": lambda: np.ones((1, 1)),
    "thin": lambda: np.arange(5).reshape(1, 5),
    "two": lambda: np.arange(4.0).reshape(2, 2),
    "empty": lambda: np.ones((0, 3)),
    "fortran": lambda: np.asfortranarray(np.random.default_rng(1).normal(size=(5, 4))),
    "strided": lambda: np.random.default_rng(1).normal(size=(10, 8))[::2, ::2],
    "nan": lambda: np.array([[np.nan, 1.0, -0.0], [np.inf, 2.0, 0.0], [0.0, -np.inf, 3.0]]),
    "complex": lambda: np.random.default_rng(1).normal(size=(5, 4)) * (1 + 2j),
    "three": lambda: np.random.default_rng(1).normal(size=(3, 4, 5)),
    "masked": lambda: np.ma.masked_greater(np.random.default_rng(1).normal(size=(5, 4)), 0.5),
}


def run(text: str, array: np.ndarray) -> object:
    namespace: dict[str, object] = {}
    exec(compile(text, "program.py", "exec"), namespace)
    given = array.copy(order="K") if array.base is None else array
    before = given.copy()
    try:
        with np.errstate(all="ignore"):
            result = namespace["step"](given)  # type: ignore[operator]
    except Exception as error:
        return type(error)
    flags = result.flags if isinstance(result, np.ndarray) else None
    order = (flags.c_contiguous, flags.f_contiguous) if flags is not None else None
    given_after = plain(np.asarray(given))
    if array.base is not None:
        array[...] = before
    return plain(result), order, given_after


def made(name: str) -> tuple[str, str]:
    text = (
        HEAD + STENCILS[name] + "\n\ndef run(u, n):\n    for _ in range(n):\n        u = step(u)\n"
    )
    return text, rewritten(roll_stencil, text, "run")


@pytest.mark.parametrize("name", STENCILS)
@pytest.mark.parametrize("array", ARRAYS)
def test_every_array_gives_the_same(name, array):
    text, new = made(name)
    assert "_wrapped = " in new
    assert run(new, ARRAYS[array]()) == run(text, ARRAYS[array]())


@pytest.mark.parametrize("name", STENCILS)
def test_the_slices_are_used(name):
    """Without its second branch the program still runs: ordinary arrays take the first."""
    _, new = made(name)
    text, _ = made(name)
    spoilt = new.replace("np.roll", "np.no_such_function")
    assert run(spoilt, ARRAYS["floats"]()) == run(text, ARRAYS["floats"]())


def test_small_numbers_are_added_in_bytes_and_only_these():
    _, new = made("generator")
    assert "255" not in new and "<= 28" in new
    spoilt = new.replace("<= 28", "<= 99")
    text, _ = made("generator")
    forty = np.full((5, 5), 40)
    assert run(spoilt, forty) != run(text, forty)
    assert run(new, forty) == run(text, forty)


NOT_REWRITTEN = {
    "two_rolls": "    return np.roll(u, 1, 0) + np.roll(u, -1, 0)\n",
    "unknown_call": "    return np.roll(u, 1, 0) + f(u) + np.roll(u, -1, 0) + np.roll(u, 1, 1)\n",
    "sum_of_copy": "    return np.roll(u, 1, 0).sum() + np.roll(u, -1, 0) + np.roll(u, 1, 1)\n",
    "variable_shift": "    return np.roll(u, k, 0) + np.roll(u, -k, 0) + np.roll(u, k, 1)\n",
    "returned": "    return np.roll(u, 1, 0), np.roll(u, -1, 0), np.roll(u, 1, 1)\n",
    "mixed_flat": "    return np.roll(u, 1) + np.roll(u, -1, 0) + np.roll(u, 1, 1)\n",
    "same_axis_twice": (
        "    return np.roll(np.roll(u, 1, 0), 1, -2) + np.roll(u, -1, 0) + np.roll(u, 1, 1)\n"
    ),
    "changed_copy": (
        "    a = np.roll(u, 1, 0)\n    b = np.roll(u, -1, 0)\n    c = np.roll(u, 1, 1)\n"
        "    a += 1\n    return a + b + c\n"
    ),
    "kept_copy": (
        "    a = np.roll(u, 1, 0)\n    b = np.roll(u, -1, 0)\n    c = np.roll(u, 1, 1)\n"
        "    keep.append(a)\n    return a + b + c\n"
    ),
    "in_place_loop": "    for d in (-1, 0, 1):\n        u += np.roll(u, d, 0)\n    return u\n",
    "alias_loop": (
        "    total = u\n    for d in (-1, 0, 1):\n        total += np.roll(u, d, 0)\n    return u\n"
    ),
    "rebound_shift": (
        "    t = np.zeros(3)\n    for d in (-1, 0, 1):\n        d = 2 * d\n"
        "        t += np.roll(u, d, 0)\n    return t\n"
    ),
    "other_i": (
        "    i = 5\n    return sum(np.roll(u, i, 0) for i in (0, 1, 2)) + np.roll(u, i, 1)\n"
    ),
    "other_u": "    return max(np.roll(u, 1, 0) * np.roll(u, 2, 0) for u in t)\n",
    "walrus": "    return np.roll(u, 1, 0) + (u := -u) + np.roll(u, -1, 0) + np.roll(u, 1, 1)\n",
    "semicolon": "    a = 1; return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1)\n",
    "two_arrays": (
        "    return np.roll(u, 1, 0) + np.roll(v, 1, 0) + np.roll(u, -1, 0) + np.roll(v, -1, 0)\n"
    ),
    "own_min": (
        "    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1)\n\n\nmin = 3\n"
    ),
    "writes_elsewhere": "    for d in (-1, 0, 1):\n        v[d] = np.roll(u, d, 0) * 2\n",
    "rebinds_array": "    for d in (-1, 0, 1):\n        u = np.roll(u, d, 0) * 2\n    return u\n",
    "leaves_loop": "    for d in (-1, 0, 1):\n        return np.roll(u, d, 0) * 2\n",
    "second_name": (
        "    t = np.zeros(3)\n    u = t\n    for d in (-1, 0, 1):\n        t += np.roll(u, d, 0)\n"
    ),
    "two_names": (
        "    u = t = np.zeros(3)\n    for d in (-1, 0, 1):\n        t += np.roll(u, d, 0)\n"
    ),
    "text_over_lines": (
        "    return (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1), '''a\nb''')\n"
    ),
    "property": (
        "    return np.roll(m.flip, 1, 0) + np.roll(m.flip, -1, 0) + np.roll(m.flip, 1, 1)\n\n\n"
        "def flip(self):\n    return 1\n"
    ),
}


@pytest.mark.parametrize("name", NOT_REWRITTEN)
def test_not_rewritten(name):
    text = HEAD + "def step(u):\n" + NOT_REWRITTEN[name]
    text += "\n\ndef run(u, n):\n    for _ in range(n):\n        u = step(u)\n"
    answer = roll_stencil(region(text, "run"))
    if isinstance(answer, Match):
        pytest.fail(apply_edits(region(text, "run").source, answer.edits).decode())


def test_one_dimension_and_attributes_in_a_method():
    text = HEAD + (
        "class Wave:\n    def __init__(self, n):\n        self.u = np.sin(np.arange(n) / 3)\n\n"
        "    def step(self):\n        self.u = self.u + 0.1 * (np.roll(self.u, 1) - 2 * self.u"
        " + np.roll(self.u, -1)) + np.roll(self.u, 2)\n\n"
        "    def run(self, n):\n        for _ in range(n):\n            self.step()\n"
        "        return self.u\n\n\ndef step(u):\n    return Wave(len(u)).run(4)\n"
    )
    made_region = region(text, "run")
    answer = roll_stencil(made_region)
    assert isinstance(answer, Match)
    new = apply_edits(made_region.source, answer.edits).decode()
    assert "np.empty(self.u.shape[0] + 3, self.u.dtype)" in new
    assert "u_wrapped[:2] = u_wrapped[-3:-1]" in new
    assert run(new, np.ones(9)) == run(text, np.ones(9))


def test_tabs_and_crlf_survive():
    text = (HEAD + STENCILS["named_copies"]).replace("    ", "\t").replace("\n", "\r\n")
    text += "\r\nfor _ in range(3):\r\n\tprint(step(np.ones((3, 3))).sum())\r\n"
    new = rewritten(roll_stencil, text)
    assert "\n" not in new.replace("\r\n", "") and "    " not in new
    assert run(new, ARRAYS["floats"]()) == run(text, ARRAYS["floats"]())


@pytest.mark.parametrize("case", [c for c in CASES if isinstance(c, Rewrites)])
def test_cases_hold_without_observation(case):
    new = rewritten(roll_stencil, case.before, case.function)
    for part in case.contains:
        assert part in new


def test_rolled_copies_that_are_module_variables_may_be_read_by_anyone():
    text = HEAD + (
        "u = np.ones((3, 3))\nfor _ in range(3):\n    a = np.roll(u, 1, 0)\n"
        "    b = np.roll(u, -1, 0)\n    c = np.roll(u, 1, 1)\n    u = a + b + c\n"
    )
    assert roll_stencil(region(text)) is None


def test_a_rewritten_program_is_left_alone():
    _, new = made("five_point")
    assert roll_stencil(region(new, "run")) is None

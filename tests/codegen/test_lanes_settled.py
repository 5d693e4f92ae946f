"""Variables that start as an int and become floats or complex numbers, in lanes of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import assert_same, region_for, run
from test_lanes import by_arrays, refusal, rewritten

from gpuadvise.loopnest.ir import Nest
from gpuadvise.loopnest.settled import settled

RE, IM = np.linspace(-2.0, 0.6, 19), np.linspace(-1.2, 1.2, 17)
ODD = np.array([0.0, -0.0, np.nan, 2.0, -2.0, 1e200, np.inf])
PROGRAMS: dict[str, tuple[str, tuple[tuple[Any, ...], ...]]] = {
    "complex128": (
        """\
def escape(c, limit):
    z = 0
    n = 0
    while abs(z) <= 2 and n < limit:
        z = z * z + c
        n += 1
    return n


def f(re, im, limit, out):
    for i in range(len(re)):
        for j in range(len(im)):
            out[i, j] = escape(re[i] + 1j * im[j], limit)
    return out
""",
        (
            (RE, IM, 60, np.zeros((19, 17))),
            (ODD, ODD, 9, np.zeros((7, 7))),
            (RE, IM[:0], 60, np.zeros((19, 0))),
            (RE, IM, 0, np.zeros((19, 17), dtype=int)),
        ),
    ),
    "complex of Python": (
        """\
def f(width, height, limit):
    rows = []
    for y in range(height):
        row = []
        for x in range(width):
            c = complex(3.0 * x / width - 2, 2.4 * y / height - 1.2)
            z = 0
            steps = 0
            for n in range(limit):
                if abs(z) > 2.0:
                    break
                z = z ** 2 + c
                steps = n
            row.append(steps)
        rows.append(row)
    return rows
""",
        ((20, 20, 50), (1, 1, 1), (7, 0, 3)),
    ),
    "a sum with a way out": (
        """\
def f(values, steps, limit, out):
    for i in range(len(values)):
        s = 0
        k = 0
        while s < limit and k < len(steps):
            s = s + values[i] * steps[k]
            k += 1
        out[i] = s
    return out
""",
        (
            (np.linspace(0.1, 3.0, 400), np.linspace(0.5, 1.5, 30), 9.0, np.zeros(400)),
            (ODD, np.linspace(-1.0, 1.0, 9), 2.5, np.zeros(7)),
            (RE, IM, -1.0, np.ones(19)),
        ),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_type_from_the_start(name: str) -> None:
    text, argument_sets = PROGRAMS[name]
    new, _ = rewritten(text, "f", argument_sets[0])
    assert_same(run(text, "f", argument_sets[0]), run(by_arrays(new), "f", argument_sets[0]))
    for args in argument_sets[1:]:
        with np.errstate(all="ignore"):
            assert_same(run(text, "f", args), run(new, "f", args))


HEAD = "def f(x, m, out, found):\n    for i in range(len(x)):\n        t = 0\n        k = 0\n"
LOOP = "        while k < m:\n            {}\n            k += 1\n"
ARGUMENTS = (np.linspace(-1.0, 1.0, 9), 4, np.zeros(9), [0.5])


def joined(step: str, end: str, args: tuple[Any, ...] = ARGUMENTS) -> tuple[set[str], set[str]]:
    """Variables of two types before and after."""
    region = region_for(HEAD + LOOP.format(step) + f"        {end}\n", "f", args)
    assert isinstance(region.nest, Nest), region.nest
    return set(region.nest.joined), set(settled(region.nest).joined)


@pytest.mark.parametrize("step", ["t = t + x[i]", "t = t * x[k] + x[i]", "t = t * t - x[i]"])
def test_nobody_can_tell(step: str) -> None:
    assert joined(step, "out[i] = t") == ({"t"}, set())


@pytest.mark.parametrize(
    ("step", "end"),
    [
        ("t = t + x[i]", "found.append(t)"),  # [0, 0.25]
        ("t = t + x[i]", "out[i] = -t"),  # -0 is 0
        ("t = t + x[i]", "out[i] = 1 / (t + 1)"),  # by an int: another exception
        ("t = t + x[i] if k > 1 else t * -1", "out[i] = t"),  # 0 * -1 is 0
        ("t = t + x[i] if k > 1 else t + k", "out[i] = t"),  # ints of any size
        ("t = t + x[i] * (t * -2)", "out[i] = t"),
        ("t = t + x[i] * (t * (t - 5))", "out[i] = t"),
    ],
)
def test_somebody_can_tell(step: str, end: str) -> None:
    try:
        before, after = joined(step, end)
    except AssertionError:
        return  # the lowering refuses it
    assert after == before and "t" in before


def test_read_behind_the_loop() -> None:
    text = HEAD + LOOP.format("t = t + x[i]") + "        out[i] = t\n    return t\n"
    nest = region_for(text, "f", ARGUMENTS).nest
    assert isinstance(nest, Nest) and "t" in settled(nest).joined


def test_an_int_that_shows_is_refused() -> None:
    text = (
        "def f(x, limit, out):\n    for i in range(len(x)):\n        t = 0\n        k = 0\n"
        "        while t < 3 and k < limit:\n            t = -t + x[i]\n            k += 1\n"
        "        out[i] = k\n"
    )
    args = (np.linspace(-1.0, 1.0, 400), 40, np.zeros(400))
    assert "the type of t differs between paths" in refusal(text, "f", args)

"""Small functions are compiled into the kernel that calls them, with the same results."""

from __future__ import annotations

import re

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.nb_inline import folded
from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

DISTANCES = """\
import math


def haversine(lat1, lat2):
    a = math.sin(lat2 - lat1) ** 2 + math.cos(lat1) * math.cos(lat2)
    return math.asin(math.sqrt(a))


def distances(lats, out):
    for i in range(len(lats)):
        for j in range(len(lats)):
            out[i, j] = haversine(lats[i], lats[j])
"""


def emitted(text: str, function: str, args: tuple[object, ...], *, parallel: bool = False) -> str:
    region = region_for(text, function, args)
    match = emit(region, parallel=parallel)
    assert isinstance(match, Match), match
    return apply_edits(region.source, match.edits).decode()


def decorators(text: str) -> dict[str, str]:
    """Name of a compiled function -> the options of its decorator."""
    return {m[2]: m[1] for m in re.finditer(r"njit\((.*)\)\ndef (\w+)", text)}


@pytest.mark.parametrize("lats", [[0.1, 0.4, 0.7], [0.1, 3.0, np.inf], [np.nan, 0.2, 4.0], []])
def test_all_but_the_kernel_is_compiled_into_it(lats: list[float]) -> None:
    seen = (np.array([0.1, 0.4, 0.7]), np.zeros((3, 3)))
    after = emitted(DISTANCES, "distances", seen)
    found = decorators(after)
    kernels = {name for name, options in found.items() if "cache=True" in options}
    assert kernels == {"_distances_kernel"} and len(found) == 7
    assert all('inline="always"' in found[name] for name in found.keys() - kernels)
    args = (np.array(lats), np.zeros((len(lats), len(lats))))
    assert_same(run(DISTANCES, "distances", args), run(after, "distances", args))


def test_threads_call_what_raises() -> None:
    text = """\
def helper(x, y):
    if x > y:
        return x - y
    return y * 0.5


def far(x, out):
    for i in range(len(x)):
        out[i] = helper(x[i], 2.0)
"""
    args = (np.arange(9.0), np.zeros(9))
    assert "inline" in emitted(text, "far", args)
    assert "inline" not in emitted(text, "far", args, parallel=True)


# ----------------------------------------------------------------- which ones
def part(name: str, *lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"@njit(cache=True)\ndef {name}(x):\n{body}"


def inlined(parts: list[str], kernel: str) -> set[str]:
    options = decorators("".join(folded(parts, kernel)))
    return {name for name in options if "inline" in options[name]}


LONG = ["x = x + 1"] * 20
KERNEL = "@njit(cache=True)\ndef kernel(x):\n    "


def test_what_is_called_once_is_copied_however_long() -> None:
    parts = [part("long", *LONG, "return x")]
    assert inlined(parts, f"{KERNEL}return long(x)\n") == {"long"}
    assert inlined(parts, f"{KERNEL}return long(x) + long(x + 1)\n") == set()
    assert folded(parts, f"{KERNEL}return long(x) + long(x + 1)\n") == parts


def test_a_short_function_is_copied_twice() -> None:
    parts = [part("short", "return x + 1")]
    assert inlined(parts, f"{KERNEL}return short(x) + short(x + 1)\n") == {"short"}
    assert inlined(parts, f"{KERNEL}return short(x) + short(short(x) + 1)\n") == set()
    six = ['"""What it does."""', *["x = x + 1"] * 5, "return x"]
    twice = f"{KERNEL}return six(x) + six(x + 1)\n"
    assert inlined([part("six", *six)], twice) == {"six"}
    assert inlined([part("six", "x = x + 1", *six[1:])], twice) == set()


def test_copies_of_copies_count() -> None:
    short = part("short", "return x + 1")
    twice = part("twice", "return short(x) + short(x + 1)")
    kernel = f"{KERNEL}return twice(x) + twice(x + 1)\n"
    assert inlined([short, twice], kernel) == {"twice"}, "four of short() would be"
    long = part("twice", *LONG, "return short(x) + short(x + 1)")
    assert inlined([short, long], kernel) == {"short"}


def test_names_that_only_begin_alike_are_other_functions() -> None:
    parts = [part("log", *LONG, "return x"), part("log2", *LONG, "return x")]
    assert inlined(parts, f"{KERNEL}return log2(x) + log(x)\n") == {"log", "log2"}

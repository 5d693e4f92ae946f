"""Loops that sort short lists."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

HEAD = """\
import numpy as np


"""
CASES = (
    Case(
        name="median",
        text=HEAD
        + """\
def median(image):
    h, w = image.shape
    out = image.copy()
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            window = []
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    window.append(image[y + dy, x + dx])
            window.sort()  # nine of them
            out[y, x] = window[4]
    return out
""",
        seen="(np.random.default_rng(3).integers(0, 255, (9, 8)).astype(np.uint8),)",
        others=(
            "(np.zeros((2, 5), np.uint8),)",
            "(np.random.default_rng(3).random((6, 6)),)",
            "(np.full((4, 4), np.nan),)",
        ),
        contains=("while place > 0 and value < window[place - 1]:",),
    ),
    Case(
        name="despike",
        text=HEAD
        + """\
def despike(signal, half, limit):
    out = list(signal)
    hits = 0
    for i in range(half, len(signal) - half):
        window = sorted(signal[i - half : i + half + 1])
        gap = sorted([abs(v - window[half]) for v in window])[half]
        if abs(signal[i] - window[half]) > limit * gap:
            out[i] = window[half]
            hits += 1
    return out, hits
""",
        seen="([1.0, 2.0, 9.0, 1.5, 0.5, -0.0, 0.0, 2.0, 3.0], 1, 1.5)",
        others=(
            "([1.0, 2.0, 9.0, float('nan'), 0.5, 2.0, 0.25], 2, 1.5)",
            "([0.0, -0.0, 0.0, -0.0, 0.0], 1, -1.0)",
            "([1.0], 0, 1.5)",
            "([], 0, 1.5)",
            "([1.0, 2.0, 3.0], -1, 1.5)",
            "((1.0, 2.0, 9.0, 3.0), 1, 1.5)",
            "([1, 2, 9, 3], 1, 1.5)",
        ),
        contains=(
            "return place // 0",
            "for i in range(half, len(signal) - half):\n        window = s",
        ),
    ),
    Case(
        name="lowest",
        text=HEAD
        + """\
def lowest(xs):
    out = []
    for i in range(len(xs) - 2):
        out.append(sorted(xs[i : i + 3])[0])
    return out
""",
        seen="([0.0, -0.0, 1.0, -0.0, 0.0, 2.0],)",
        others=("([-0.0, 0.0, 0.0, -0.0],)", "([float('nan'), 1.0, 0.5, 2.0],)", "([],)"),
    ),
    Case(
        name="medians",
        text=HEAD
        + """\
def medians(rows):
    total = 0
    for row in rows:
        ranked = sorted(row)
        total += ranked[len(ranked) // 2] - ranked[0]
    return total
""",
        seen="([[3, 1, 2], [9, 7, 8], [5, 5, 1]],)",
        others=("([],)", "([[], [1]],)", "([[3.5, 1.0]],)", "([[2**70, 1]],)"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_runs_as_the_original(case: Case, tmp_path: Path) -> None:
    """Results, arguments, exceptions and warnings are those of the original."""
    check(case, tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "window = sorted(xs[i : i + 3], reverse=True)",
        "window = sorted(xs[i : i + 3], key=abs)",
        "xs.sort()",
    ],
)
def test_refused(line: str, tmp_path: Path) -> None:
    """Other orders, and lists of the caller's."""
    text = f"""\
def k(xs):
    total = 0.0
    window = xs
    for i in range(len(xs) - 3):
        {line}
        total += window[1]
    return total
"""
    found = answer(Case(name="k", text=text, seen="([3.0, 1.0, 2.0, 5.0, 4.0],)"), tmp_path)
    assert isinstance(found, Refusal)


def test_own_sorted_function(tmp_path: Path) -> None:
    """A function of the user's by the name of Python's."""
    text = """\
def sorted(xs):
    return xs[::-1]


def k(xs):
    total = 0.0
    for i in range(len(xs) - 3):
        window = sorted(xs[i : i + 3])
        total += window[0]
    return total
"""
    found = answer(Case(name="k", text=text, seen="([3.0, 1.0, 2.0, 5.0, 4.0],)"), tmp_path)
    assert isinstance(found, Refusal)


def random_program(seed: int) -> Case:
    """Windows of lists and arrays, sorted in one way or another, and something made of them."""
    pick = random.Random(seed).choice
    width = pick((2, 3, 4, 5))
    made = pick((
        ["w = sorted(xs[i : i + width])"],
        ["w = xs[i : i + width]", "w.sort()"],
        ["w = [x * scale for x in xs[i : i + width]]", "w.sort()"],
        ["w = []", "for j in range(width):", "    w.append(xs[i + j] - xs[i])", "w.sort()"],
        ["w = sorted(abs(x) for x in xs[i : i + width])"],
        ["w = sorted(xs[i : i + width] )", "w = sorted([x / w[0] for x in w])"],
    ))  # fmt: skip
    place = pick(("width // 2", "0", "-1", "width - 1", "width", "len(w) // 2"))
    used = pick((
        f"out.append(w[{place}])", f"total += w[{place}] * scale",
        f"if xs[i] > w[{place}]:\n            total += 1.0",
        f"xs[i] = w[{place}]", f"total += sorted(w)[{place}] - w[0]",
    ))  # fmt: skip
    lines = [*(f"        {line}" for line in made), f"        {used}"]
    body = "\n".join(lines)
    text = f"""\
def k(xs, width, scale):
    total = 0.0
    out = []
    for i in range(len(xs) - {pick(("width", "width + 1", "1"))}):
{body}
    return total, out, xs
"""
    kind = pick((float, float, int))
    values = [kind(pick((0.5, 1, 2, 2, -3.0, 7, 0))) for _ in range(12)]
    scale = pick(("2.0", "-1.0", "0.5"))
    others = (
        f"({[*values[:5], float('nan'), *values[5:]]}, {width}, {scale})".replace(
            "nan", "float('nan')"
        ),
        f"({[0.0, -0.0] * 5}, {width}, {scale})",
        f"({values}, 0, {scale})",
        f"({values}, {width + 1}, 0.0)",
        f"([], {width}, {scale})",
    )
    return Case(name="k", text=text, seen=f"({values}, {width}, {scale})", others=others)


def test_on_random_programs(tmp_path: Path) -> None:
    """Whatever is rewritten gives what the original gives, with NaN and -0.0 as well."""
    rewritten = 0
    for seed in SEEDS:
        case = random_program(seed)
        if not isinstance(answer(case, tmp_path), Refusal):
            check(case, tmp_path)
            rewritten += 1
    assert rewritten


SEEDS = (1, 2, 3)
"""Few: each compiles; longer runs were made by hand."""

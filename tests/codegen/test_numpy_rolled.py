"""Rows that are made in each iteration and handed on: ``previous = current``.

Each is a function, the arguments it is observed on, and others it must be right for.
"""

from __future__ import annotations

import random

import pytest
from harness import assert_same, region_for, run
from numpy_cases import Case, check

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.codegen.restated.as_arrays import emit_restated_arrays
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

_draw = random.Random(8)
A = "".join(_draw.choices("ACGT", k=130))
B = "".join(_draw.choices("ACGT", k=150))
OTHERS = [(A[:n], B[:m]) for n, m in ((0, 0), (0, 4), (3, 0), (1, 1), (7, 5))]
ODD = [("äöü", "üöäß"), ([1, 2, 3], [3, 2**70, 1]), (["x", "yy"], ["yy", "x"]), ([True], [1.5])]

APPENDED = """
def k(a, b):
    previous = list(range(len(b) + 1))
    for i, ca in enumerate(a, start=1):
        current = [i]
        for j, cb in enumerate(b, start=1):
            insert = current[j - 1] + 1
            delete = previous[j] + 1
            replace = previous[j - 1] + (ca != cb)
            current.append(min(insert, delete, replace))
        previous = current
    return previous[-1]
"""
WIKIBOOKS = """
def k(s1, s2):
    previous_row = range(len(s2) + 1)
    previous_row = list(previous_row)
    for i, c1 in enumerate(s1):
        current_row = [i + 1]
        for j, c2 in enumerate(s2):
            insertions = previous_row[j + 1] + 1
            deletions = current_row[-1] + 1
            substitutions = previous_row[j] + (c1 != c2)
            current_row.append(min(insertions, deletions, substitutions))
        previous_row = current_row
    return previous_row
"""
LOCAL = """
def k(a, b):
    m = len(b)
    prev = [0] * (m + 1)
    best = 0
    for i in range(1, len(a) + 1):
        cur = [0] * (m + 1)
        for j in range(1, m + 1):
            score = 2 if a[i - 1] == b[j - 1] else -1
            cur[j] = max(0, prev[j - 1] + score, prev[j] - 3, cur[j - 1] - 3)
            if cur[j] > best:
                best = cur[j]
        prev = cur[:]
    return best, prev
"""
GLOBAL = """
def k(x, y):
    above = [-2 * j for j in range(len(y) + 1)]
    for i, p in enumerate(x, 1):
        row = [0] * len(above)
        row[0] = -2 * i
        for j in range(1, len(y) + 1):
            match = above[j - 1] + (1 if p == y[j - 1] else -1)
            row[j] = max(max(match, above[j] - 2), row[j - 1] - 2)
        above = row
    return above[-1]
"""
FARTHEST = """
def k(heights, widths):
    best = [0] * len(widths)
    for h in heights:
        new = [h]
        for j in range(1, len(widths)):
            new.append(3 + max(new[j - 1], best[j] + h, widths[j]))
        best = new
    return best
"""


@pytest.mark.parametrize("text", [APPENDED, WIKIBOOKS, LOCAL, GLOBAL])
def test_distances_over_two_rows(text: str) -> None:
    after = check(Case(text, (A, B), [*OTHERS, *ODD]))
    assert ".accumulate(" in after and "np.arange(" in after


def test_rows_of_numbers() -> None:
    numbers = [_draw.randint(-9, 9) for _ in range(300)]
    large = [(numbers[:5], [2**40, 3, 2**62]), ([2**62, 2**63], numbers[:9]), ([], []), ([1], [])]
    after = check(Case(FARTHEST, (numbers[:120], numbers), [*large, ([1.5], [1, 2])]))
    assert "np.maximum.accumulate(" in after and "steps = 3 * np.arange(" in after


def test_a_first_row_of_another_length_stays_with_the_loop() -> None:
    """Later rows are as long as the first one only if that fits the loop."""
    text = APPENDED.replace("(a, b)", "(a, b, size)").replace("range(len(b) + 1)", "range(size)")
    text = text.replace("return previous[-1]", "return previous")
    sizes = [(x, y, len(y) + more) for x, y in ((A, B), ("", B), (A[:3], B[:4])) for more in (0, 3)]
    after = check(Case(text, (A, B, len(B) + 1), [*sizes, (A[:2], B[:3], 2**4)]))
    assert "len(previous) == len(b) + 1" in after


def test_the_element_that_was_just_appended() -> None:
    text = """
def k(a, b):
    above = [0] * (len(b) + 1)
    best = 0
    for p in a:
        row = [0]
        for j, q in enumerate(b, 1):
            row.append(max(0, row[-1] - 2, above[j - 1] + (3 if p == q else -1)))
            if row[-1] > best:
                best = row[-1]
        above = row
    return best, above
"""
    assert "np.maximum.accumulate(" in check(Case(text, (A, B), [*OTHERS, *ODD]))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        # an element that is not there yet: IndexError in the first iteration
        (("current[j - 1] + 1", "current[j] + 1"), "the loop makes or grows the list current"),
        # a row that grows faster than by one
        (
            ("        previous = current", "        current.append(0)\n        previous = current"),
            "the loop makes or grows the list current",
        ),
        # elements that a condition leaves out
        (
            (
                "            current.append(",
                "            if j > 1:\n                current.append(",
            ),
            "the loop makes or grows the list current",
        ),
        # a step of two rows at once: a product, which may leave 64 bits
        (("current[j - 1] + 1", "current[j - 1] * 2"), None),
    ],
)
def test_other_rows_are_refused(change: tuple[str, str], why: str | None) -> None:
    text = APPENDED.replace(*change)
    assert text != APPENDED
    try:
        region = region_for(text, "k", (A, B))
    except IndexError:
        return
    found = emit(region)
    assert isinstance(found, Refusal)
    assert why is None or found.reason == why


def test_a_row_that_is_no_longer_handed_on_by_its_name() -> None:
    """What was stored before the first append of this row is not read: it was another row's."""
    text = """
def k(a, b):
    last = [0] * (len(b) + 1)
    for x in a:
        row = [7] * (len(b) + 1)
        for j in range(2, len(b) + 1):
            row[j] = min(last[j] + x, row[j - 1] + 1)
        last = row
    return last
"""
    numbers = [_draw.randint(-9, 9) for _ in range(200)]
    after = check(Case(text, (numbers[:110], numbers), [([1, 2], [1]), ([], []), ([3], [4, 5, 6])]))
    assert "row_array[:] = 7" in after


SWAPPED = """
def k(a, b):
    m = len(b)
    prev = [-2 * j for j in range(m + 1)]
    cur = [0] * (m + 1)
    for i in range(1, len(a) + 1):
        cur[0] = -2 * i
        for j in range(1, m + 1):
            score = 1 if a[i - 1] == b[j - 1] else -1
            cur[j] = max(prev[j - 1] + score, prev[j] - 2, cur[j - 1] - 2)
        prev, cur = cur, prev
    return prev, cur
"""


def restated(text: str) -> str | None:
    """The text with rows that change places as arrays; None where that is refused."""
    region = region_for(text, "k", (A, B))
    match = emit_restated_arrays(region)
    if not isinstance(match, Match):
        return None
    assert match.safe
    return apply_edits(region.source, match.edits).decode()


@pytest.mark.parametrize("last", ["prev, cur", "prev[m]", "cur[0] + prev[-1]"])
def test_rows_that_change_places(last: str) -> None:
    text = SWAPPED.replace("return prev, cur", f"return {last}")
    after = restated(text)
    assert after is not None and "np.maximum.accumulate(" in after
    for args in ((A, B), (A[:4], B), *OTHERS, *ODD):
        assert_same(run(text, "k", args), run(after, "k", args))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    cur = [0] * (m + 1)\n", "    cur = [0] * (m + 1)\n    seen = [cur]\n"),
        ("    cur = [0] * (m + 1)\n", "    cur = first = [0] * (m + 1)\n"),
        ("def k(a, b):", "def k(a, b, cur=[0] * 151):"),
        ("        prev, cur = cur, prev\n", "        prev, cur = cur, prev\n        b = b[:]\n"),
    ],
)
def test_rows_that_have_other_names_stay(old: str, new: str) -> None:
    """Who else has one of the lists could tell their names from their contents."""
    text = SWAPPED.replace(old, new)
    if "cur=" in new:
        text = text.replace("    cur = [0] * (m + 1)\n", "")
    assert text != SWAPPED
    assert restated(text) is None


ROD = """
def k(u, steps, alpha):
    rod = list(u)
    n = len(rod)
    peak = 0.0
    for step in range(steps):
        new = [0.0] * n
        new[0] = rod[0]
        new[n - 1] = rod[n - 1]
        for i in range(1, n - 1):
            new[i] = rod[i] + alpha * (rod[i - 1] - 2.0 * rod[i] + rod[i + 1])
        peak = max(peak, new[0])
        rod = new
    return rod, peak
"""
WALK = """
def k(u, steps, stay):
    chance = [0.0] * len(u)
    chance[len(u) // 2] = 1.0
    for step in range(steps):
        later = []
        for x in range(len(u)):
            total = stay * chance[x]
            if x > 0:
                total += (1.0 - stay) * u[x - 1] * chance[x - 1]
            later.append(total)
        chance = later
    return chance
"""
CHAIN = """
def k(rates, steps, keep):
    share = [1.0] + [0.0] * (len(rates) - 1)
    for step in range(steps):
        fresh = [keep * share[0]]
        for s in range(1, len(rates)):
            fresh.append(keep * share[s] + rates[s] * share[s - 1])
        share = fresh
    return share
"""
RATES = [_draw.random() for _ in range(90)]
FLOATS = [
    ([], 3, 0.5),
    ([1.0], 3, 0.5),
    ([1.0, -0.0], 2, -0.0),
    (RATES, 0, 0.5),
    ([1, 2, 3, 4], 2, 0.5),
    ([0.5, 1, 2.0, 3.0], 2, 0.5),
    (RATES[:9], 3, 1),
    ((0.25, 0.5, 0.125), 3, 0.5),
]


@pytest.mark.parametrize("text", [ROD, WALK, CHAIN])
def test_rows_of_floats_that_are_made_in_every_step(text: str) -> None:
    after = check(Case(text, (RATES, 40, 0.25), FLOATS))
    odd = ([1.0, float("nan"), float("inf"), 2.0, -0.0, 1e308], 5, 0.25)  # NumPy warns of these
    assert_same(run(text, "k", odd), run(after, "k", odd), compare_warnings=False)
    assert "_array = np.zeros(" in after and ".append(" not in after.partition("else:")[0]


def test_a_row_that_is_read_behind_the_loop_stays() -> None:
    """Behind the loop two names mean one list."""
    text = ROD.replace("return rod, peak", "new[0] = 7.0\n    return rod, peak")
    region = region_for(text, "k", (RATES, 40, 0.25))
    assert isinstance(emit(region), Refusal)


BEGUN = """
def k(a, b):
    m = len(b)
    prev = list(range(m + 1))
    for i in range(1, len(a) + 1):
        cur = [i] + [0] * m
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + cost)
        prev = cur
    return prev
"""


@pytest.mark.parametrize(
    "row", ["[i] + [0] * m", "[prev[0] + 1] + [0] * len(b)", "[i, 7] + [-1] * (m)"]
)
def test_rows_that_begin_with_some_elements(row: str) -> None:
    text = BEGUN.replace("[i] + [0] * m", row)
    if "7" in row:
        text = text.replace("list(range(m + 1))", "list(range(m + 2))")
    after = restated(text)
    assert after is not None and "np.minimum.accumulate(" in after
    for args in ((A, B), (A[:4], B), *OTHERS, *ODD):
        assert_same(run(text, "k", args), run(after, "k", args))


@pytest.mark.parametrize("row", ["[i] + [0.0] * m", "[cur] + [0] * m", "[i] + [0] * (m - i)"])
def test_rows_that_begin_otherwise_stay(row: str) -> None:
    text = BEGUN.replace("[i] + [0] * m", row).replace("    for i", "    cur = 3\n    for i", 1)
    try:
        found = restated(text)
    except (IndexError, TypeError):
        return
    assert found is None


STAMPED = """
def k(cells, marks, steps):
    for step in range(steps):
        cells[0] = step
        for j in range(len(marks)):
            marks[j] = 0.5 * marks[j] + 1.0
        cells[-1] = 100 - step
    return cells, marks
"""


def test_single_elements_of_lists_beside_arrays() -> None:
    others = [([1, 2], RATES, 3), ([1], RATES[:2], 301), ([], [], 0), ([2**70, 3], RATES, 2)]
    assert "cells_array[0] = " in check(Case(STAMPED, ([5, 6, 7], RATES, 9), others))


def test_single_elements_that_are_no_bytes() -> None:
    """``cells[0] = 300`` raises in a bytearray, and not in an array."""
    region = region_for(STAMPED, "k", (bytearray(b"abc"), RATES, 9))
    assert isinstance(emit(region), Refusal)

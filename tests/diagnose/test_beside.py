"""Which loops stand one after the other, so that one rewrite may take them together."""

from __future__ import annotations

import pytest

from gpuadvise.cases import chains_for
from gpuadvise.diagnose.beside import MOST, neighbours

ROWS = [[1.0, 2.0], [3.0, 4.0]]
FIRST = """
    for i in range(len(a)):
        a[i][0] += 1.0
"""
SECOND = """
    for i in range(len(a)):
        a[i][1] *= 2.0
"""


def regions(body):
    text = f"def f(a, b):\n    m = 2\n{body}    return a\n"
    return [r for chain in chains_for(text, "f", (ROWS, [1.0, 2.0])) for r in chain]


def runs(body):
    return [[r.loop.lineno for r in region.beside] for region in regions(body) if region.beside]


TOGETHER = {
    "one after the other": FIRST + SECOND,
    "a number between": FIRST + "    scale = 0.5 * m\n    m += 1\n" + SECOND,
    "a list made between": FIRST + "    c = [0.0] * m\n" + SECOND,
    "under a condition": "    if m > 1:\n" + (FIRST + SECOND).replace("\n    ", "\n        "),
}


@pytest.mark.parametrize("body", TOGETHER.values(), ids=TOGETHER)
def test_together(body):
    (lines,) = runs(body)
    assert len(lines) == 2


APART = {
    "a call between": FIRST + "    print(m)\n" + SECOND,
    "a store between": FIRST + "    a[0][0] = 3.0\n" + SECOND,
    "a branch between": FIRST + "    if m > 3:\n        m = 4\n" + SECOND,
    "a function made between": FIRST + "    g = lambda: a\n" + SECOND,
    "a loop that cannot be expressed": FIRST + "    for row in a:\n        print(row)\n" + SECOND,
    "no list in common": FIRST + SECOND.replace("len(a)", "2").replace("a[i][1]", "b[i]"),
    "inside a loop that goes as a whole": "    for t in range(m):\n"
    + (FIRST + SECOND).replace("\n    ", "\n        "),
}


@pytest.mark.parametrize("body", APART.values(), ids=APART)
def test_apart(body):
    assert runs(body) == []


def test_no_more_than_can_be_compiled_in_time():
    assert [len(lines) for lines in runs(FIRST * (MOST + 3))] == [MOST, 3]


def test_loops_that_are_not_hot_count_only_between_hot_ones():
    found = regions(FIRST + SECOND + FIRST + SECOND)
    hot, cold = (found[0], found[2]), {found[1].loop: found[1], found[3].loop: found[3]}
    (run,) = neighbours(hot, lambda near, loop: cold.get(loop)).values()
    assert [region.loop for region in run] == [region.loop for region in found[:3]]
    assert neighbours(hot, lambda near, loop: None) == {}


def test_the_region_of_all():
    first = regions(FIRST + SECOND)[0]
    whole = first.together
    assert whole.lines == (first.lines[0], first.beside[1].lines[1])
    assert whole.share == pytest.approx(min(1.0, sum(r.share for r in first.beside)))

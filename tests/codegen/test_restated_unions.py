"""Disjoint sets: helpers that follow and shorten paths, called in conditions and in tuples."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, check
from test_numba_cpu import _private_cache

__all__ = ["_private_cache"]

CLASS = """\
class Sets:
    def __init__(self, n):
        self.parent = list(range(n))
        self.rank = [0] * n

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, a, b):
        ra, rb = self.find(a), self.find(b)
        if ra == rb:
            return False
        if self.rank[ra] < self.rank[rb]:
            ra, rb = rb, ra
        self.parent[rb] = ra
        if self.rank[ra] == self.rank[rb]:
            self.rank[ra] += 1
        return True


def spanning(n, edges):
    sets = Sets(n)
    total = 0
    for w, u, v in edges:
        if sets.union(u, v):
            total += w
    return total, sets.parent, sets.rank
"""
FUNCTIONS = """\
def find(parent, x):
    root = x
    while parent[root] != root:
        root = parent[root]
    while parent[x] != root:
        parent[x], x = root, parent[x]
    return root


def components(parent, pairs):
    merged = 0
    for a, b in pairs:
        if find(parent, a) != find(parent, b):
            parent[find(parent, a)] = find(parent, b)
            merged += 1
    return merged, parent
"""
BY_SIZE = """\
def find(p, i):
    while i != p[i]:
        p[i] = p[p[i]]
        i = p[i]
    return i


def unite(p, size, a, b):
    a = find(p, a)
    b = find(p, b)
    if a == b:
        return 0
    if size[a] < size[b]:
        a, b = b, a
    p[b] = a
    size[a] += size[b]
    return 1


def clusters(size, pairs):
    p = list(range(len(size)))
    left = len(size)
    for a, b in pairs:
        left -= unite(p, size, a, b)
    return left, p, size
"""
PAIRS = "[(random.randrange(30), random.randrange(30)) for _ in range(60)]"
EDGES = "[(random.randint(1, 99), random.randrange(30), random.randrange(30)) for _ in range(90)]"
CASES = (
    Case(
        name="spanning",
        text=CLASS,
        seen=f"(30, {EDGES})",
        others=(
            "(0, [])",
            "(3, [(5, 0, 1), (2, 1, -1), (1, 0, 2)])",
            "(3, [(5, 0, 1), (2, 1, 3)])",
            "(3, [(2**70, 0, 1), (5, 1, 2)])",
            "(3, [(0.5, 0, 1), (5, 1, 2)])",
        ),
        contains=("def _spanning_union(sets_parent, sets_rank, a, b)",),
    ),
    Case(
        name="components",
        text=FUNCTIONS,
        seen=f"(list(range(30)), {PAIRS})",
        others=(
            "([], [])",
            "([0, 1, 2], [(0, 1), (1, 3)])",
            "([0, 1, 2], [(0, True), (1, 2)])",
            "([1, 1, 1.0], [(0, 2), (1, 2)])",
        ),
        contains=("njit(",),
    ),
    Case(
        name="clusters",
        text=BY_SIZE,
        seen=f"([1] * 30, {PAIRS})",
        others=(
            "([2**38, 2**38, 5], [(0, 1), (1, 2)])",
            "([2**39] * 2 + [2**62] * 2, [(0, 1), (2, 3), (1, 2)])",
            "([1, 1], [(0, 2)])",
        ),
        contains=("_bounded(size[a])",),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restated(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_sums_beyond_64_bits_in_a_method_are_python_s(tmp_path: Path) -> None:
    text = """\
class Counter:
    def __init__(self, n):
        self.hits = [1] * n

    def note(self, k, by):
        for step in range(2):
            self.hits[k] += by * self.hits[k]
        return self.hits[k]


def growth(rounds, pairs):
    counter = Counter(4)
    last = 0
    for a, by in pairs:
        last = counter.note(a, by)
    return last, counter.hits
"""
    case = Case(
        "growth",
        text,
        "(3, [(k % 4, 1) for k in range(12)])",
        ("(3, [(0, 3)] * 40)", "(3, [(0, -7)] * 40)", "(3, [(4, 1)])"),
        contains=("_growth_bounded(counter_hits[k])",),
    )
    check(case, tmp_path)

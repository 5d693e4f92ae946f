"""Methods that follow a chain by calling themselves, as functions with loops."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

CLASS = """\
class Sets:
    def __init__(self, n):
        self.parent = list(range(n))
        self.size = [1] * n

    def find(self, x):
        if self.parent[x] != x:
            self.parent[x] = self.find(self.parent[x])
        return self.parent[x]

    def unite(self, a, b):
        root_a = self.find(a)
        root_b = self.find(b)
        if root_a == root_b:
            return 0
        if self.size[root_a] < self.size[root_b]:
            root_a, root_b = root_b, root_a
        self.parent[root_b] = root_a
        self.size[root_a] += self.size[root_b]
        return 1


def groups(sets, pairs):
    left = len(sets.parent)
    for a, b in pairs:
        left -= sets.unite(a, b)
    return left, sets.parent, sets.size

"""
PAIRS = "[(random.randrange(40), random.randrange(40)) for _ in range(60)]"


def test_restated(tmp_path: Path) -> None:
    case = Case(
        "groups",
        CLASS,
        f"(Sets(40), {PAIRS})",
        (
            "(Sets(3), [(0, 1), (1, 3)])",
            "(Sets(3), [(0, 1), (-1, 2), (-2, -1)])",
            "(Sets(0), [])",
            "(type('Loud', (Sets,), {'find': lambda self, x: 0})(3), [(0, 1), (1, 2)])",
            "(Sets(3), [(0, 1.0)])",
            "(Sets(3), [(0, 1, 2)])",
        ),
        contains=("_find_by_loops(parent, x)", "type(sets) is Sets"),
    )
    after = check(case, tmp_path)
    assert "for a, b in pairs:\n            left -= sets.unite(a, b)" in after


@pytest.mark.parametrize("n", [50, 105, 5000])
def test_long_chains_are_pythons(n: int, tmp_path: Path) -> None:
    chain = "    sets.parent = [0, *range(len(sets.parent) - 1)]\n    left = len"
    text = CLASS.replace("    left = len", chain)
    others = (f"(Sets({n}), [({n - 1}, 1), (0, {n // 2})])",)
    check(Case("groups", text, f"(Sets(40), {PAIRS})", others), tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        return 1\n", "        self.last = root_a\n        return 1\n"),
        ("        return 1\n", "        note(self)\n        return 1\n"),
        ("self.find(self.parent[x])\n", "self.find(self.parent[x]) + 0\n"),
        ("    def find(self, x):\n        if", "    def find(self, x, y=0):\n        if"),
    ],
)
def test_more_than_lists_of_the_object_is_left_alone(old: str, new: str, tmp_path: Path) -> None:
    text = "def note(sets):\n    sets.seen = 1\n\n\n" + CLASS.replace(old, new, 1)
    found = answer(Case("groups", text, f"(Sets(40), {PAIRS})"), tmp_path)
    assert isinstance(found, Refusal), found[0]

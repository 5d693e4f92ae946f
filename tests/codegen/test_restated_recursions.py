"""Functions that follow a chain by calling themselves, as loops; too deep ones stay Python's."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

LOOP = """

def merge(parent, xs, ys):
    merged = 0
    for k in range(len(xs)):
        a = find(parent, xs[k])
        b = find(parent, ys[k])
        if a != b:
            parent[a] = b
            merged += 1
    return merged, parent
"""
SHORTENING = (
    """\
def find(parent, x):
    if parent[x] != x:
        parent[x] = find(parent, parent[x])
    return parent[x]
""",
    '''\
def find(p, i):
    """The root of i."""
    if p[i] == i:
        return i
    p[i] = find(p, p[i])
    return p[i]
''',
    """\
def find(p, i):
    if i == p[i]:
        return p[i]
    return find(p, p[i])
""",
    """\
def find(p, i):
    if i != p[i]:
        return find(p, p[i])
    return i
""",
)
OTHER = (
    """\
def find(p, i):
    if p[i] == i:
        return i
    p[i] = find(p, p[p[i]])
    return p[i]
""",
    """\
def find(p, i):
    if p[i] != i:
        p[i] = find(p, p[i])
    return i
""",
    """\
def find(p, i):
    if p[i] == i:
        return i
    p[i] = find(p, p[i])
    return i
""",
    """\
def find(p, i):
    if p[i] != i:
        p[i] = 1 + find(p, p[i])
    return p[i]
""",
    """\
def find(p, i):
    if p[i] >= i:
        return i
    return find(p, p[i])
""",
)
SEEN = "(list(range(40)), [random.randrange(40) for _ in range(60)], list(range(40)) + [3] * 20)"
OTHERS = (
    "([0, 0, *range(1, 90)], [90, 4], [0, 90])",
    "([0, 0, *range(1, 130)], [130, 4], [0, 90])",
    "([0, 0, *range(1, 3000)], [3000, 4], [0, 90])",
    "([1, 2, 0], [0, 1], [1, 2])",
    "([0, 0, 5], [2], [0])",
    "([0, 0, 1], [-1, 2], [0, -3])",
    "([0, 0, 1], [3], [0])",
    "([0, 0, 1.0], [2], [0])",
    "([], [], [])",
)


@pytest.mark.parametrize("text", SHORTENING)
def test_restated(text: str, tmp_path: Path) -> None:
    case = Case("merge", text + LOOP, SEEN, OTHERS, contains=("if steps > 100:",))
    check(case, tmp_path)


def test_functions_that_call_it_and_a_list_of_the_module(tmp_path: Path) -> None:
    text = """\
parent = list(range(40))


def root_of(x):
    if parent[x] == x:
        return x
    parent[x] = root_of(parent[x])
    return parent[x]


def joined(a, b):
    a, b = root_of(a), root_of(b)
    if a == b:
        return False
    parent[b] = a
    return True


def groups(pairs):
    parent[:] = range(40)
    left = 40
    for a, b in pairs:
        if joined(a, b):
            left -= 1
    return left, parent[:]
"""
    pairs = "[(random.randrange(40), random.randrange(40)) for _ in range(60)]"
    others = ("([(0, 1), (1, 40)],)", "([(k, k + 1) for k in range(39)] * 2,)", "([(-1, 39)],)")
    case = Case("groups", text, f"({pairs},)", others, contains=("def _groups_joined_by_loops(",))
    check(case, tmp_path)


@pytest.mark.parametrize("text", OTHER)
def test_what_does_something_else_is_left_alone(text: str, tmp_path: Path) -> None:
    assert isinstance(answer(Case("merge", text + LOOP, SEEN), tmp_path), Refusal)

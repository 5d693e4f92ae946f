"""Ragged rows, queues, and lists of tuples that grow."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, check
from test_numba_cpu import _private_cache

__all__ = ["_private_cache"]

CASES = (
    Case(
        name="pairs_mixed",
        text="""\
def pairs_mixed(xs):
    found = []
    for i in range(len(xs)):
        for j in range(i):
            d = abs(xs[i] - xs[j])
            if d < 0.01:
                found.append((i, j, d))
    return found
""",
        seen="([random.random() for _ in range(50)],)",
        others=(
            "([],)",
            "([1, 2.0, 1.0],)",
            "([1.0, 'a'],)",
        ),
    ),
    Case(
        name="given_list",
        text="""\
def given_list(xs, out):
    try:
        for i, x in enumerate(xs):
            if x > 0.25 or x == 0:
                out.append((i, 1.0 / x))
    except ZeroDivisionError:
        print(out)
    return out
""",
        seen="([random.random() - 0.1 for _ in range(50)], [(1, 2.0)])",
        others=(
            "([0.5, 0.0, 0.25], [])",
            "([0.5, 0.0, 0.25], ['x'])",
        ),
    ),
    Case(
        name="pagerank",
        text="""\
def pagerank(graph):
    n = len(graph)
    rank = [1.0 / max(n, 1)] * n
    for _ in range(5):
        fresh = [0.15 / n] * n
        for u in graph:
            share = 0.85 * rank[u] / len(graph[u])
            for v in graph[u]:
                fresh[v] += share
        for u in range(n):
            rank[u] = fresh[u]
    return rank
""",
        seen="({i: [7 * i % 50] * (1 + i % 4) for i in range(50)},)",
        others=(
            "({},)",
            "({0: [0], 1: []},)",
            "({0: [1], 1: [-1]},)",
            "({0: [1], 1: [0, 5]},)",
            "({1: [1], 0: [0]},)",
            "({0: [1], True: [0]},)",
            "({0: (1, 0), 1: [0]},)",
            "({0: [1.0], 1: [0]},)",
        ),
    ),
    Case(
        name="ragged",
        text="""\
def ragged(graph):
    n = len(graph)
    tri = 0
    for u in range(n):
        for v in graph[u]:
            for w in graph[v]:
                if w == u:
                    tri += 1
    return tri
""",
        seen="([[random.randrange(50) for _ in range(random.randint(0,5))] for i in range(50)],)",
        others=(
            "([],)",
            "([[0], []],)",
            "([[0], [1, -1]],)",
            "([[0], [5]],)",
            "([[0.5], [5]],)",
            "([[0], (0, 1)],)",
        ),
    ),
    Case(
        name="spmv",
        text="""\
def spmv(rows, x):
    y = [0.0] * len(rows)
    for k in range(3):
        for i, row in enumerate(rows):
            s = 0.0
            for j in row:
                s += x[j]
            if len(row) > 0:
                y[i] += s / len(row)
    return y
""",
        seen="([[7 * i % 50] * (i % 4) for i in range(50)], [float(i) for i in range(50)])",
        others=(
            "([], [])",
            "([[0], [], [1]], [1.0, 2.0])",
            "([[0], [], [7]], [1.0, 2.0])",
            "([[0], [], [-1]], [1.0, 2.0])",
        ),
    ),
    Case(
        name="items",
        text="""\
def items(graph, n):
    deg = [0] * 50
    for k in range(3):
        for u, out in graph.items():
            for v in out:
                deg[v] += len(out) * k
        for u in range(n):
            deg[u] += len(graph[u])
    return deg
""",
        seen="({i: [i // 2] * (1 + i % 4) for i in range(50)}, 50)",
        others=(
            "({}, 0)",
            "({0: [0, 7]}, 1)",
            "({0: [0, 0]}, 2)",
        ),
    ),
    Case(
        name="bfs",
        text="""\
from collections import deque
def bfs(grid):
    n, m = len(grid), len(grid[0])
    dist = [[-1] * m for _ in range(n)]
    dist[0][0] = 0
    q = deque([(0, 0)])
    while q:
        i, j = q.popleft()
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if 0 <= a < n and 0 <= b < m and grid[a][b] and dist[a][b] < 0:
                dist[a][b] = dist[i][j] + 1
                q.append((a, b))
    return dist
""",
        seen="([[random.randint(0,3) for _ in range(20)] for _ in range(20)],)",
        others=(
            "([[1]],)",
            "([[1, 1], [0, 1]],)",
            "([[1, 1], [0, 1.5]],)",
        ),
    ),
    Case(
        name="flood",
        text="""\
def flood(grid):
    n, m = len(grid), len(grid[0])
    seen = [[0] * m for _ in range(n)]
    stack = [(0, 0)]
    size = 0
    while stack:
        i, j = stack.pop()
        if seen[i][j] or not grid[i][j]:
            continue
        seen[i][j] = 1
        size += 1
        if i > 0:
            stack.append((i - 1, j))
        if i < n - 1:
            stack.append((i + 1, j))
        if j > 0:
            stack.append((i, j - 1))
        if j < m - 1:
            stack.append((i, j + 1))
    return size, seen
""",
        seen="([[random.randint(0,2) for _ in range(20)] for _ in range(20)],)",
        others=(
            "([[1]],)",
            "([[1, 1], [0, 1]],)",
        ),
    ),
    Case(
        name="gbfs",
        text="""\
from collections import deque
def gbfs(graph, start):
    dist = [-1] * len(graph)
    dist[start] = 0
    order = []
    todo = deque([start])
    while todo:
        u = todo.popleft()
        order.append(u)
        for v in graph[u]:
            if dist[v] == -1:
                dist[v] = dist[u] + 1
                todo.append(v)
    return dist, order
""",
        seen="([[random.randrange(50) for _ in range(random.randint(0,3))] for i in range(50)], 0)",
        others=(
            "([[0], [1], [1, 2]], 2)",
            "([[]], 0)",
            "([[1], [-1], []], 0)",
            "([[1], [2], [3]], 0)",
            "([[1], [2], [3]], 5)",
        ),
    ),
    Case(
        name="dbfs",
        text="""\
from collections import deque
def dbfs(graph, start):
    seen = [0] * 100
    seen[start] = 1
    todo = deque([start])
    n = 0
    while todo:
        u = todo.popleft()
        n += 1
        for v in graph[u]:
            if not seen[v]:
                seen[v] = 1
                todo.append(v)
    return n
""",
        seen="({i: [(7 * i + 3) % 50, i] for i in range(50)}, 0)",
        others=(
            "({0: [1], 1: [7]}, 0)",
            "({0: [1], 1: [7]}, 9)",
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restated(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)

"""Lists of objects and of tuples, in columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, check
from test_numba_cpu import _private_cache

__all__ = ["_private_cache"]

CASES = (
    Case(
        name="bodies",
        text="""\
import math
class Body:
    def __init__(self, x, y, m):
        self.x = x
        self.y = y
        self.vx = 0.0
        self.vy = 0.0
        self.m = m
class Heavy(Body):
    @property
    def vx(self): return 1.0
    @vx.setter
    def vx(self, v): pass
def bodies(bs, dt):
    for _ in range(10):
        for i in range(len(bs)):
            for j in range(len(bs)):
                if i != j:
                    dx = bs[j].x - bs[i].x
                    dy = bs[j].y - bs[i].y
                    r2 = dx * dx + dy * dy + 0.01
                    f = bs[j].m / (r2 * math.sqrt(r2))
                    bs[i].vx += f * dx * dt
                    bs[i].vy += f * dy * dt
        for b in bs:
            b.x += b.vx * dt
            b.y += b.vy * dt
    return [(b.x, b.y, b.vx, b.vy) for b in bs]
""",
        seen="([Body(random.random(), random.random(), 1.0) for _ in range(9)], 0.01)",
        others=(
            "([], 0.01)",
            "([Body(1, 2, 3)], 0.01)",
            "([Body(1.0, 2, 3), Body(1.0, 2.0, 3.0)], 0.01)",
            "([Body(1.0, 2, 3)] * 3, 0.01)",
            "([Body(1.0, 2.0, 3.0), Body('a', 2.0, 3.0)], 0.01)",
            "([Heavy(1.0, 2.0, 3.0), Body(2.0, 2.0, 3.0)], 0.01)",
            "(tuple([Body(1.0, 2.0, 3.0), Body(2.0, 2.0, 3.0)]), 0.01)",
        ),
    ),
    Case(
        name="pairs",
        text="""\
from dataclasses import dataclass, field
@dataclass
class Body:
    x: float
    y: float
    m: float
    fx: float = 0.0
    fy: float = 0.0
    hits: int = 0
    trail: list = field(default_factory=list)
def pairs(bodies, dt):
    e = 0.0
    for step in range(7):
        for a in bodies:
            a.fx = a.fy = 0.0
        for i, a in enumerate(bodies):
            for b in bodies[i + 1:]:
                dx, dy = b.x - a.x, b.y - a.y
                d2 = dx ** 2 + dy ** 2
                f = a.m * b.m / d2
                a.fx += f * dx
                a.fy += f * dy
                b.fx -= f * dx
                b.fy -= f * dy
                if d2 < 0.01:
                    a.hits += 1
                e -= f
        for k in range(len(bodies)):
            body = bodies[k]
            body.x += dt * body.fx / body.m
            body.y += dt * body.fy / body.m
    return e, [(b.x, b.y, b.fx, b.hits, b.trail) for b in bodies]
""",
        seen="([Body(random.random(), random.random(), 1.0) for _ in range(9)], 0.01)",
        others=(
            "([], 0.01)",
            "([Body(1.0, 2.0, 3.0)], 0.01)",
            "([Body(1.0, 2.0, 3.0), Body(1.0, 2.0, 3.0)], 0.01)",
            "([Body(1.0, 2.0, 3.0)]*2, 0.01)",
        ),
    ),
    Case(
        name="caught",
        text="""\
class Cell:
    def __init__(self, q, w):
        self.q = q
        self.w = w
def inner(cells):
    for t in range(5):
        for c in cells:
            c.q = c.q / c.w + t
            c.w = c.w - 0.25
def caught(cells):
    try:
        for t in range(5):
            for c in cells:
                c.q = c.q / c.w + t
                c.w = c.w - 0.25
    finally:
        print(cells[0].q, cells[-1].q if cells[-1] else 0)
    return [(c.q, c.w) for c in cells]
""",
        seen="([Cell(random.random(), 1.0) for _ in range(9)],)",
        others=(
            "([Cell(random.random(), k - 4) for k in range(9)],)",
            "([Cell(0.5, 2.0)] * 3,)",
            "([Cell(random.random(), 1.0), None],)",
        ),
    ),
    Case(
        name="identity",
        text="""\
class Cell:
    def __init__(self, q, w):
        self.q = q
        self.w = w
def identity(cells):
    n = 0.0
    for t in range(5):
        for c in cells:
            for d in cells:
                if c is d: continue
                n += c.q - d.w
            for d in cells:
                if c != d:
                    n += c.q * d.w
    return n
""",
        seen="([Cell(random.random(), 1.0) for _ in range(9)],)",
        others=("([Cell(0.5, 1.0)] * 3,)",),
    ),
    Case(
        name="knap",
        text="""\
def knap(items, capacity):
    best = [0.0] * (capacity + 1)
    for weight, value in items:
        for c in range(capacity, weight - 1, -1):
            cand = best[c - weight] + value
            if cand > best[c]:
                best[c] = cand
    return best[capacity], best
""",
        seen="([(random.randint(1,9), random.random()) for _ in range(50)], 20)",
        others=(
            "([], 20)",
            "([(1, 2)], 20)",
            "([[1, 2.0], (3, 4.0)], 20)",
            "([(1, 2.0, 3)], 20)",
            "([(1, 2.0), (3,)], 20)",
            "(((1, 2.0), (3, 1.5)), 20)",
        ),
    ),
    Case(
        name="named",
        text="""\
def named(rows):
    t = 0.0
    for i in range(len(rows)):
        for _, w, k in rows:
            t += w * k - i
        t *= 0.5
        t += rows[i][1]
        p = rows[i]
        t -= p[-1]
    return t
""",
        seen="([('a', random.random(), random.randint(1, 5)) for _ in range(50)],)",
        others=(
            "([],)",
            "([('a', 1.0, 2), ('b', 2, 3)],)",
        ),
    ),
    Case(
        name="edges",
        text="""\
def edges(es, nodes):
    dist = [1e9] * len(nodes)
    dist[0] = 0.0
    for _ in range(len(nodes)):
        for u, v, w in es:
            if dist[u] + w * nodes[v][0] < dist[v]:
                dist[v] = dist[u] + w * nodes[v][0]
    return dist
""",
        seen="([(i % 9, 5 * i % 9, 0.1 * i) for i in range(50)], [(0.5 * i, 2) for i in range(9)])",
        others=(
            "([], [])",
            "([(0, 1, 0.5)], [(1.0, 2)])",
        ),
    ),
    Case(
        name="pos3",
        text="""\
class B:
    def __init__(self, pos, vel):
        self.pos, self.vel = pos, vel
def pos3(bs):
    for step in range(9):
        for i in range(len(bs)):
            for j in range(len(bs)):
                if i == j: continue
                for k in range(3):
                    bs[i].vel[k] += 0.001 * (bs[j].pos[k] - bs[i].pos[k])
        for b in bs:
            for k in range(3):
                b.pos[k] += b.vel[k]
    return [(b.pos, b.vel) for b in bs]
""",
        seen="([B([random.random(), 1.0, 2.0], [0.0, 0.0, 0.0]) for _ in range(6)],)",
        others=(
            "([],)",
            "([B([1.0, 2.0, 3.0], [0.0, 1.0, 2.0])] * 2,)",
            "([B(q, q) for q in [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]],)",
        ),
    ),
    Case(
        name="methods",
        text="""\
import math
class Cell:
    '''A cell.'''
    def __init__(self, q, w):
        self.q = q
        self.w = w
    def grow(self, dt, rate=0.5):
        '''Grow.'''
        extra = self.q * dt * rate
        if extra > 0.01:
            extra = 0.01
        self.q += extra
    def far(self, other):
        if self.q > other.q:
            return self.q - other.q
        return (other.q - self.q) * 2
    @property
    def size(self): return self.q
def dist(a, b):
    dq = a.q - b.q
    dw = a.w - b.w
    return math.sqrt(dq * dq + dw * dw)
def weight(c): return c.q * c.w
def methods(cells, dt):
    total = 0.0
    for t in range(5):
        for c in cells:
            c.grow(dt)
        for i in range(len(cells)):
            for j in range(i):
                a, b = cells[i], cells[j]
                total += dist(a, b)
                d = a.far(b)
                if weight(a) > 0.3 and weight(cells[j]) < 0.9:
                    total += d
                a.w, b.w = b.w, a.w
    return total, [(c.q, c.w) for c in cells]
""",
        seen="([Cell(random.random(), 1.0) for _ in range(9)], 0.1)",
        others=(
            "([], 0.5)",
            "([Cell(0.5, 1.0)] * 3, 0.5)",
            "([Cell(1, 1.0)], 1)",
        ),
    ),
    Case(
        name="dists",
        text="""\
def dist(p, q):
    return ((p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2) ** 0.5
def dists(points, eps):
    near = 0
    for i, p in enumerate(points):
        for q in points[i + 1:]:
            if dist(p, q) < eps:
                near += 1
    return near
""",
        seen="([(random.random(), random.random()) for _ in range(50)], 0.1)",
        others=(
            "([], 0.5)",
            "([(1, 2.0), (2, 2)], 1.5)",
            "([(1.0, 2.0), (2.0, 2.0, 3.0)], 1.5)",
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restated(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)

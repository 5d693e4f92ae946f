"""Vectors of a few numbers that a loop makes anew in each iteration, one variable a component."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness import assert_same, chain_for, first_match, run
from restating import Case, answer, check
from test_numba_cpu import _private_cache
from vector_programs import Program

from gpuadvise.codegen.restated.restate import emit_restated
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits
from gpuadvise.verify.claims import broken_step

__all__ = ["_private_cache"]

SEEDS = (1, 2, 3, 4)
"""Few: each compiles; longer runs were made by hand."""

HEAD = """\
import math

import numpy as np

GM = 4.0
DOWN = np.array([0.0, 0.0, -9.81])


def lorenz(state, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def rk4_step(f, state, dt):
    \"\"\"One step.\"\"\"
    k1 = f(state)
    k2 = f(state + 0.5 * dt * k1)  # half way
    k3 = f(state + 0.5 * dt * k2)
    k4 = f(state + dt * k3)
    return state + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)


def pull(pos):
    r = np.sqrt(pos[0] ** 2 + pos[1] ** 2 + pos[2] ** 2)
    return -GM / r**3 * pos


def kick(pos, vel, dt):
    vel = vel + pull(pos) * dt
    return pos + vel * dt, vel


def cross(u, v):
    return (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])


def dot(u, v):
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def norm(u):
    return math.sqrt(dot(u, u))


def swing(s, g):
    angle, speed = s
    return [speed, -g * math.sin(angle)]


def swung(s, h, g):
    k1 = swing(s, g)
    k2 = swing([x + h / 2 * k for x, k in zip(s, k1)], g)
    return [x + h * k for x, k in zip(s, k2)]


"""
CASES = (
    Case(
        name="rows",
        text=HEAD
        + """\
def rows(path, dt, steps):
    for i in range(steps):
        path[i + 1] = rk4_step(lorenz, path[i], dt)
    return path
""",
        seen="(np.ones((9, 3)), 0.01, 8)",
        others=(
            "(np.ones((9, 3)), 0.01, 9)",
            "(np.full((5, 3), np.nan), 0.01, 3)",
            "(np.ones((9, 4)), 0.01, 8)",
            "(np.ones((9, 3)), 1, 8)",
            "(np.ones((9, 3), np.float32), 0.01, 8)",
            "(np.ones((3, 9)).T, 0.01, 0)",
        ),
        contains=("# half way", "x, y, z = state_0, state_1, state_2"),
    ),
    Case(
        name="handed",
        text=HEAD
        + """\
def handed(f, start, dt, steps):
    path = np.empty((steps + 1, 3))
    path[0] = start
    for i in range(steps):
        path[i + 1, :] = rk4_step(f, path[i, :], dt)
    return path
""",
        seen="(lorenz, (1.0, 1.0, 1.0), 0.01, 8)",
        others=("(pull, (1.0, 1.0, 1.0), 0.01, 8)", "(lambda s: -s, (1.0, 2.0, 3.0), 0.01, 3)"),
        contains=("f is lorenz",),
    ),
    Case(
        name="orbit",
        text=HEAD
        + """\
def orbit(pos, vel, dt, steps):
    acc = pull(pos)
    low = []
    for _ in range(steps):
        pos = pos + vel * dt + 0.5 * acc * dt**2
        new = pull(pos)
        vel = vel + 0.5 * (acc + new) * dt
        acc = new
        low.append(pos[2])
    return pos, vel, low
""",
        seen="(np.array([1.0, 0.5, 0.0]), np.array([0.0, 1.0, 0.25]), 0.01, 20)",
        others=(
            "(np.zeros(3), np.array([0.0, 1.0, 0.25]), 0.01, 3)",
            "(np.ones(3), np.ones(3), 0.01, 0)",
            "(np.ones(4), np.ones(4), 0.01, 3)",
            "(np.ones(3), np.ones(3), np.float32(0.01), 3)",
            "(np.ones(3), np.ones(3), 0.01, 3.0)",
        ),
        contains=("pos = np.array([pos_0, pos_1, pos_2])", "low.append(pos_2)"),
    ),
    Case(
        name="pairs",
        text=HEAD
        + """\
def pairs(pos, vel, dt, end):
    t = 0.0
    while t < end:
        pos, vel = kick(pos, vel, dt)
        t += dt
    return pos, vel, t
""",
        seen="(np.array([1.0, 0.5, 0.0]), np.array([0.0, 1.0, 0.25]), 0.01, 0.2)",
        others=("(np.ones(3), np.ones(3), 0.01, -1.0)", "(np.ones(3), np.ones(3), 0.125, 1)"),
        contains=("t < end",),
    ),
    Case(
        name="throws",
        text=HEAD
        + """\
def throws(speeds, drag, dt):
    farthest = 0.0
    for speed in speeds:
        pos = np.zeros(3)
        vel = np.array([speed, 0.5 * speed, speed])
        while pos[2] >= 0.0:
            vel += (DOWN - drag * vel) * dt
            pos += vel * dt
        farthest = max(farthest, np.sqrt((pos**2).sum()))
    return farthest
""",
        seen="([3.0, 5.0, 8.0], 0.1, 0.01)",
        others=("([], 0.1, 0.01)", "([3.0, 5.0], 0.0, 0.125)", "([3, 5.0], 0.5, 0.125)"),
        contains=("DOWN.shape == (3,)",),
    ),
    Case(
        name="angles",
        text=HEAD
        + """\
def angles(points):
    total = far = 0.0
    for i in range(len(points)):
        for j in range(i):
            p, q = points[i], points[j]
            angle = math.atan2(norm(cross(p, q)), dot(p, q))
            total += angle
            if angle > far:
                far = angle
    return total, far
""",
        seen="([(0.5, 0.25, 1.0), (1.0, 0.0, 0.5), (0.25, 1.0, 0.5), (1.0, 1.0, -1.0)],)",
        others=(
            "([],)",
            "([(0.5, 0.25, 1.0), (1.0, 0.0)],)",
            "([[0.5, 0.25, 1.0], [1.0, 0.0, 0.5]],)",
            "([(0, 0, 1), (1, 0, 0)],)",
        ),
        contains=("set(map(len, points)) == {3}", "_is_table(points, float)"),
    ),
    Case(
        name="pendulum",
        text=HEAD
        + """\
def pendulum(state, h, steps, g):
    turns = 0
    for _ in range(steps):
        state = swung(state, h, g)
        if abs(state[0]) > math.pi:
            turns += 1
    return state, turns
""",
        seen="([1.0, 4.0], 0.01, 50, 9.81)",
        others=(
            "([1.0, 4.0], 0.01, 0, 9.81)",
            "((1.0, 4.0), 0.01, 5, 9.81)",
            "([1, 4.0], 0.01, 5, 9.81)",
        ),
        contains=("state = [state_0, state_1]",),
    ),
    Case(
        name="swings",
        text=HEAD
        + """\
class Pendulum:
    def __init__(self, length, g):
        self.length, self.g = length, g

    def rates(self, s):
        angle, speed = s
        return [speed, -self.g / self.length * math.sin(angle)]

    def step(self, s, h):
        k1 = self.rates(s)
        k2 = self.rates([x + h / 2 * k for x, k in zip(s, k1)])
        return [x + h * k for x, k in zip(s, k2)]


class Odd(Pendulum):
    def rates(self, s):
        return [s[1], -s[0]]


def swings(model, state, h, n):
    turns = 0
    for _ in range(n):
        state = model.step(state, h)
        turns += state[0] > 3.0
    return state, turns
""",
        seen="(Pendulum(1.0, 9.81), [1.0, 5.5], 0.01, 60)",
        others=(
            "(Odd(1.0, 9.81), [1.0, 5.5], 0.01, 60)",
            "(Pendulum(0.0, 9.81), [1.0, 5.5], 0.01, 3)",
            "(Pendulum(2, 9.81), [1.0, 5.5], 0.01, 3)",
            "(Pendulum(2.0, 9.81), [1.0, float('inf')], 0.01, 3)",
        ),
        contains=("type(model) is Pendulum", "_length, "),
    ),
    Case(
        name="Hunt.run",
        text=HEAD
        + """\
class Hunt:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def rates(self, y):
        return np.array([self.a * y[0] - y[0] * y[1], -self.b * y[1] + y[0] * y[1]])

    def run(self, y, h, n):
        for _ in range(n):
            y = y + h * self.rates(y + h / 2 * self.rates(y))
        return y
""",
        seen="(Hunt(1.5, 0.5), np.array([2.0, 1.0]), 0.01, 30)",
        others=(
            "(Hunt(1.5, 0.5), np.array([2.0, 1.0]), 0.01, 0)",
            "(Hunt(1, 2), np.array([2.0, 1.0]), 0.01, 3)",
            "(Hunt(1.5, 0.5), np.array([1e200, 1e200]), 100.0, 3)",
        ),
        contains=("type(self) is Hunt",),
    ),
    Case(
        name="distances",
        text=HEAD
        + """\
from math import radians


class Station:
    def __init__(self, lat, lon):
        self.lat = lat
        self.lon = lon


def haversine(lat1, lon1, lat2, lon2):
    lat1, lon1, lat2, lon2 = map(radians, [lat1, lon1, lat2, lon2])
    a = math.sin((lat2 - lat1) / 2) ** 2
    a += math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(a))


def distances(stations):
    n = len(stations)
    table = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if i != j:
                table[i][j] = haversine(
                    stations[i].lat, stations[i].lon, stations[j].lat, stations[j].lon
                )
    return table
""",
        seen="([Station(10.0 * k, 7.0 * k) for k in range(6)],)",
        others=(
            "([],)",
            "([Station(10, 7.0), Station(1.0, 2.0)],)",
            "([Station(float('inf'), 7.0), Station(1.0, 2.0)],)",
            "([Station('a', 7.0), Station(1.0, 2.0)],)",
        ),
        contains=("haversine(), without map()",),
    ),
    Case(
        name="spin",
        text=HEAD
        + """\
def spin(axis, v, n, dt):
    for k in range(n):
        turn = np.cross(axis, v)
        v = v + dt * turn
        if k % 5 == 0:
            v = v / np.sqrt(np.sum(v * v))
        else:
            w = -v.copy()
            w[0] = 2 * w[1]
            v = v - 0.001 * w
    return v
""",
        seen="(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.25, 0.0]), 17, 0.01)",
        others=(
            "(np.zeros(3), np.zeros(3), 7, 0.01)",
            "(np.array([0.0, 0.5, -0.0]), np.array([-0.0, 0.25, 0.0]), 3, 0.0)",
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_runs_as_the_original(case: Case, tmp_path: Path) -> None:
    """Results, arguments, exceptions and warnings are those of the original."""
    check(case, tmp_path)


@pytest.mark.parametrize(
    ("text", "seen", "reason"),
    [
        pytest.param(
            """\
def k(a, b, n):
    for _ in range(n):
        b = a
        a = a + b
        b += 1.0
    return a, b
""",
            "(np.ones(3), np.ones(3), 4)",
            "in place and may have another name",
            id="another name",
        ),
        pytest.param(
            """\
def k(a, n):
    c = np.zeros(3)
    for _ in range(n):
        a = a + np.array([1.5, 2.5, 3.5])
        c = a
    return a, c
""",
            "(np.ones(3), 4)",
            "may be one array",
            id="two names behind the loop",
        ),
        pytest.param(
            """\
def k(a, n):
    for i in range(n):
        if a[0] < 3.0:
            a = a * 2.0
    return a
""",
            "(np.ones(3), 4)",
            "may be the same array behind the loop",
            id="perhaps still the caller's array",
        ),
        pytest.param(
            """\
def clear(v):
    v[0] = 0.0
    return v * 2.0


def k(a, n):
    for i in range(n):
        a = clear(a) + np.array([1.0, 0.5, 0.25])
    return a
""",
            "(np.ones(3), 4)",
            "in place|changes and may have another name",
            id="a function that changes its argument",
        ),
        pytest.param(
            """\
class Model:
    def __init__(self, rate):
        self.rate = rate

    def step(self, v):
        self.rate *= 0.5
        return v * self.rate


def k(n):
    model = Model(2.0)
    a = np.ones(2)
    for i in range(n):
        a = model.step(a) + np.array([1.0, 0.5])
    return a, model.rate
""",
            "(4,)",
            "changes what it is given",
            id="a method that sets an attribute",
        ),
        pytest.param(
            """\
log = []


def halved(v):
    log.append(v[0])
    return v * 0.5


def k(a, n):
    for i in range(n):
        a = halved(a) + np.array([1.0, 0.5, 0.25])
    return a
""",
            "(np.ones(3), 4)",
            "more than compute",
            id="a function with an effect",
        ),
        pytest.param(
            """\
def k(a, b, n):
    total = 0.0
    for i in range(n):
        a = a + np.dot(a, b) * b
    return a
""",
            "(np.ones(3), np.ones(3), 4)",
            "last digits",
            id="a product of the library's",
        ),
        pytest.param(
            """\
def k(n):
    a = np.array([1.0, 2.0])
    for i in range(n):
        a = a + np.array([i, 2 * i])
    return a
""",
            "(4,)",
            "array of whole numbers",
            id="whole numbers",
        ),
        pytest.param(
            """\
def k(a, n):
    seen = []
    for i in range(n):
        a = a + np.array([0.5, 1.5, i])
        seen.append(a)
    return seen
""",
            "(np.ones(3), 4)",
            "kept in a list|only numbers",
            id="kept in a list",
        ),
        pytest.param(
            """\
def k(a, n):
    for i in range(n):
        a = a + np.array([0.5, 1.5, 2.5])
        print(a[0], a)
    return a
""",
            "(np.ones(3), 4)",
            "used as a whole",
            id="printed",
        ),
        pytest.param(
            """\
def k(a, n):
    total = 0.0
    for i in range(n):
        a = a * np.array([0.5, 1.5, 2.5])
        total += a[i % 3]
    return total
""",
            "(np.ones(3), 4)",
            "which component",
            id="a component that is not known",
        ),
        pytest.param(
            """\
def k(a, n):
    for i in range(n):
        a = a ** 3 + np.array([0.5, 1.5, 2.5])
    return a
""",
            "(np.ones(3), 4)",
            "power of arrays",
            id="powers",
        ),
    ],
)
def test_refused(text: str, seen: str, reason: str, tmp_path: Path) -> None:
    """What would not be the same, or is not known to be."""
    found = answer(Case(name="k", text="import numpy as np\n\n\n" + text, seen=seen), tmp_path)
    assert isinstance(found, Refusal)
    assert re.search(reason, found.reason), found.reason


def test_vector_that_shares_memory_with_what_the_loop_changes(tmp_path: Path) -> None:
    """``state = path[0]`` sees what is stored in ``path[0]``; its components would not."""
    text = """\
import numpy as np


def k(path, n, shared):
    state = path[0] if shared else path[0].copy()
    for i in range(n):
        path[i] = path[i] * 2.0
        state = state + np.array([0.5, 1.5, 2.5]) * path[i, 0]
    return state
"""
    case = Case(
        name="k",
        text=text,
        seen="(np.ones((4, 3)), 4, False)",
        others=("(np.ones((4, 3)), 4, True)",),
        contains=("not np.shares_memory(state, path)",),
    )
    check(case, tmp_path)


def test_at_module_level(tmp_path: Path) -> None:
    """Functions come above the loop's own new lines; a vector may change after it was made anew."""
    text = """\
import numpy as np

down = np.array([0.0, -9.81])


def force(v):
    return down - 0.1 * v * np.sqrt(v[0] * v[0] + v[1] * v[1])


pos, vel = np.array([0.0, 1.0]), np.array([3.0, 1.0])
bounces = 0
for _ in range(90):
    vel = vel + 0.01 * force(vel)
    pos = pos + 0.01 * vel
    if pos[1] < 0:
        pos[1] = -pos[1]
        vel[1] *= -0.9
        bounces += 1
print(pos, vel, bounces)
"""
    path = tmp_path / "case.py"
    path.write_text(text, encoding="utf-8")
    found = first_match(emit_restated, chain_for(text, None, path=path))
    assert len(found) == 2 and isinstance(found[1], Match), found
    after = apply_edits(found[0].source, found[1].edits)
    assert broken_step(found[0].source, after, found[1]) is None
    one, two = run(text, None, folder=tmp_path), run(after.decode(), None, folder=tmp_path)
    assert_same(one, two, scalar_names=False)


def test_on_random_programs(tmp_path: Path) -> None:
    """Whatever is rewritten gives what the original gives, on other inputs as well."""
    rewritten = 0
    for seed in SEEDS:
        program = Program(seed)
        case = Case(name="k", text=program.text, seen=program.seen, others=program.others)
        found = answer(case, tmp_path)
        if not isinstance(found, Refusal):
            check(case, tmp_path)
            rewritten += 1
    assert rewritten

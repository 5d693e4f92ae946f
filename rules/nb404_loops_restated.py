"""Write a loop in plainer Python, and compile it with ``numba.njit``.

Why it is slow: every iteration runs Python bytecode; and a compiler of numbers knows no ``return``
to the user's code, no ``None``, no objects and none of the program's random generators.
Why it may differ: each step to the plainer text keeps what Python does, or is tested before the
loop runs, which else runs as it was. Compiling is as for other loops (NB401).
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.restated.restate import emit_restated

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
def closest_sum(numbers, target):
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] + numbers[j] == target:
                return [i, j]
    return None
""",
        inputs="args = (rng.integers(0, 999, 60).tolist(), 401)",
        function="closest_sum",
        contains=("if returned:\n        return [i, j]", "njit(cache=True)"),
    ),
    Rewrites(
        before="""\
class Body:
    def __init__(self, x, mass):
        self.x = x
        self.v = 0.0
        self.mass = mass

    def move(self, dt):
        self.x += self.v * dt


def simulate(bodies, steps, dt):
    for _ in range(steps):
        for a in bodies:
            for b in bodies:
                if a is not b:
                    a.v += b.mass * (b.x - a.x) * dt
        for body in bodies:
            body.move(dt)
    return [(body.x, body.v) for body in bodies]
""",
        inputs="args = ([Body(x, 1.0 + x) for x in rng.random(8).tolist()], 5, 0.1)",
        function="simulate",
        contains=("bodies_x = [", "set(map(type, bodies)) <= {Body}"),
    ),
    Rewrites(
        before="""\
def components(graph, n):
    labels = [0] * n
    label = 0
    for start in range(n):
        if labels[start]:
            continue
        label += 1
        labels[start] = label
        for round in range(n):
            for u in range(n):
                if labels[u] == label:
                    for v in graph[u]:
                        if labels[v] == 0:
                            labels[v] = label
    return labels
""",
        inputs="args = ([[int(i + 1) % 30] * int(rng.integers(0, 3)) for i in range(30)], 30)",
        function="components",
        contains=("graph_start = [0]",),
    ),
    Rewrites(
        before="""\
import numpy as np


def rates(state):
    x, y = state
    return np.array([y, 0.5 * (1 - x * x) * y - x])


def path(state, dt, steps):
    for _ in range(steps):
        half = state + 0.5 * dt * rates(state)
        state = state + dt * rates(half)
    return state
""",
        inputs="args = (rng.random(2), 0.01, 40)",
        function="path",
        contains=("state = np.array([state_0, state_1])", "component by component"),
    ),
    Rewrites(
        before="""\
def medians(values, half):
    found = []
    for i in range(half, len(values) - half):
        found.append(sorted(values[i - half : i + half + 1])[half])
    return found
""",
        inputs="args = (rng.random(40).tolist(), 2)",
        function="medians",
        contains=("NaN: compiled code leaves it alone",),
    ),
    Rewrites(
        before="""\
def is_prime(n):
    if n < 2:
        return False
    k = 2
    while k * k <= n:
        if n % k == 0:
            return False
        k += 1
    return True


def count(limit):
    return sum(1 for n in range(limit) if is_prime(n))
""",
        inputs="args = (400,)",
        function="count",
        contains=("total = _count_loops(limit, total)", "return total"),
    ),
    Ignores(
        before="""\
def rest(values):
    return values.pop() + max(x * x for x in values)
""",
        because="what the statement evaluates first changes the list",
        inputs="args = (rng.random(40).tolist(),)",
        function="rest",
        reason="something else before its comprehension",
    ),
    Ignores(
        before="""\
import numpy as np


def path(state, steps):
    seen = []
    for _ in range(steps):
        state = state + 0.5 * np.array([state[1], -state[0]])
        seen.append(state)
    return seen
""",
        because="a list of arrays leaves the loop, and compiled code has numbers only",
        inputs="args = (rng.random(2), 20)",
        function="path",
    ),
    Ignores(
        before="""\
def largest(values, width):
    found = []
    for i in range(len(values) - width):
        found.append(sorted(values[i : i + width], reverse=True)[0])
    return found
""",
        because="equal values come in their old order, which insertion does not keep backwards",
        inputs="args = (rng.random(40).tolist(), 3)",
        function="largest",
    ),
    Ignores(
        before="""\
def first_line(lines):
    for number, line in enumerate(lines):
        if line.startswith("#"):
            return number
    return -1
""",
        because="lines are text, which no plainer loop makes numbers of",
        inputs="args = (['a', 'b', '# c'],)",
        function="first_line",
    ),
    Ignores(
        before="""\
class Meter:
    def __init__(self, value):
        self.value = value

    def __setattr__(self, name, value):
        print(name)
        object.__setattr__(self, name, value)


def heat(meters):
    for _ in range(20):
        for meter in meters:
            meter.value += 0.5
""",
        because="assigning the attribute prints",
        inputs="args = ([Meter(x) for x in rng.random(4).tolist()],)",
        function="heat",
    ),
    Ignores(
        before="""\
def last_peak(values):
    peak = None
    total = 0.0
    for value in values:
        if value > 0.5:
            peak = value
        total += peak
    return total
""",
        because="peak may still be None, which Python refuses to add",
        inputs="args = ([0.75, *rng.random(50).tolist()],)",
        function="last_peak",
        reason="may be None where it is read",
    ),
)


@rule(needs={"numba"}, cases=CASES, comprehensions=True)
def loops_restated(region: Region) -> Match | Refusal | None:
    """Restate the loop, then outline and compile it."""
    return emit_restated(region)

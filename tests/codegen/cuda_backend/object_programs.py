"""Time loops whose steps are methods or functions, in the hands of different authors."""

from __future__ import annotations

from cuda_programs import Program, grid, target

WAVE = '''
import numpy as np


class Membrane:
    """A drum skin that keeps two levels of time."""

    def __init__(self, n, c=0.5):
        self.now = np.zeros((n, n))
        self.now[n // 2, n // 2 :] = 1.0
        self.old = self.now.copy()
        self.next = np.zeros_like(self.now)
        self._c2 = c * c
        self.steps = 0
        self.energies = []

    def _advance(self):
        rows, columns = self.now.shape
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                around = self.now[i - 1, j] + self.now[i + 1, j]
                around += self.now[i, j - 1] + self.now[i, j + 1]
                rest = 2.0 * self.now[i, j] - self.old[i, j]
                self.next[i, j] = rest + self._c2 * (around - 4.0 * self.now[i, j])

    def _turn(self):
        self.old, self.now, self.next = self.now, self.next, self.old

    def energy(self):
        return float((self.now**2).sum())

    def run(self, count):
        for k in range(count):
            self._advance()
            self._turn()
            self.steps += 1
            if k % 3 == 2:
                self.energies.append(self.energy())
        return self.energies
'''
REACTION = """
import numpy as np


def laplacian_of(a, out):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            up, down = a[(i - 1) % n, j], a[(i + 1) % n, j]
            left, right = a[i, (j - 1) % m], a[i, (j + 1) % m]
            out[i, j] = up + down + left + right - 4.0 * a[i, j]


def react(u, v, feed, kill=0.06):
    lap_u = np.empty_like(u)
    lap_v = np.empty_like(v)
    laplacian_of(u, lap_u)
    laplacian_of(v, lap_v)
    new_u, new_v = np.empty_like(u), np.empty_like(v)
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            rate = u[i, j] * v[i, j] * v[i, j]
            new_u[i, j] = u[i, j] + 0.16 * lap_u[i, j] - rate + feed * (1.0 - u[i, j])
            new_v[i, j] = v[i, j] + 0.08 * lap_v[i, j] + rate - (feed + kill) * v[i, j]
    return new_u, new_v


def simulate(u, v, steps):
    for _ in range(steps):
        u, v = react(u, v, 0.035)
    return u, v
"""
COOLING = """
import numpy as np


class Rod:
    def __init__(self, temperatures):
        self.t = temperatures
        self.changed = 1.0


def conduct(t, r):
    new = t.copy()
    for k in range(1, len(t) - 1):
        new[k] = t[k] + r * (t[k - 1] - 2.0 * t[k] + t[k + 1])
    return new


def settle(rod, r, tolerance):
    for step in range(60):
        before = rod.t
        rod.t = conduct(rod.t, r / 2)
        rod.changed = float(np.abs(rod.t - before).max())
        if rod.changed < tolerance:
            break
    return rod.t
"""
RELAXED = """
import numpy as np


def sweep(p, q, source, h):
    n, m = p.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            total = p[i - 1, j] + p[i + 1, j] + p[i, j - 1] + p[i, j + 1]
            q[i, j] = 0.25 * (total + h * h * source[i, j])


def solve(p, q, source, h, tolerance):
    history, it = [], 0
    for it in range(80):
        sweep(p, q, source, h)
        p, q = q, p
        if it % 5 == 0:
            worst = np.max(np.abs(p - q))
            history.append((it, worst))
            if worst < tolerance:
                break
    return p, it, history
"""
LEVELS = """
import numpy as np


class Clock:
    def __init__(self, dt):
        self.dt = dt
        self.now = 0.0


class Pond:
    def __init__(self, height, clock):
        self.height = height
        self.speed = np.zeros_like(height)
        self.clock = clock

    def push(self, dt):
        for i in range(1, len(self.height) - 1):
            slope = self.height[i - 1] - 2.0 * self.height[i] + self.height[i + 1]
            self.speed[i] += dt * slope
        for i in range(len(self.height)):
            self.height[i] += dt * self.speed[i]


def watch(pond, clock, steps):
    for n in range(steps):
        pond.push(clock.dt)
        clock.now += clock.dt
        if n == steps // 2:
            print("half way", pond.height.max(), pond.height[3], f"{clock.now:.3f}")
    print(clock.now)
"""
SMOOTHED = """
import numpy as np


class Signal:
    def __init__(self, values):
        self.values = values

    def smooth(self):
        smoothed = np.zeros_like(self.values)
        for i in range(1, len(smoothed) - 1):
            beside = self.values[i - 1] + self.values[i + 1]
            smoothed[i] = 0.25 * beside + 0.5 * self.values[i]
        self.values = smoothed


def rounds(signal, count):
    for _ in range(count):
        signal.smooth()
    return signal.values
"""
HEAT = target("heat.py")
OBJECTS = (
    Program(
        "smoothed",
        SMOOTHED,
        "rounds",
        ((),),
        ("len(gpu_smoothed)", "signal.values = gpu_values.copy_to_host()"),
        4,
        ("args = (Signal(rng.random(15)), 4)", "args = (Signal(rng.random(1)), 4)"),
    ),
    Program(
        "plate",
        HEAT.replace("parse_args()", "parse_args(['12', '10'])"),
        "main",
        ((),),
        ("plate.u = gpu_u.copy_to_host()", "plate.time = time", "time += dt"),
        10,
    ),
    Program(
        "membrane",
        WAVE,
        "Membrane.run",
        ((),),
        ("self.old, self.now", "energies.append(float((now ** 2).sum()))"),
        7,
        (
            "args = (Membrane(9), 7)",
            "args = (Membrane(9), 1)",
            "args = (Membrane(9), 0)",
            "m = Membrane(9); m.old = m.now; args = (m, 4)",
            "m = Membrane(9); m.steps = True; args = (m, 4)",
            "m = type('Drum', (Membrane,), {})(9); args = (m, 4)",
        ),
    ),
    Program(
        "reaction",
        REACTION,
        "simulate",
        ((grid(7, 9), grid(7, 9, 1), 4), (grid(7, 1), grid(7, 1, 1), 2), (grid(3, 3),) * 2 + (2,)),
        ("feed = 0.035", "u = gpu_u.copy_to_host()"),
        4,
    ),
    Program(
        "cooling",
        COOLING,
        "settle",
        ((),),
        ("r_2 = r / 2",),
        3,
        (
            "args = (Rod(rng.random(20)), 0.2, 0.05)",
            "args = (Rod(rng.random(20)), 0.2, 0.0)",
            "args = (Rod(rng.random(20)), 0.2, 5.0)",
            "args = (Rod(rng.random(2)), 0.2, 0.05)",
        ),
    ),
    Program(
        "relaxed",
        RELAXED,
        "solve",
        (
            (grid(8, 7), grid(8, 7), grid(8, 7, 2), 0.1, 0.02),
            (grid(8, 7), grid(8, 7), grid(8, 7, 2), 0.1, 9.0),
            (grid(8, 7), grid(8, 9, 1), grid(8, 9, 2), 0.1, 0.02),
        ),
        ("gpu_p.copy_to_host(p)", "break"),
        6,
    ),
    Program(
        "pond",
        LEVELS,
        "watch",
        ((),),
        ("pond.height", "clock.now = "),
        8,
        (
            "clock = Clock(0.1); args = (Pond(rng.random(12), clock), clock, 6)",
            "clock = Clock(0.1); args = (Pond(rng.random(12), clock), clock, 0)",
            "clock = Clock(1); args = (Pond(rng.random(12), clock), clock, 3)",
        ),
    ),
)

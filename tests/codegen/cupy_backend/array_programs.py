"""Programs over whole arrays in different hands, with arguments: what the CuPy back end is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arguments = Callable[[np.random.Generator], tuple[Any, ...]]
HEAD = "import numpy as np\n\n\n"
SIZE = 21_000
GRID = (150, 143)


@dataclass(frozen=True)
class Program:
    """A module whose function ``f`` holds the loop, and what it is called with."""

    name: str
    text: str
    arguments: Arguments
    exact: bool = True


PROGRAMS = (
    Program(
        "life",
        HEAD
        + """\
def neighbours(g):
    rows = np.roll(g, 1, axis=0) + np.roll(g, -1, axis=0)
    all_rows = rows + g
    return rows + np.roll(all_rows, 1, axis=1) + np.roll(all_rows, -1, axis=1)


def f(grid, generations):
    history = []
    for generation in range(generations):
        n = neighbours(grid)
        born = (grid == 0) & (n == 3)
        stay = (grid == 1) & ((n == 2) | (n == 3))
        grid = np.where(born | stay, np.ones_like(grid), np.zeros_like(grid))
        history.append(int(grid.sum()))
    return grid, history
""",
        lambda rng: ((rng.random(GRID) < 0.3).astype(np.int64), 6),
    ),
    Program(
        "burgers in float32, with a time that is kept",
        HEAD
        + """\
def f(u, v, nu, dx, dt, nt):
    t = 0.0
    for n in range(nt):
        un = u.copy()
        vn = v.copy()
        u[1:-1, 1:-1] = (un[1:-1, 1:-1]
                         - dt / dx * un[1:-1, 1:-1] * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
                         + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2]))
        v[1:-1, 1:-1] -= dt / dx * vn[1:-1, 1:-1] * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
        u[0, :] = 1
        u[-1, :] = 1
        v[:, 0] = v[:, 1]
        t += dt
    return u, v, t
""",
        lambda rng: (
            rng.random(GRID).astype(np.float32),
            rng.random(GRID).astype(np.float32),
            0.01,
            0.1,
            0.001,
            5,
        ),
    ),
    Program(
        "two arrays that change places",
        HEAD
        + """\
def f(a, b, steps):
    for _ in range(steps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3.0
        a, b = b, a
    return a
""",
        lambda rng: (rng.random(SIZE), rng.random(SIZE), 5),
    ),
    Program(
        "Jacobi that says how far it has come",
        HEAD
        + """\
def f(p, b, tolerance, most):
    for iteration in range(most):
        pn = p.copy()
        p[1:-1, 1:-1] = 0.25 * (pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1]
                                - b[1:-1, 1:-1])
        if iteration % 3 == 0:
            change = float(np.abs(p - pn).max())
            print(iteration, f"{change:.3f}")
            if change < tolerance:
                break
    return p, iteration
""",
        lambda rng: (rng.random(GRID), rng.random(GRID), 0.3, 12),
    ),
    Program(
        "damped waves: functions of another library, and sums",
        HEAD
        + """\
def f(x, velocity, k, dt, steps):
    energy = []
    for _ in range(steps):
        force = -k * np.sin(x) - 0.1 * velocity
        velocity += dt * force
        x += dt * velocity
        energy.append(0.5 * float((velocity**2).sum()))
    return x, velocity, energy
""",
        lambda rng: (rng.random(SIZE), rng.random(SIZE), 0.7, 0.01, 5),
        exact=False,
    ),
    Program(
        "an inner loop, and a part with a name",
        HEAD
        + """\
def f(u, weights, outer):
    for cycle in range(outer):
        inside = u[1:-1]
        for sweep in range(3):
            inside += weights * (u[2:] - u[:-2])
        u[0] = 0.5
    return u
""",
        lambda rng: (rng.random(SIZE), 0.01, 3),
    ),
    Program(
        "a script of its own",
        HEAD
        + """\
rng = np.random.default_rng(3)
u = rng.random(21000)
rate = 0.2
for step in range(8):
    lap = np.roll(u, 1) - 2 * u + np.roll(u, -1)
    u = u + rate * lap
    if step % 4 == 0:
        print(step, u.min(), np.max(u))
print(u[:3])


def f():
    return u
""",
        lambda rng: (),
    ),
)

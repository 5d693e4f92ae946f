"""Programs whose loops become CUDA kernels, in the hands of different authors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TARGETS = Path(__file__).parents[3] / "targets"


@dataclass(frozen=True)
class Program:
    """A hot function; the first arguments are observed, the others are for the fallbacks."""

    name: str
    text: str
    function: str | None
    """None: the loop stands in the module itself."""
    args: tuple[tuple[Any, ...], ...]
    contains: tuple[str, ...] = ()
    """What the new text must hold."""
    launches: int = 1
    """Kernels that run on the first arguments, at least."""
    inputs: tuple[str, ...] = ("",)
    """Statements that set ``args`` in the module's names, for objects of its classes."""
    tolerance: float = 0.0
    """On a GPU: relative, where functions of libdevice are called."""


def grid(n: int, m: int, seed: int = 0) -> np.ndarray:
    """Random numbers."""
    return np.random.default_rng(seed).random((n, m))


def board(n: int, m: int) -> np.ndarray:
    """Cells of zeros and ones."""
    return (grid(n, m) < 0.4).astype(int)


def target(name: str, end: str | None = None) -> str:
    """The text of a bundled program, up to a line if it runs at module level."""
    text = (TARGETS / name).read_text()
    return text if end is None else text[: text.index(end)]


NANS = np.where(grid(6, 9) < 0.3, np.nan, grid(6, 9, 1) - 0.5)
"""Numbers, zeros of both signs among them, and some that are none."""
NANS[0] = -0.0
HEAT = """
def heat(u, new, r, steps):
    n, m = u.shape
    for step in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                # the five-point star
                lap = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                new[i, j] = u[i, j] + r * lap
        u, new = new, u
    return u, new
"""
BURGERS = """
import numpy as np


def burgers(u, nt, dt, dx):
    nx = len(u)
    for n in range(nt):
        un = u.copy()
        for i in range(1, nx):
            u[i] = un[i] - un[i] * dt / dx * (un[i] - un[i - 1])
    return u
"""
WAVE = """
import numpy as np


def wave(u, before, c, steps):
    n = u.shape[0]
    frames = []
    for t in range(steps):
        after = np.empty(n)
        for i in range(n):
            left = u[i - 1] if i > 0 else u[i]
            after[i] = 2.0 * u[i] - before[i] + c * (left - u[i])
        before = u
        u = after
        if t % 2 == 0:
            print("step", t)
        frames.append(u.copy())
    return u, before, frames
"""
DIFFUSE = """
import numpy as np


def step(field, rate):
    rows, columns = field.shape
    out = np.zeros_like(field)
    for y in range(1, rows - 1):
        for x in range(1, columns - 1):
            if field[y, x] < 0.1:
                continue
            out[y, x] = field[y, x] + rate * (field[y - 1, x] - 2.0 * field[y, x] + field[y + 1, x])
    return out


def diffuse(field, rate, steps):
    for _ in range(steps):
        field = step(field, rate)
    return field
"""
PRODUCT = """
def product(a, b, c, alpha):
    n, m = c.shape
    inner = a.shape[1]
    for i in range(n):
        for j in range(m):
            c[i, j] *= alpha
        for k in range(inner):
            for j in range(m):
                c[i, j] += a[i, k] * b[k, j]
    return c
"""
TRANSPOSED = """
def scale(a, b):
    n, m = a.shape
    for j in range(m):
        for i in range(n):
            b[i, j] = 3.0 * a[i, j] + a[i, j] / 7.0
"""
BODIES = """
import numpy as np


def forces(pos, mass, acc):
    n = len(mass)
    for i in range(n):
        ax = 0.0
        ay = 0.0
        for j in range(n):
            dx = pos[j, 0] - pos[i, 0]
            dy = pos[j, 1] - pos[i, 1]
            r2 = dx * dx + dy * dy + 0.01
            inverse = 1.0 / (r2 * np.sqrt(r2))
            ax += mass[j] * dx * inverse
            ay += mass[j] * dy * inverse
        acc[i, 0] = ax
        acc[i, 1] = ay
    return acc
"""
LISTS = """
def powers(xs, out, k):
    for i in range(len(xs)):
        v = 1.0
        for _ in range(k):
            v = v * xs[i] + 0.5
        out[i] = v
    return out
"""
GRAY = """
import numpy as np


class Filter:
    def __init__(self, image):
        self.image = image
        self.out = np.zeros_like(image)

    def run(self, rounds):
        h, w = self.image.shape
        for r in range(rounds):
            for y in range(h):
                for x in range(w):
                    total = 0
                    for d in range(-1, 2):
                        total += self.image[y, (x + d) % w]
                    self.out[y, x] = (total + r) // 3
        return self.out
"""

SOFTMAX = """
import math

import numpy as np


def softmax(x, shift):
    n, m = x.shape
    out = np.empty((n, m))
    for i in range(n):
        s = 0.0
        for j in range(m):
            out[i, j] = math.exp(x[i, j] - shift)
            s += out[i, j]
        for j in range(m):
            out[i, j] /= s
    return out
"""
ROTATE = """
def rotate(a, b, k):
    n = len(a)
    for i in range(n):
        b[i] = (i + k) % n + 2.0 * a[(i + 3) % n]
        b[i] += (i - 1) % n
    return b
"""
ERODE = """
def erode(grid, block, steps):
    n, m = grid.shape
    for t in range(steps):
        for i in range(n):
            for j in range(1, m):
                block[i, j] = max(min(grid[i, j], grid[i, j - 1]), 0.25 * grid[i, j] * grid[i, j])
        grid, block = block, grid
    return grid, block
"""
SCRIPT = """
import numpy as np

nx, ny = 12, 9
dt = 0.1
u = np.fromfunction(lambda i, j: (i * j) % 7 / 7.0, (ny, nx))
un = np.zeros_like(u)
for step in range(4):
    un = u.copy()
    for j in range(1, ny - 1):
        for i in range(1, nx - 1):
            u[j, i] = un[j, i] + dt * (un[j, i + 1] - 2 * un[j, i] + un[j, i - 1])
    if step % 2 == 0:
        print("step", step)
"""
INVERSE = """
def inverse(x, out, d):
    out[0] = 7.0
    for i in range(len(x)):
        out[i] = 1.0 / (d - i) + x[i]
    return out
"""
SWEEPS = """
import numpy as np


def sweeps(p, b, dx, dy, rounds):
    rows, columns = p.shape
    for q in range(rounds):
        pn = p.copy()
        for j in range(1, rows - 1):
            for i in range(1, columns - 1):
                p[j, i] = (pn[j, i + 1] * dy + pn[j + 1, i] * dx - b[j, i]) / (2.0 * (dx + dy))
        for j in range(rows):
            p[j, columns - 1] = p[j, columns - 2]
    return p
"""

PROGRAMS = (
    Program(
        "life",
        target("life_naive.py"),
        "simulate",
        ((board(9, 11), 3), (board(9, 11), 0), (board(3, 1), 2), (board(4, 4) > 0, 2)),
        (
            "gpu_state, gpu_new_state = gpu_new_state, gpu_state",
            "new_state[i, j] = 0",
            "_below(",
        ),
        3,
    ),
    Program(
        "mandelbrot",
        target("mandelbrot.py", "width = int"),
        "render",
        ((17, 12, 20), (2, 2, 5), (5, 0, 5)),
        ("col, row = cuda.grid(2)", "cuda.device_array_like(image)", "dmul_rn(zr, zr)"),
    ),
    Program(
        "pairwise",
        target("pairwise.py"),
        "distance_matrix",
        ((grid(12, 3),), (grid(1, 2),), (grid(4, 0),), (grid(12, 3).astype(np.float32),)),
        ("j, i = cuda.grid(2)",),
    ),
    Program(
        "heat",
        HEAT,
        "heat",
        (
            (grid(9, 8), grid(9, 8, 1), 0.1, 3),
            (grid(9, 8), grid(9, 8, 1), 0.1, 0),
            (grid(2, 8), grid(2, 8, 1), 0.1, 2),
            (grid(9, 8), grid(9, 7, 1), 0.1, 2),
            (np.asfortranarray(grid(9, 8)), grid(9, 8, 1), 0.1, 2),
        ),
        ("u, new, gpu_u, gpu_new = new, u, gpu_new, gpu_u", "# the five-point star"),
        3,
    ),
    Program(
        "burgers",
        BURGERS,
        "burgers",
        (
            (grid(1, 40)[0], 4, 0.02, 0.1),
            (grid(1, 1)[0], 4, 0.02, 0.1),
            (grid(1, 9)[0], 0, 1.0, 2.0),
        ),
        ("gpu_un.copy_to_device(gpu_u)",),
        4,
    ),
    Program(
        "wave",
        WAVE,
        "wave",
        (
            (grid(1, 30)[0], grid(1, 30, 1)[0], 0.2, 4),
            (grid(1, 30)[0], grid(1, 30, 1)[0], 0.2, 1),
            (grid(1, 30)[0], grid(1, 31, 1)[0], 0.2, 3),
        ),
        ("gpu_before, gpu_u, gpu_after = gpu_u, gpu_after, gpu_before",),
        4,
    ),
    Program(
        "diffuse",
        DIFFUSE,
        "diffuse",
        ((grid(9, 8), 0.2, 3), (grid(1, 3), 0.2, 2), (grid(9, 8), 0.2, 0)),
        ("return", "gpu_out.copy_to_device(gpu_out_zeros)"),
        3,
    ),
    Program(
        "product",
        PRODUCT,
        "product",
        (
            (grid(9, 20), grid(20, 7), grid(9, 7, 1), 0.5),
            (grid(9, 0), grid(0, 7), grid(9, 7, 1), 0.5),
            (grid(9, 20), grid(20, 7), grid(9, 7, 1), 2),
        ),
        ("dmul_rn(a[i, k], b[k, j])", "for k in range(inner):"),
    ),
    Program(
        "transposed", TRANSPOSED, "scale", ((grid(6, 9), grid(6, 9, 1)),), ("j, i = cuda.grid",)
    ),
    Program(
        "bodies",
        BODIES,
        "forces",
        ((grid(14, 2), grid(1, 14)[0], grid(14, 2)), (grid(1, 2), grid(1, 1)[0], grid(1, 2))),
        ("math.sqrt(r2)",),
    ),
    Program(
        "lists",
        LISTS,
        "powers",
        (([0.5, 0.25, 0.75] * 4, [0.0] * 12, 30), ([0.5, 1], [0.0] * 2, 3), ([], [], 1)),
        ("np.array(xs", "out[:]"),
    ),
    Program(
        "gray",
        GRAY,
        "Filter.run",
        ((),),
        ("_below(",),
        2,
        (
            "args = (Filter((rng.random((8, 9)) * 200).astype(int)), 2)",
            "args = (Filter((rng.random((8, 1)) * 200).astype(int)), 2)",
            "args = (Filter((rng.random((8, 9)) * 200).astype(np.uint8)), 2)",
        ),
    ),
    Program(
        "softmax",
        SOFTMAX,
        "softmax",
        ((grid(7, 5), 0.5), (grid(7, 5), -1000.0), (grid(0, 5), 0.5)),
        ("_softmax_exp(x[i, j] - shift, failed)", "if failed.copy_to_host()[0]:"),
        tolerance=1e-14,
    ),
    Program(
        "rotate",
        ROTATE,
        "rotate",
        ((grid(1, 20)[0], np.zeros(20), 7), (grid(1, 2)[0], np.zeros(2), 7)),
        ("(i + k) % n", "a[(i + 3) % n]", "_wrapped("),
    ),
    Program(
        "erode",
        ERODE,
        "erode",
        ((NANS, grid(6, 9), 3), (grid(6, 9) - 0.5, NANS.copy(), 2)),
        ("_max(", "grid_2 = "),
    ),
    Program("script", SCRIPT, None, ((),), ("un = gpu_un.copy_to_host()",), 4),
    Program(
        "inverse",
        INVERSE,
        "inverse",
        ((grid(1, 20)[0], np.zeros(20), 25), (grid(1, 20)[0], np.zeros(20), 12)),
        ("_divisor(",),
    ),
    Program(
        "sweeps",
        SWEEPS,
        "sweeps",
        (
            (grid(7, 6), grid(7, 6, 1), 0.1, 0.2, 3),
            (grid(7, 6), grid(7, 6, 1), 0.25, -0.25, 3),
            (grid(1, 6), grid(1, 6, 1), 0.1, 0.2, 2),
        ),
        ("gpu_pn.copy_to_device(gpu_p)",),
        6,
    ),
)

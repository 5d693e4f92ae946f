"""Methods and helpers with defaults and keywords, compiled along with the loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import assert_same, chain_for, run
from test_numba_cpu import _private_cache

from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.edits import apply_edits
from gpuadvise.model import Match, Refusal

__all__ = ["_private_cache"]

LIFE = """
import numpy as np

class Grid:
    def __init__(self, cells):
        self.cells = cells
        self.n = len(cells)
        self.m = len(cells[0])
        self.born = 3

    def count(self, i, j):
        total = 0
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):
                if (di, dj) != (0, 0):
                    total += self.cell(i + di, j + dj)
        return total

    def cell(self, i, j, outside=0):
        if 0 <= i < self.n and 0 <= j < self.m:
            return int(self.cells[i, j])
        return outside

    def step(self):
        new = np.zeros((self.n, self.m), dtype=np.int64)
        for i in range(self.n):
            for j in range(self.m):
                c = self.count(i, j)
                if c == self.born or (c == 2 and self.cells[i, j] == 1):
                    new[i, j] = 1
        self.cells = new
        return new


class Torus(Grid):
    def cell(self, i, j, outside=0):
        return int(self.cells[i % self.n, j % self.m])
""".lstrip("\n")
OSCILLATOR = """
class Oscillator:
    def __init__(self, k=1.5):
        self.k = k
        self.damping = 0.1
        self.x = 1.0
        self.steps = 0

    def rhs(self, x, v, force=0.0):
        return -self.k * x - self.damping * v + force

    def run(self, n, dt):
        v = 0.0
        out = []
        for i in range(n):
            a = self.rhs(self.x, v)
            v = v + dt * a
            self.x += dt * self.rhs(self.x, v, force=0.01)
            self.steps += 1
            out.append(self.x)
        return out, v
""".lstrip("\n")
DEFAULTS = """
def scale(x, k=2, c=0.5):
    return x * k + c

def f(a, n):
    for i in range(n):
        a[i] = scale(a[i]) + scale(a[i], 3) + scale(a[i], c=1.5)
    return a
""".lstrip("\n")
GLOBALS = """
import math

grid = [[1, 0, 1], [0, 1, 1], [1, 1, 0]]
xs = [0.5, 1.5, 2.5]
scale = 2

def distance(i, j):
    dx = xs[i] - xs[j]
    return math.sqrt(dx * dx + 0.25 * grid[i][j])

def corner():
    return grid[0][0] * scale

def shrink():
    global scale
    scale = 1

def f(n):
    s = 0.0
    k = 0
    for i in range(n):
        for j in range(n):
            if i != j:
                s += distance(i, j)
            k += corner()
    return s, k
""".lstrip("\n")
ROOTS = """
import math

def root(x):
    return math.sqrt(x) + math.log(x)

def f(a):
    s = 0.0
    for v in a:
        s += root(v)
    return s
""".lstrip("\n")
POWERS = """
import math

def length(x, y):
    return math.sqrt(x ** 2 + y ** 2)

def force(x, y, g=2.0):
    return g * x / length(x, y) ** 3

def f(a, b):
    s = 0.0
    for i in range(len(a)):
        s += force(a[i], b[i]) + a[i] ** 2
    return s
""".lstrip("\n")
PROBE = OSCILLATOR.replace("-self.k * x", "-self.k * self.x")

COMPILED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "methods of methods": (
        LIFE,
        "Grid.step",
        (
            "args = (Grid(rng.integers(0, 2, (7, 9))),)",
            "args = (Grid(rng.integers(0, 2, (1, 1))),)",
            "args = (Grid(rng.random((3, 3))),)",
            "args = (Torus(rng.integers(0, 2, (7, 9))),)",
        ),
    ),
    "keywords, attributes assigned by the loop": (
        OSCILLATOR,
        "Oscillator.run",
        (
            "args = (Oscillator(), 50, 0.01)",
            "args = (Oscillator(), 0, 0.01)",
            "args = (Oscillator(2), 3, 0.5)",
            "args = (Oscillator(), 3, 1)",
        ),
    ),
    "the method reads what the loop assigns": (
        PROBE,
        "Oscillator.run",
        ("args = (Oscillator(), 50, 0.01)", "args = (Oscillator(2), 4, 0.5)"),
    ),
    "globals that the program may change": (
        GLOBALS,
        "f",
        (
            "args = (3,)",
            "args = (0,)",
            "args = (4,)",
            "grid[0][0] = 7; shrink(); args = (3,)",
            "xs[1] = 3; args = (3,)",
        ),
    ),
    "exceptions of helpers": (
        ROOTS,
        "f",
        ("args = ([1.0, 2.0],)", "args = ([1.0, -1.0],)", "args = ([0.0],)"),
    ),
    "powers in helpers": (
        POWERS,
        "f",
        (
            "args = ((rng.random(99) + 0.1).tolist(), rng.random(99).tolist())",
            "args = ([0.0], [0.0])",
            "args = ([1e200], [1e200])",
            "args = ([], [])",
        ),
    ),
    "defaults": (
        DEFAULTS,
        "f",
        (
            "args = (rng.random(5), 5)",
            "args = (np.arange(5), 5)",
            "args = ([1.0, 2.0], 2)",
            "args = (rng.random(5), 9)",
        ),
    ),
}


def rewritten(text: str, function: str, inputs: str) -> str:
    region = chain_for(text, function, inputs=inputs)[0]
    match = emit(region, parallel=False)
    assert isinstance(match, Match), match
    assert match.safe, match.ledger
    return apply_edits(region.source, match.edits).decode()


@pytest.mark.parametrize("name", COMPILED)
def test_same(name: str) -> None:
    text, function, settings = COMPILED[name]
    after = rewritten(text, function, settings[0])
    assert "_kernel(" in after
    for inputs in settings:
        before, now = run(text, function, inputs=inputs), run(after, function, inputs=inputs)
        assert (before.error and before.error[0]) == (now.error and now.error[0])
        if not before.error:
            assert_same(before, now)


def test_the_kernel_runs_for_what_was_observed(tmp_path: Path) -> None:
    after = rewritten(LIFE, "Grid.step", COMPILED["methods of methods"][2][0])
    file = tmp_path / "life.py"
    file.write_text(after)
    names: dict[str, Any] = {"__name__": "life", "__file__": str(file)}
    exec(compile(after, str(file), "exec"), names)
    names["Torus"](np.eye(4, dtype=int)).step()
    assert not names["_grid_step_kernel"].signatures, "a subclass has methods of its own"
    names["Grid"](np.eye(4, dtype=int)).step()
    assert len(names["_grid_step_kernel"].signatures) == 1


REFUSED: dict[str, tuple[str, str, str, str]] = {
    "a method that assigns": (
        OSCILLATOR.replace(
            "        return -self.k", "        self.k = 1.5\n        return -self.k"
        ),
        "Oscillator.run",
        "args = (Oscillator(), 50, 0.01)",
        "assigns",
    ),
    "a method put in place of another": (
        OSCILLATOR + "\n\ndef fast(self, x, v, force=0.0):\n    return 0.0\n\n\n"
        "def patch():\n    Oscillator.rhs = fast\n",
        "Oscillator.run",
        "args = (Oscillator(), 50, 0.01)",
        "may be replaced",
    ),
    "a global that the loop assigns": (
        "scale = 2.0\n\n\ndef times(x):\n    return x * scale\n\n\ndef f(a):\n"
        "    global scale\n    for i in range(len(a)):\n        a[i] = times(a[i])\n"
        "        scale = scale * 0.5\n    return a\n",
        "f",
        "args = (rng.random(5),)",
        "reads the global scale",
    ),
    "a default that is no number": (
        DEFAULTS.replace("c=0.5", "c=None").replace("+ c", "+ 1.0"),
        "f",
        "args = (rng.random(5), 5)",
        "default is no number",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, function, inputs, words = REFUSED[name]
    found = emit(chain_for(text, function, inputs=inputs)[0], parallel=False)
    assert isinstance(found, Refusal) and words in found.reason, found

"""Write loops over array elements as whole-array NumPy statements.

Why it is slow: every iteration boxes elements into Python objects and dispatches each operation
on them through the interpreter; an array statement does the same work in compiled code.
Why it may differ: it does not. Sums keep the loop's order, and whatever was only observed
(types, sizes, ranges, memory sharing) is tested in front of the array code, with the original loop
as the other branch.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.numpy_backend import emit

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
def differences(s, t):
    count = 0
    for i in range(len(s)):
        if s[i] != t[i] and t[i] not in "-?":
            count += 1
    return count
""",
        inputs="args = ('GATTACA?' * 300, 'GACTA-AC' * 300)",
        function="differences",
        contains=("np.frombuffer(s.encode()", 'ord("-")'),
    ),
    Rewrites(
        before="""\
def distance(a, b):
    d = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost)
    return d
""",
        inputs="args = ('GATTACA' * 12, 'GACTA-AC' * 11)",
        function="distance",
        contains=("# one after the other, as in the loop", "np.minimum.accumulate("),
    ),
    Rewrites(
        before="""\
import numpy as np


def step(grid):
    n, m = grid.shape
    new = np.zeros((n, m), dtype=int)
    for i in range(n):
        for j in range(m):
            total = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di == 0 and dj == 0:
                        continue
                    total += grid[(i + di) % n, (j + dj) % m]
            if grid[i, j] == 1 and (total < 2 or total > 3):
                new[i, j] = 0
            elif grid[i, j] == 0 and total == 3:
                new[i, j] = 1
            else:
                new[i, j] = grid[i, j]
    return new
""",
        inputs="args = (rng.integers(0, 2, (23, 31)),)",
        function="step",
        contains=("padded", "np.uint8"),
    ),
    Rewrites(
        before="""\
import numpy as np


def diffuse(u, alpha, steps):
    n, m = u.shape
    new = np.zeros((n, m))
    for step in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                laplacian = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4 * u[i, j]
                new[i, j] = u[i, j] + alpha * laplacian
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = new[i, j]
    return u
""",
        inputs="args = (rng.random((19, 24)), 0.1, 6)",
        function="diffuse",
        contains=("for step in range(steps):", "u[2:, 1:-1]"),
    ),
    Rewrites(
        before="""\
def total_energy(speeds, masses):
    energy = 0.0
    for i in range(len(speeds)):
        energy += 0.5 * masses[i] * speeds[i] * speeds[i]
    return energy
""",
        inputs="args = (rng.random(301), rng.random(301))",
        function="total_energy",
        contains=("accumulate",),
    ),
    Rewrites(
        before="""\
def rescale(values, low, high):
    out = [0.0] * len(values)
    for i in range(len(values)):
        if values[i] < low:
            out[i] = low
        elif values[i] > high:
            out[i] = high
        else:
            out[i] = values[i] * 0.5
    return out
""",
        inputs="args = (rng.random(300).tolist(), 0.25, 0.75)",
        function="rescale",
        contains=(".tolist()", "np.where"),
    ),
    Rewrites(
        before="""\
def histogram(counts, bins, weights, total):
    for i in range(len(bins)):
        counts[bins[i]] += 1
        total[bins[i]] += weights[i]
""",
        inputs="""\
bins = rng.integers(0, 10, 500)
args = (np.zeros(10, dtype=int), bins, rng.random(500), np.zeros(10))""",
        function="histogram",
        contains=("np.bincount(bins", "np.add.at(total"),
    ),
    Ignores(
        before="""\
def smear(u):
    for i in range(1, len(u)):
        for j in range(4, u.shape[1] - 4):
            u[i, j] = u[i - 1, j + 4] + u[i, j - 1]
""",
        because="an element needs one too far to the right in the row above",
        inputs="args = (rng.random((40, 50)),)",
        function="smear",
    ),
    Ignores(
        before="""\
def last_letter(text, letter):
    found = "none"
    for ch in text:
        if ch > letter:
            found = ch
    return found
""",
        because="each character that is kept hangs on those before, and text would come back",
        inputs="args = ('GATTACA' * 300, 'C')",
        function="last_letter",
    ),
    Ignores(
        before="""\
def tally(counts, bins):
    for i in range(len(bins)):
        counts[bins[i]] += 1
""",
        inputs="args = (np.zeros(10, dtype=np.uint8), rng.integers(0, 10, 500))",
        function="tally",
        because="bytes wrap at 256, with a warning each time",
    ),
    Ignores(
        before="""\
def last(marks, bins):
    for i in range(len(bins)):
        marks[bins[i]] = 2 * marks[bins[i]] + 1
""",
        inputs="args = (np.zeros(10, dtype=int), rng.integers(0, 10, 500))",
        function="last",
        because="what a bin becomes depends on how often it came before",
    ),
    Ignores(
        before="""\
def prefix(x):
    for i in range(1, len(x)):
        x[i] = x[i] + x[i - 1]
""",
        inputs="args = (rng.random(300),)",
        function="prefix",
        because="x[i - 1] is the value that the iteration before has just written",
        reason="another iteration",
    ),
    Ignores(
        before="""\
def sweep(u):
    for i in range(1, len(u) - 1):
        for j in range(1, len(u[0]) - 1):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
""",
        inputs="args = (rng.random((20, 20)),)",
        function="sweep",
        because="a Gauss-Seidel sweep uses half of the new values",
        reason="another iteration",
    ),
    Ignores(
        before="""\
def escape(c, limit):
    z = 0.0
    n = 0
    while n < limit and z * z < 4.0:
        z = z * z + c
        n += 1
    return n
""",
        inputs="args = (0.3, 100)",
        function="escape",
        because="each z needs the one before",
        reason="while",
    ),
)


@rule(needs={"numpy"}, cases=CASES)
def loops_to_numpy(region: Region) -> Match | Refusal | None:
    """Hand the region's nest to the NumPy back end."""
    return emit(region)

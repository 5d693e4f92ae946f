"""Loops in the styles of many authors, for the numba back end: text, function, arguments.

``COMPILED``: must be rewritten and give the same bits and types on all argument sets, the first of
which is the one observed; the others also break what was observed. ``REFUSED``: part of the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

rng = np.random.default_rng(42)


@dataclass(frozen=True)
class Loop:
    """One case."""

    name: str
    text: str
    function: str | None
    args: tuple[tuple[Any, ...], ...]
    reason: str | None = None


class Grid:
    """A plain object for methods."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


def _f(*shape: int) -> Any:
    return rng.random(shape)


def _lists(n: int, m: int) -> list[list[float]]:
    return [[float(x) for x in row] for row in rng.random((n, m))]


COMPILED: list[Loop] = []
REFUSED: list[Loop] = []


def good(name: str, text: str, function: str | None, *args: tuple[Any, ...]) -> None:
    COMPILED.append(Loop(name, text.lstrip("\n"), function, args))


def bad(name: str, text: str, function: str | None, reason: str, *args: tuple[Any, ...]) -> None:
    REFUSED.append(Loop(name, text.lstrip("\n"), function, args, reason))


# ------------------------------------------------------------ stencils, grids
good(
    "life_modulo",
    """
import numpy as np

def step(grid, n, m):
    new = np.zeros((n, m), dtype=int)
    for i in range(n):
        for j in range(m):
            s = 0
            # count the neighbours
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di == 0 and dj == 0:
                        continue
                    s += grid[(i + di) % n, (j + dj) % m]
            if grid[i, j] == 1 and (s == 2 or s == 3):
                new[i, j] = 1
            elif s == 3:
                new[i, j] = 1
    return new
""",
    "step",
    (rng.integers(0, 2, (12, 9)), 12, 9),
    (rng.integers(0, 2, (1, 1)), 1, 1),
    (rng.integers(0, 2, (5, 4)).astype(np.int32), 5, 4),
    (rng.integers(0, 2, (5, 4)).astype(float), 4, 4),
    (rng.integers(0, 2, (3, 3)), 4, 4),
)
good(
    "life_lists_offsets",
    """
OFFSETS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]

def life(board):
    rows, cols = len(board), len(board[0])
    result = [[0] * cols for _ in range(rows)]
    for r in range(rows):
        for c in range(cols):
            live = 0
            for dr, dc in OFFSETS:
                if 0 <= r + dr < rows and 0 <= c + dc < cols:
                    live += board[r + dr][c + dc]
            if live == 3 or (live == 2 and board[r][c]):
                result[r][c] = 1
    return result
""",
    "life",
    (rng.integers(0, 2, (8, 7)).tolist(),),
    ([[1]],),
    ([[1.0, 0.0], [0.0, 1.0]],),
)
good(
    "sin_and_cos_of_numpy",
    """
import numpy as np

def turn(x, y, angles, out):
    for i in range(len(angles)):
        c = np.cos(angles[i])
        s = np.sin(angles[i])
        x, y = c * x - s * y, s * x + c * y
        out[i] = np.sin(x) + i
    return x, y
""",
    "turn",
    (1.0, 0.5, 40 * _f(9), np.zeros(9)),
    (1.0, 0.5, 1e9 * _f(9), np.zeros(9)),
    (1.0, 0.5, np.array([np.inf, 1.0, np.nan]), np.zeros(3)),
    (1, 0, _f(5).astype(np.float32), np.zeros(5)),
)
good(
    "gauss_seidel",
    """
def sweep(u, f, h):
    n = u.shape[0]
    worst = 0.0
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            old = u[i, j]
            u[i, j] = 0.25 * (u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - h * h * f[i, j])
            worst = max(worst, abs(u[i, j] - old))
    return worst
""",
    "sweep",
    (_f(9, 9), _f(9, 9), 0.1),
    (_f(2, 2), _f(2, 2), 0.1),
    (_f(5, 5), _f(5, 5), 1),
    (_f(5, 5), _f(4, 5), 0.1),
)
good(
    "heat_in_a_class",
    """
import numpy as np


class Heat:
    def step(self, dt):
        un = self.u.copy()
        for i in range(1, self.u.shape[0] - 1):
            for j in range(1, self.u.shape[1] - 1):
                lap = un[i+1, j] + un[i-1, j] + un[i, j+1] + un[i, j-1] - 4 * un[i, j]
                self.u[i, j] = un[i, j] + self.alpha * dt * lap
                self.total += abs(lap)
        return self.total
""",
    "Heat.step",
    (Grid(u=_f(7, 8), alpha=0.1, total=0.0), 0.5),
    (Grid(u=_f(2, 2), alpha=0.1, total=0.0), 0.5),
    (Grid(u=_f(4, 4), alpha=1, total=0), 0.5),
)
good(
    "wave_1d",
    """
def advance(u, u_old, u_new, c2):
    nx = len(u)
    for i in range(1, nx - 1):
        u_new[i] = 2 * u[i] - u_old[i] + c2 * (u[i + 1] - 2 * u[i] + u[i - 1])
    u_new[0] = 0.0
    u_new[nx - 1] = 0.0
    return u_new
""",
    "advance",
    (_f(20), _f(20), np.zeros(20), 0.25),
    (_f(3), _f(3), np.zeros(3), 0.25),
    (list(_f(5)), list(_f(5)), [0.0] * 5, 0.25),
)
good(
    "threshold_uint8",
    """
def threshold(img, out, level):
    for y in range(img.shape[0]):
        for x in range(img.shape[1]):
            if img[y, x] > level:
                out[y, x] = 255
            else:
                out[y, x] = img[y, x] // 2
""",
    "threshold",
    (rng.integers(0, 256, (8, 9), dtype=np.uint8), np.zeros((8, 9), np.uint8), 100),
    (rng.integers(0, 256, (3, 2), dtype=np.uint8), np.zeros((3, 2), np.uint8), 100.5),
)
good(
    "uint8_wraps",
    """
def brighten(img, out):
    h, w = img.shape
    for y in range(h):
        for x in range(w):
            v = img[y, x] + img[y, w - 1 - x]
            out[y, x] = v // 2 + 3
""",
    "brighten",
    (rng.integers(0, 256, (8, 9), dtype=np.uint8), np.zeros((8, 9), np.int64)),
)
good(
    "float32_axpy",
    """
def axpy(a, x, y):
    for i in range(x.shape[0]):
        y[i] += a * x[i] + 0.1 * x[i] * x[i] - x[i] / 3
""",
    "axpy",
    (0.3, _f(50).astype(np.float32), _f(50).astype(np.float32)),
    (np.float32(0.3), _f(5).astype(np.float32), _f(5).astype(np.float32)),
)
# ---------------------------------------------------------- linear algebra
good(
    "lu",
    """
def lu(A):
    n = len(A)
    for k in range(n):
        for i in range(k + 1, n):
            A[i][k] = A[i][k] / A[k][k]
            for j in range(k + 1, n):
                A[i][j] -= A[i][k] * A[k][j]
    return A
""",
    "lu",
    (_lists(6, 6),),
    ([[2.0]],),
    ([[0.0, 1.0], [1.0, 1.0]],),
    ([[4, 3], [6, 3]],),
)
good(
    "lu_ndarray_divides_by_zero",
    """
def lu(A):
    n = A.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return A
""",
    "lu",
    (_f(6, 6),),
    (np.array([[0.0, 1.0], [1.0, 1.0]]),),
)
good(
    "matmul",
    """
import numpy as np

def matmul(a, b):
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p))
    for i in range(n):
        for j in range(p):
            acc = 0.0
            for k in range(m):
                acc += a[i, k] * b[k, j]
            c[i, j] = acc
    return c
""",
    "matmul",
    (_f(5, 6), _f(6, 4)),
    (_f(5, 0), _f(0, 4)),
    (_f(2, 3), _f(2, 3)),
)
good(
    "csr_matvec",
    """
def matvec(data, indices, indptr, x, y):
    for row in range(len(indptr) - 1):
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = total
""",
    "matvec",
    (_f(6), np.array([0, 2, 1, 0, 1, 2]), np.array([0, 2, 3, 6]), _f(3), np.zeros(3)),
    (_f(6), np.array([0, 2, 1, 0, 1, 7]), np.array([0, 2, 3, 6]), _f(3), np.zeros(3)),
)
good(
    "cholesky",
    """
import math

def cholesky(a):
    n = len(a)
    for j in range(n):
        s = a[j][j]
        for k in range(j):
            s -= a[j][k] * a[j][k]
        a[j][j] = math.sqrt(s)
        for i in range(j + 1, n):
            t = a[i][j]
            for k in range(j):
                t -= a[i][k] * a[j][k]
            a[i][j] = t / a[j][j]
    return a
""",
    "cholesky",
    ([[4.0, 2.0, 1.0], [2.0, 5.0, 3.0], [1.0, 3.0, 6.0]],),
    ([[-1.0]],),
    ([[1.0, 2.0], [2.0, 1.0]],),
)
good(
    "floyd_warshall",
    """
def floyd(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i][k] + d[k][j] < d[i][j]:
                    d[i][j] = d[i][k] + d[k][j]
    return d
""",
    "floyd",
    (_lists(6, 6),),
    (_f(4, 4),),
    ([[1, 2], [3, 4]],),
    ([[1.0, 2.0], [3.0]],),
)
good(
    "n_body_lists",
    """
import math

def forces(x, y, m, ax, ay, eps):
    n = len(x)
    for i in range(n):
        fx = 0.0
        fy = 0.0
        for j in range(n):
            if i == j:
                continue
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            r = math.sqrt(dx * dx + dy * dy + eps)
            fx += m[j] * dx / (r * r * r)
            fy += m[j] * dy / (r * r * r)
        ax[i] = fx
        ay[i] = fy
""",
    "forces",
    (*([float(v) for v in _f(7)] for _ in range(3)), [0.0] * 7, [0.0] * 7, 0.01),
    ([0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0] * 2, [0.0] * 2, 0.0),
    ([0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0] * 2, [0.0] * 2, -1.0),
)
good(
    "squares_need_pow",
    """
def distance2(p, q):
    out = 0.0
    for k in range(len(p)):
        out += (p[k] - q[k]) ** 2
    return out ** 0.5
""",
    "distance2",
    (_f(3000) * 3, _f(3000)),
    ([1.0, 2.0], [0.5, 0.25]),
    ([1e200], [-1e200]),
)
good(
    "kmeans_assign",
    """
import numpy as np

def assign(points, centres, labels):
    n, d = points.shape
    k = centres.shape[0]
    for i in range(n):
        best = np.inf
        which = 0
        for c in range(k):
            dist = 0.0
            for j in range(d):
                diff = points[i, j] - centres[c, j]
                dist += diff * diff
            if dist < best:
                best = dist
                which = c
        labels[i] = which
    return labels
""",
    "assign",
    (_f(20, 3), _f(4, 3), np.zeros(20, dtype=int)),
    (_f(20, 3), _f(0, 3), np.zeros(20, dtype=int)),
    (_f(2, 3), _f(4, 2), np.zeros(2, dtype=int)),
)
# ------------------------------------------------------ escape, while, break
good(
    "mandelbrot_complex",
    """
def mandel(w, h, maxit):
    out = [[0] * w for _ in range(h)]
    for y in range(h):
        for x in range(w):
            c = complex(-2 + 3 * x / w, -1 + 2 * y / h)
            z = 0j
            k = 0
            while abs(z) <= 2 and k < maxit:
                z = z * z + c
                k += 1
            out[y][x] = k
    return out
""",
    "mandel",
    (20, 12, 30),
    (1, 1, 0),
    (3, 2, 5.5),
)
good(
    "mandelbrot_square_power",
    """
import numpy as np

def escape(cs, limit):
    counts = np.zeros(len(cs), dtype=np.int32)
    for i in range(len(cs)):
        z = 0j
        c = complex(cs[i], 0.3)
        for n in range(limit):
            if abs(z) > 2.0:
                break
            z = z**2 + c
            counts[i] += 1
    return counts
""",
    "escape",
    (np.linspace(-2, 1, 40), 30),
)
good(
    "mandelbrot_real_squares",
    """
def escape(x0, y0, limit):
    x = y = 0.0
    k = 0
    while x**2 + y**2 <= 4.0 and k < limit:
        x, y = x**2 - y**2 + x0, 2 * x * y + y0
        k += 1
    return k, x, y
""",
    "escape",
    (0.1, 0.6, 300),
    (2.0, 2.0, 300),
    (1e300, 2.0, 3),
)
good(
    "prime_count",
    """
def count(n):
    found = 0
    for i in range(2, n):
        prime = True
        d = 2
        while d * d <= i:
            if i % d == 0:
                prime = False
                break
            d += 1
        if prime:
            found += 1
    return found
""",
    "count",
    (300,),
    (0,),
    (-3,),
)
good(
    "sieve",
    """
def sieve(n):
    flags = [True] * (n + 1)
    flags[0] = flags[1] = False
    for i in range(2, int(n ** 0.5) + 1):
        if flags[i]:
            for j in range(i * i, n + 1, i):
                flags[j] = False
    return flags
""",
    "sieve",
    (100,),
    (4,),
)
good(
    "bubble_sort",
    """
def sort(a):
    n = len(a)
    for i in range(n):
        for j in range(0, n - i - 1):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a
""",
    "sort",
    ([5, 3, 9, 1, 7],),
    ([1.5, 0.5],),
    ([],),
    ([2**70, 1],),
    ([True, False],),
)
good(
    "insertion_sort_while",
    """
def sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a
""",
    "sort",
    (_f(12),),
    ([3.0, 1.0, 2.0],),
)
good(
    "binary_search_count",
    """
def locate(table, wanted, out):
    for k in range(len(wanted)):
        low = 0
        high = len(table)
        while low < high:
            mid = (low + high) // 2
            if table[mid] < wanted[k]:
                low = mid + 1
            else:
                high = mid
        out[k] = low
""",
    "locate",
    (np.sort(_f(30)), _f(10), np.zeros(10, dtype=np.int64)),
    (np.sort(_f(0)), _f(3), np.zeros(3, dtype=np.int64)),
)
good(
    "newton_sqrt",
    """
def roots(values, out):
    for i, v in enumerate(values):
        x = v
        for _ in range(8):
            x = 0.5 * (x + v / x)
        out[i] = x
""",
    "roots",
    ([2.0, 3.0, 5.0], [0.0] * 3),
    ([2.0, 0.0], [0.0] * 2),
)
# ----------------------------------------------------------- sums, recurrences
good(
    "dot_of_arrays",
    """
def dot(a, b):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * b[i]
    return s
""",
    "dot",
    (_f(20), _f(20)),
    ([1.0, 2.0], [3.0, 4.0]),
    (np.zeros(0), np.zeros(0)),
    (np.ones(3), np.ones(2)),
    (np.ones(3, dtype=np.float32), np.ones(3)),
)
good(
    "int_array_sum",
    """
def total(a):
    s = 0
    for x in a:
        s += x
    return s
""",
    "total",
    (rng.integers(-9, 9, 30),),
    (np.zeros(0, dtype=np.int64),),
    (np.array([2**62, 2**62]),),
    ([1, 2, 2**80],),
)
good(
    "largest_and_where",
    """
def largest(a):
    best = a[0]
    where = 0
    for i in range(1, len(a)):
        if a[i] > best:
            best = a[i]
            where = i
    return best, where
""",
    "largest",
    (_f(30),),
    (np.array([1.0, np.nan, 3.0]),),
    (np.array([np.nan, 1.0]),),
    (np.array([1.0]),),
)
good(
    "prefix_sums",
    """
def prefix(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]
    return a
""",
    "prefix",
    (_f(20),),
    (_f(40)[::2],),
    ([1.0, 2.0, 3.0],),
)
good(
    "moving_average_function",
    """
def ema(x, alpha):
    y = [0.0] * len(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = alpha * x[i] + (1 - alpha) * y[i - 1]
    return y
""",
    "ema",
    ([float(v) for v in _f(15)], 0.3),
    ([1.0], 0.3),
    ([1.0, 2.0], 1),
)
good(
    "knapsack",
    """
def knapsack(weights, values, capacity):
    dp = [0] * (capacity + 1)
    for i in range(len(weights)):
        for w in range(capacity, weights[i] - 1, -1):
            dp[w] = max(dp[w], dp[w - weights[i]] + values[i])
    return dp[capacity]
""",
    "knapsack",
    ([3, 4, 5, 9], [3, 4, 4, 10], 11),
    ([3], [2**70], 4),
)
good(
    "edit_distance",
    """
def dist(a, b):
    n, m = len(a), len(b)
    d = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        for j in range(m + 1):
            if i == 0:
                d[i][j] = j
            elif j == 0:
                d[i][j] = i
            else:
                cost = 0 if a[i - 1] == b[j - 1] else 1
                d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost)
    return d[n][m]
""",
    "dist",
    ([1, 2, 3, 4], [2, 3, 5]),
    ([], []),
    ([1.5], [1.5]),
)
good(
    "lcs_table",
    """
import numpy as np

def lcs(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table
""",
    "lcs",
    (rng.integers(0, 4, 12), rng.integers(0, 4, 9)),
)
good(
    "lcg_reduced",
    """
def generate(seed, n, out):
    x = seed
    for i in range(n):
        x = (1103515245 * x + 12345) % 2147483648
        out[i] = x / 2147483648
    return x
""",
    "generate",
    (42, 20, [0.0] * 20),
    (2**80, 3, [0.0] * 3),
    (-5, 3, [0.0] * 3),
    (1, 0, []),
)
good(
    "histogram_of_floats",
    """
def histogram(x, low, high, counts):
    bins = len(counts)
    width = (high - low) / bins
    for k in range(len(x)):
        b = int((x[k] - low) / 0.125)
        if 0 <= b < bins:
            counts[b] += 1
    return counts, width
""",
    "histogram",
    (_f(50), 0.0, 1.0, np.zeros(8, dtype=np.int64)),
    (np.array([0.5, np.nan]), 0.0, 1.0, np.zeros(8, dtype=np.int64)),
    (np.array([0.5, 1e300]), 0.0, 1.0, np.zeros(8, dtype=np.int64)),
)
good(
    "histogram_of_ints",
    """
def histogram(data, counts):
    for value in data:
        counts[value] += 1
    return counts
""",
    "histogram",
    (rng.integers(0, 10, 60), [0] * 10),
    (np.array([1, -1]), [0] * 10),
    (np.array([1, 10]), [0] * 10),
)
good(
    "helper_of_helper",
    """
import math

def sq(x):
    return x * x

def dist(a, b, i, j):
    return math.sqrt(sq(a[i] - a[j]) + sq(b[i] - b[j]) + 1e-9)

def energy(a, b):
    n = len(a)
    e = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            e += 1.0 / dist(a, b, i, j)
    return e
""",
    "energy",
    (_f(7), _f(7)),
    ([0.0, 1.0], [0.0, 1.0]),
)
good(
    "helper_early_return",
    """
def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x

def clip(a, out):
    for i in range(len(a)):
        out[i] = clamp(a[i] * 3.0 - 1.0, 0.25, 0.75)
""",
    "clip",
    ([float(v) for v in _f(9)], [0.0] * 9),
)
good(
    "rows_and_zip",
    """
def row_sums(rows, weights, out):
    for i, row in enumerate(rows):
        total = 0.0
        for v, w in zip(row, weights):
            total += v * w
        out[i] = total
""",
    "row_sums",
    (_lists(4, 5), [float(v) for v in _f(5)], [0.0] * 4),
    (_lists(4, 5), [float(v) for v in _f(3)], [0.0] * 4),
)
good(
    "math_with_exceptions",
    """
import math

def transform(x, out):
    for i in range(len(x)):
        out[i] = math.log(x[i]) + math.exp(x[i]) + math.sin(x[i]) * math.tanh(x[i])
""",
    "transform",
    ([float(v) + 0.1 for v in _f(9)], [0.0] * 9),
    ([1.0, 0.0, 1.0], [0.0] * 3),
    ([1.0, 1000.0], [0.0] * 2),
)
good(
    "logistic_map_global_rate",
    """
RATE = 3.7

def orbit(x, n, out):
    for i in range(n):
        x = RATE * x * (1 - x)
        out[i] = x
    return x
""",
    "orbit",
    (0.3, 20, [0.0] * 20),
    (0.3, 3, [0.0] * 2),
)
good(
    "rebound_global",
    """
rate = 3.0

def use(x):
    global rate
    rate = 2.5
    for i in range(len(x)):
        x[i] *= rate
    return x
""",
    "use",
    (_f(5),),
)
good(
    "floor_division_and_modulo",
    """
def digits(n, out):
    for i in range(-n, n):
        out[i + n] = (i // 3) * 10 + i % 7 + (i % -4)
""",
    "digits",
    (20, [0] * 40),
    (20, [0] * 39),
)
good(
    "negative_index_wraps",
    """
def shift(a, out):
    for i in range(len(a)):
        out[i] = a[i - 1] - a[-1]
""",
    "shift",
    (_f(9), np.zeros(9)),
    (_f(9), np.zeros(8)),
)
good(
    "overlapping_views",
    """
def smear(a, b):
    for i in range(len(a)):
        b[i] = a[i] + 1.0
""",
    "smear",
    (_f(9), _f(9)),
)
good(
    "bit_tricks",
    """
def popcount(a, out):
    for i in range(len(a)):
        x = a[i]
        c = 0
        for _ in range(64):
            c += x & 1
            x >>= 1
        out[i] = c
""",
    "popcount",
    ([5, 255, 1023], [0] * 3),
)
good(
    "tabs",
    "def scale(a, s):\n\tfor i in range(len(a)):\n\t\tif a[i] > s:\n\t\t\ta[i] *= s\n\treturn a\n",
    "scale",
    (_f(9), 2.0),
)
good(
    "module_level_filter",
    """
import numpy as np

x = np.sin(np.arange(200) * 0.1)
y = np.zeros(200)
a = 0.9
for n in range(1, 200):
    y[n] = a * y[n - 1] + (1 - a) * x[n]
print(y[-1], y.sum())
""",
    None,
    (),
)
good(
    "module_level_scalars",
    """
import math

total = 0.0
count = 0
for k in range(1, 1000):
    total += 1.0 / (k * k)
    if k % 3 == 0:
        count += 1
print(math.sqrt(6 * total), count)
""",
    None,
    (),
)

good(
    "sum_behind_a_condition",
    """
def energy(r, cutoff):
    e = 0.0
    pairs = 0
    for i in range(len(r)):
        if r[i] < cutoff:
            e += 1.0 / r[i]  # the near ones
            pairs += 1
    return e, pairs
""",
    "energy",
    (_f(20) + 0.1, 0.7),
    (_f(20) + 0.1, 0.01),
    (np.zeros(3), 0.01),
    (_f(0), 0.5),
)
good(
    "pairs_of_an_array",
    """
def total(a):
    n = len(a)
    s = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            s += a[i] * a[j]
    return s
""",
    "total",
    (_f(9),),
    (_f(1),),
    (_f(0),),
)
good(
    "int_start_of_a_float_maximum",
    """
def peak(x):
    best = 0
    at = -1
    for i, v in enumerate(x):
        if v > best:
            best = v
            at = i
    return best, at
""",
    "peak",
    ([float(v) for v in _f(9)],),
    ([-1.0, -2.0],),
    ([],),
)
good(
    "np_bool_counts",
    """
def count(mask, values):
    n = 0
    for i in range(mask.shape[0]):
        n += mask[i] and values[i] > 0.5
    return n
""",
    "count",
    (rng.random(20) > 0.5, _f(20)),
)

# ------------------------------------------------------------- types, limits
good(
    "bool_int",
    """
def f(a):
    n = 0
    for x in a:
        n += x > 0.5
    return n
""",
    "f",
    (_f(9),),
    (np.zeros(0),),
    ([0.7, 0.2],),
)
good(
    "float32_sum2",
    """
import numpy as np
def f(a):
    s = np.float32(0)
    for x in a:
        s += x * 0.1
    return s
""",
    "f",
    (_f(50).astype(np.float32),),
    (np.zeros(0, np.float32),),
)
good(
    "u8_sum",
    """
def f(a):
    s = 0
    for x in a:
        s += int(x)
    return s
""",
    "f",
    (np.full(50, 200, np.uint8),),
)
good(
    "i32_mul",
    """
def f(a, out):
    for i in range(len(a)):
        out[i] = a[i] * a[i]
        out[i] += 1
""",
    "f",
    (np.array([3, 70000], np.int32), np.zeros(2, np.int64)),
)
good(
    "shared_rows",
    """
def f(g):
    for i in range(len(g)):
        for j in range(len(g[0])):
            g[i][j] += 1.0
    return g
""",
    "f",
    ([[1.0, 2.0], [3.0, 4.0]],),
    ([[1.0] * 2] * 2,),
)
good(
    "same_list",
    """
def f(a, b):
    for i in range(1, len(a)):
        a[i] = b[i - 1] + 1.0
    return a, b
""",
    "f",
    ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
)
good(
    "cmp_nan",
    """
def f(a):
    m = a[0]
    k = 0
    for i in range(len(a)):
        m = max(a[i], m)
        if not a[i] > 0.5:
            k += 1
    return m, k
""",
    "f",
    (_f(5),),
    (np.array([1.0, np.nan, 2.0]),),
    (np.array([np.nan, 1.0]),),
)
good(
    "pow_neg",
    """
def f(a, out):
    for i in range(len(a)):
        out[i] = a[i] ** 0.5 + a[i] ** 3 + a[i] ** -1
""",
    "f",
    (_f(50) + 0.1, np.zeros(50)),
    (np.array([-1.0, 0.0]), np.zeros(2)),
)
good(
    "pow_pyfloat",
    """
def f(a, out):
    for i in range(len(a)):
        out[i] = a[i] ** 3 + (a[i] * 2) ** 2
""",
    "f",
    ([float(rng.random()) for _ in range(50)], [0.0] * 50),
    ([1e200], [0.0]),
    ([-2.0], [0.0]),
)
good(
    "swap",
    """
def f(a):
    n = len(a)
    for i in range(n // 2):
        a[i], a[n - 1 - i] = a[n - 1 - i], a[i]
""",
    "f",
    (np.arange(7.0),),
    ([1, 2, 3],),
)
good(
    "noncontig",
    """
def f(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] * 2
    return a
""",
    "f",
    (_f(4, 6),),
    (_f(6, 4).T,),
    (np.asfortranarray(_f(3, 3)),),
)
good(
    "xorshift",
    """
def f(n):
    x = 2463534242
    out = []
    t = 0
    for _ in range(n):
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        t += x % 100
    return t, x
""",
    "f",
    (90,),
    (0,),
)
good(
    "monte",
    """
import math
def f(n):
    inside = 0
    seed = 1
    for _ in range(n):
        seed = (16807 * seed) % 2147483647
        u = seed / 2147483647
        seed = (16807 * seed) % 2147483647
        v = seed / 2147483647
        if u * u + v * v <= 1.0:
            inside += 1
    return 4 * inside / n
""",
    "f",
    (900,),
)
good(
    "trapz",
    """
import math
def f(a, b, n):
    h = (b - a) / n
    s = 0.5 * (math.sin(a) + math.sin(b))
    for k in range(1, n):
        s += math.sin(a + k * h)
    return s * h
""",
    "f",
    (0.0, 1.0, 500),
    (0.0, float("inf"), 5),
    (0, 1, 5),
)
good(
    "ode",
    """
def f(n, dt):
    x, y, z = 1.0, 1.0, 1.0
    xs = [0.0] * n
    for i in range(n):
        dx = 10.0 * (y - x)
        dy = x * (28.0 - z) - y
        dz = x * y - 8.0 / 3.0 * z
        x += dx * dt
        y += dy * dt
        z += dz * dt
        xs[i] = x
    return xs, x, y, z
""",
    "f",
    (100, 0.01),
    (0, 0.01),
)
good(
    "stale_alias_index",
    """
def f(a, b):
    p = 0
    for i in range(len(a)):
        b[p] = a[i]
        p = i + 1
""",
    "f",
    (np.arange(5.0), np.zeros(5)),
    (np.arange(5.0), np.zeros(4)),
)
good(
    "int_div_neg",
    """
def f(a, b, out):
    for i in range(len(a)):
        out[i] = a[i] // b[i] + a[i] % b[i]
""",
    "f",
    ([7, -7, 7], [2, 2, -2], [0] * 3),
    ([7], [0], [0]),
    ([2**39], [3], [0]),
)
good(
    "npint_div0",
    """
def f(a, b, out):
    for i in range(len(a)):
        out[i] = a[i] // b[i]
""",
    "f",
    (np.array([7, -7]), np.array([2, 2]), np.zeros(2, int)),
    (np.array([7, -(2**63)]), np.array([0, -1]), np.zeros(2, int)),
)
good(
    "mixed_div",
    """
def f(a, n, out):
    for i in range(len(a)):
        out[i] = a[i] / a[i - 1] + 1.0 / n
""",
    "f",
    (_f(5) + 1, 4, np.zeros(5)),
    (np.zeros(3), 4, np.zeros(3)),
    (np.ones(3), 0, np.ones(3)),
)
good(
    "worst_assign",
    """
def f(a):
    worst = -1e9
    k = -1
    for i in range(len(a)):
        if a[i] > worst:
            worst = a[i]
            k = i
    return worst, k
""",
    "f",
    (_f(9),),
    (np.zeros(0),),
    (np.array([np.nan]),),
)
good(
    "sum_list_conditional",
    """
def f(a):
    s = 0
    for x in a:
        if x > 0.5:
            s += x
    return s
""",
    "f",
    ([0.1, 0.7, 0.9],),
    ([],),
    ([0.1],),
)
good(
    "trace",
    """
def f(m, n):
    t = 0
    for i in range(n):
        t += m[i][i]
    return t
""",
    "f",
    ([[1, 2], [3, 4]], 2),
    ([[1.0, 2.0], [3.0, 4.0]], 2),
    ([[1, 2], [3, 4]], 0),
    ([[1, 2], [3, 4]], 3),
)
good(
    "tuple_ret_helper",
    """
def split(x):
    return x // 10, x % 10

def f(n):
    t = 0
    for i in range(n):
        a, b = split(i)
        t += a * b
    return t
""",
    "f",
    (99,),
)
good(
    "helper_writes",
    """
def put(a, i, v):
    a[i] = v

def f(a):
    for i in range(len(a)):
        put(a, i, a[i] * 2.0)
    return a
""",
    "f",
    ([1.0, 2.0],),
)
good(
    "comments",
    """
def f(a):
    # scale everything
    for i in range(len(a)):  # by two
        a[i] = (
            a[i]
            * 2.0  # really
        )
        # the end
    return a
""",
    "f",
    (np.ones(4),),
)
good(
    "enumerate_rows",
    """
def f(img, out):
    for y, row in enumerate(img):
        for x, v in enumerate(row):
            if v > 0:
                out[y][x] = v
            elif v == 0:
                out[y][x] = -1.0
    return out
""",
    "f",
    ([[1.0, 0.0], [-1.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]),
    ([[1.0, 0.0]], [[0.0]]),
)
good(
    "dists",
    """
import numpy as np
def f(p):
    n = p.shape[0]
    d = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(p.shape[1]):
                s += (p[i, k] - p[j, k]) ** 2
            d[i, j] = np.sqrt(s)
    return d
""",
    "f",
    (_f(6, 3),),
    (_f(2, 0),),
)
good(
    "unsigned",
    """
def f(a, out):
    h = 0
    for i in range(len(a)):
        out[i] = a[i] - out[i]
""",
    "f",
    (np.array([1, 2], np.uint16), np.array([5, 1], np.uint16)),
)
good(
    "crc",
    """
def f(data):
    crc = 0xFFFFFFFF
    for b in data:
        crc ^= b
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc >>= 1
    return crc ^ 0xFFFFFFFF
""",
    "f",
    ([1, 2, 3, 255],),
    ([-1],),
)
good(
    "f32_out",
    """
import math
def f(a, out):
    for i in range(a.shape[0]):
        out[i] = math.sqrt(a[i]) if a[i] > 0.1 else 0
""",
    "f",
    (_f(9).astype(np.float32), np.zeros(9, np.float32)),
)

# ------------------------------------------------------------------- refused
good(
    "collatz",
    """
def longest(limit):
    best = 0
    for start in range(1, limit):
        n = start
        c = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            c += 1
        if c > best:
            best = c
    return best
""",
    "longest",
    (30,),
    (3,),
)
good(
    "factorial",
    """
def factorial(n):
    result = 1
    for k in range(2, n + 1):
        result *= k
    return result
""",
    "factorial",
    (12,),
    (30,),
    (0,),
)
good(
    "fibonacci",
    """
def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
""",
    "fib",
    (50,),
    (100,),
)
bad(
    "prints",
    "def show(a):\n    for x in a:\n        print(x)\n",
    "show",
    "print",
    (_f(3),),
)
bad(
    "numpy_exp_last_digit",
    """
import numpy as np

def soft(x, out):
    for i in range(len(x)):
        out[i] = np.exp(x[i])
""",
    "soft",
    "last digit",
    (_f(5), np.zeros(5)),
)
bad(
    "random_stream",
    """
import random

def walk(n):
    x = 0.0
    for _ in range(n):
        x += random.random()
    return x
""",
    "walk",
    "random",
    (9,),
)
bad(
    "list_gets_an_int",
    """
def clear(a):
    for i in range(len(a)):
        if a[i] < 0.5:
            a[i] = 0
    return a
""",
    "clear",
    "given int",
    ([float(v) for v in _f(9)],),
)
bad(
    "exception_caught_outside",
    """
def harmonic(x):
    total = 0.0
    try:
        for v in x:
            total += 1.0 / v
    except ZeroDivisionError:
        pass
    return total
""",
    "harmonic",
    "caught",
    ([1.0, 2.0],),
)
bad(
    "numpy_power_table",
    """
def powers(a, n):
    for i in range(n):
        a[i] = (-8.0) ** (1 / 3)
""",
    "powers",
    "",
    ([0j] * 3, 3),
)
bad(
    "round_digits",
    "def f(a):\n    for i in range(len(a)):\n        a[i] = round(a[i], 2)\n",
    "f",
    "round",
    ([0.125, 2.675],),
)
good(
    "huge_growth_in_list",
    """
def pascal(row):
    for _ in range(3):
        for j in range(len(row) - 1, 0, -1):
            row[j] = row[j] + row[j - 1]
    return row
""",
    "pascal",
    ([1, 0, 0, 0],),
    ([2**40] * 30,),
)
bad(
    "prime_for_else",
    """
def count(n):
    found = 0
    for i in range(2, n):
        for d in range(2, i):
            if i % d == 0:
                break
        else:
            found += 1
    return found
""",
    "count",
    "else",
    (60,),
)

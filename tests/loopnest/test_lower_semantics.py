"""Loops in many authors' styles: the nest must do exactly what the Python loop does."""

import numpy as np
import pytest
from nests import compare

R = np.random.default_rng(3)
GRID = R.integers(0, 2, (5, 6))
X = R.random(9)
Y = R.random(9)
IDX = R.integers(0, 4, 9)
IMG = R.integers(0, 255, (4, 5)).astype(np.uint8)
F32 = R.random(7).astype(np.float32)
POINTS = [[float(a), float(b), float(c)] for a, b, c in R.random((5, 3))]

LOOPS: dict[str, tuple[str, tuple[object, ...]]] = {
    "life helper": (
        """
def count(g, i, j, n, m):
    s = 0
    for a in range(-1, 2):
        for b in range(-1, 2):
            if a or b:
                s += g[(i + a) % n][(j + b) % m]
    return s

def f(g, out):
    n, m = g.shape
    for i in range(n):
        for j in range(m):
            c = count(g, i, j, n, m)
            out[i][j] = 1 if c == 3 or (c == 2 and g[i][j]) else 0
""",
        (GRID, GRID * 0),
    ),
    "life border pairs": (
        """
OFFS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]
def f(g, out):
    rows = len(g)
    cols = len(g[0])
    for r in range(rows):
        for c in range(cols):
            alive = 0
            for dr, dc in OFFS:
                rr, cc = r + dr, c + dc
                if 0 <= rr < rows and 0 <= cc < cols:
                    alive += g[rr][cc]
            out[r][c] = int(alive == 3 or (alive == 2 and g[r][c] == 1))
""",
        (GRID.tolist(), (GRID * 0).tolist()),
    ),
    "early returns": (
        """
def rule(alive, c):
    '''Conway.'''
    if alive:
        if c < 2 or c > 3:
            return 0
        return 1
    if c == 3:
        return 1
    return 0

def f(g, out):
    for i in range(len(g)):
        for j in range(len(g[i])):
            out[i][j] = rule(g[i][j] > 0, g[i][j] + j)
""",
        (GRID.tolist(), (GRID * 0).tolist()),
    ),
    "return in a loop": (
        """
def is_prime(n):
    if n < 2:
        return False
    for d in range(2, n):
        if n % d == 0:
            return False
    return True

def f(n, flags):
    total = 0
    for k in range(n):
        if is_prime(k):
            total += 1
            flags[k] = True
    return total
""",
        (20, [False] * 20),
    ),
    "return in two loops": (
        """
def find(g, v):
    for i in range(len(g)):
        for j in range(len(g[0])):
            if g[i][j] == v:
                return i * 10 + j
    return -1

def f(g, out):
    for v in range(4):
        out[v] = find(g, v)
""",
        (GRID.tolist(), [0] * 4),
    ),
    "elements": (
        """
def f(x):
    s = 0.0
    for v in x:
        s += v * v
    return s
""",
        (X,),
    ),
    "int start": (
        """
def f(x):
    s = 0
    for v in x:
        s += v
    return s
""",
        (X,),
    ),
    "uint8 start": (
        """
def f(x):
    s = 0
    for v in x[0]:
        s += v
    return s
""",
        (IMG,),
    ),
    "float32 sum": (
        """
def f(x):
    s = 0.1
    for v in x:
        s += v
    return s
""",
        (F32,),
    ),
    "rows": (
        """
def f(g, out):
    for i, row in enumerate(g):
        for j, v in enumerate(row):
            out[i, j] = v + row[0] + row[-1]
""",
        (GRID, GRID * 0),
    ),
    "zip": (
        """
def f(a, b, c):
    for i, (x, y) in enumerate(zip(a, b)):
        c[i] = x * y + i
""",
        (X, Y, X * 0),
    ),
    "zip unequal": (
        """
def f(a, b):
    s = 0.0
    for x, y in zip(a, b):
        s += x * y
    return s
""",
        (X, Y[:4]),
    ),
    "enumerate from": (
        """
def f(a, c):
    for i, x in enumerate(a, 1):
        c[i - 1] = x * i
""",
        (X, X * 0),
    ),
    "reversed": (
        """
def f(a):
    for i in reversed(range(1, len(a))):
        a[i] = a[i] - a[i - 1]
""",
        (X,),
    ),
    "downwards": (
        """
def f(a):
    for i in range(len(a) - 2, -1, -1):
        a[i] += a[i + 1]
""",
        (X,),
    ),
    "strided": (
        """
def f(a):
    for i in range(1, len(a), 3):
        a[i] = -a[i]
""",
        (X,),
    ),
    "sieve": (
        """
def f(n, flags):
    for i in range(2, n):
        if flags[i]:
            for k in range(i * i, n, i):
                flags[k] = False
""",
        (40, [True] * 40),
    ),
    "fibonacci": (
        """
def f(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
""",
        (90,),
    ),
    "swap": (
        """
def f(a):
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
""",
        (X.tolist(),),
    ),
    "collatz": (
        """
def f(n, steps):
    for i in range(1, n):
        k = i
        c = 0
        while k != 1:
            if k % 2 == 0:
                k //= 2
            else:
                k = 3 * k + 1
            c += 1
        steps[i] = c
""",
        (12, [0] * 12),
    ),
    "mandelbrot": (
        """
def f(out, w, h):
    for py in range(h):
        for px in range(w):
            c = complex(-2.0 + 3.0 * px / w, -1.0 + 2.0 * py / h)
            z = 0j
            k = 0
            while abs(z) <= 2.0 and k < 20:
                z = z * z + c
                k += 1
            out[py, px] = k
""",
        (np.zeros((4, 5), dtype=np.int32), 5, 4),
    ),
    "escape break": (
        """
def f(out, w):
    for px in range(w):
        x = y = 0.0
        x0 = px * 0.3 - 2.0
        for it in range(30):
            if x * x + y * y > 4.0:
                break
            x, y = x * x - y * y + x0, 2.0 * x * y
            out[px] = it
""",
        ([0] * 9, 9),
    ),
    "nbody lists": (
        """
def f(p, v, dt):
    n = len(p)
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            dx = p[j][0] - p[i][0]
            dy = p[j][1] - p[i][1]
            dz = p[j][2] - p[i][2]
            d = (dx * dx + dy * dy + dz * dz) ** 1.5
            v[i][0] += dt * dx / d
            v[i][1] += dt * dy / d
            v[i][2] += dt * dz / d
""",
        (POINTS, [[0.0, 0.0, 0.0] for _ in range(5)], 0.01),
    ),
    "row unpack": (
        """
def f(p, out):
    for i in range(len(p)):
        x, y, z = p[i]
        out[i] = x + 2 * y - z
""",
        (POINTS, [0.0] * 5),
    ),
    "pairs unpack in for": (
        """
def f(p):
    s = 0.0
    for x, y, z in p:
        s += x * y * z
    return s
""",
        (POINTS,),
    ),
    "argmin": (
        """
def f(x):
    best = x[0]
    where = 0
    for i in range(1, len(x)):
        if x[i] < best:
            best = x[i]
            where = i
    return best, where
""",
        (X,),
    ),
    "edit distance": (
        """
def f(a, b, d):
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost)
""",
        (
            [1, 2, 3, 4],
            [1, 3, 4],
            [[i + j if i * j == 0 else 0 for j in range(4)] for i in range(5)],
        ),
    ),
    "histogram": (
        """
def f(i, w, h):
    for k in range(len(i)):
        h[i[k]] += w[k]
""",
        (IDX, X, np.zeros(4)),
    ),
    "negative indices": (
        """
def f(a, b):
    for i in range(len(a)):
        b[i] = a[i - 1] - a[-1] + a[-i]
""",
        (X, X * 0),
    ),
    "bool arrays": (
        """
def f(m, out):
    for i in range(len(m)):
        out[i] = m[i] and not m[i - 1] or m[0] == m[i]
""",
        (X > 0.5, X > 2),
    ),
    "uint8 wrap": (
        """
def f(a, b):
    for i in range(4):
        for j in range(5):
            b[i, j] = a[i, j] + a[i, j] // 2
""",
        (IMG, IMG * 0),
    ),
    "int to float array": (
        """
def f(a, b):
    for i in range(len(a)):
        b[i] = a[i] * 10
""",
        (X, np.zeros(9, dtype=np.int64)),
    ),
    "math": (
        """
def f(a, b):
    for i in range(len(a)):
        b[i] = math.sqrt(a[i]) + math.exp(-a[i]) * math.pi
        b[i] += np.sin(a[i]) + round(a[i] * 10) + abs(-i)
""",
        (X, X * 0),
    ),
    "powers": (
        """
def f(a, b):
    for i in range(len(a)):
        b[i] = a[i] ** 2 + 2.0 ** i + i ** 3 + a[i] ** 0.5
""",
        (X, X * 0),
    ),
    "conditional": (
        """
def f(a, b):
    for i in range(len(a)):
        b[i] = a[i] if 0.2 < a[i] <= 0.7 else -1
""",
        (X, X * 0),
    ),
    "append": (
        """
def f(a):
    out = []
    for v in a:
        if v > 0.5:
            out.append(v * 2.0)
    return out
""",
        (X.tolist(),),
    ),
    "sum of generator": (
        """
def f(a, b):
    for i in range(1, len(a) - 1):
        b[i] = sum(a[i + d] for d in (-1, 0, 1) if d != 0)
""",
        (X, X * 0),
    ),
    "any all": (
        """
def f(g, out):
    for i in range(len(g)):
        some = any(v == 1 for v in g[i])
        every = all(g[i][j] == 1 for j in range(3))
        out[i] = some and not every
""",
        (GRID.tolist(), [False] * 5),
    ),
    "alias inside": (
        """
def f(g, out):
    for i in range(1, len(g) - 1):
        up = g[i - 1]
        here = g[i]
        row = out[i]
        for j in range(len(here)):
            row[j] = up[j] + here[j]
""",
        (GRID.tolist(), (GRID * 0).tolist()),
    ),
    "reassigned index": (
        """
def f(a):
    for i in range(len(a)):
        i = i // 2
        a[i] += 1.0
""",
        (X,),
    ),
    "changed bound": (
        """
def f(a, n):
    for k in range(2):
        for i in range(n):
            n -= 1
            a[i] = n
    return n
""",
        (X, 5),
    ),
    "while counting": (
        """
def f(a, n):
    i = 0
    while i < n:
        a[i] = i * 0.5
        i += 1
    return i
""",
        (X, 7),
    ),
    "while true": (
        """
def f(x):
    k = 0
    while True:
        x = x / 2
        k += 1
        if x < 1e-3:
            break
    return k
""",
        (3.0,),
    ),
    "csr": (
        """
def f(ptr, col, val, x, y):
    for i in range(len(y)):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * x[col[k]]
        y[i] = s
""",
        (
            np.array([0, 2, 3, 6]),
            np.array([0, 2, 1, 0, 1, 2]),
            R.random(6),
            R.random(3),
            np.zeros(3),
        ),
    ),
    "shape inside": (
        """
def f(g, out):
    for k in range(2):
        n, m = g.shape
        for i in range(n):
            for j in range(g.shape[1]):
                out[i, j] = g[n - 1 - i, m - 1 - j] + k
""",
        (GRID, GRID * 0),
    ),
    "clamped border": (
        """
def f(a, b):
    n = len(a)
    for i in range(n):
        b[i] = a[max(i - 1, 0)] + a[min(i + 1, n - 1)]
""",
        (X, X * 0),
    ),
    "lcg": (
        """
def f(n, out):
    s = 12345
    for i in range(n):
        s = (1103515245 * s + 12345) % 2147483648
        out[i] = s / 2147483648
    return s
""",
        (8, [0.0] * 8),
    ),
    "bits": (
        """
def f(a):
    h = 0
    for v in a:
        h = ((h << 5) ^ (h >> 2) ^ v) & 0xFFFF
    return h
""",
        ([3, 1, 4, 1, 5],),
    ),
    "two results": (
        """
def polar(x, y=1.0):
    r = math.sqrt(x * x + y * y)
    return r, x / r

def f(a, b, c):
    for i in range(len(a)):
        b[i], c[i] = polar(a[i])
""",
        (X, X * 0, X * 0),
    ),
    "helper of helper": (
        """
def sq(x):
    return x * x
def dist(a, b):
    d = 0.0
    for k in range(len(a)):
        d += sq(a[k] - b[k])
    return math.sqrt(d)
def f(p, out):
    for i in range(len(p)):
        for j in range(i + 1, len(p)):
            out[i][j] = dist(p[i], p[j])
""",
        (POINTS, [[0.0] * 5 for _ in range(5)]),
    ),
    "procedure": (
        """
def put(out, i, v):
    if v < 0.3:
        return
    out[i] = v
def f(a, out):
    for i in range(len(a)):
        put(out, i, a[i] * 0.9)
""",
        (X, X * 0),
    ),
    "membership": (
        """
def f(a):
    c = 0
    for v in a:
        if v in (1, 3) and v not in (2,):
            c += 1
    return c
""",
        ([1, 2, 3, 1],),
    ),
    "bytearray": (
        """
def f(b, n):
    for i in range(n):
        b[i] = (b[i] * 3 + i) % 256
""",
        (bytearray(b"hello world"), 8),
    ),
    "constants": (
        """
SIZE = 4
SCALE = 0.5
def f(a):
    for i in range(SIZE):
        a[i] *= SCALE
""",
        (X,),
    ),
    "complex parts": (
        """
def f(z, out):
    for i in range(len(z)):
        out[i] = z[i].real * z[i].imag + abs(z[i].conjugate())
""",
        (X + 1j * Y, X * 0),
    ),
    "min max mixed": (
        """
def f(a):
    lo = hi = a[0]
    for v in a:
        lo = min(lo, v)
        hi = max(v, hi)
    return lo, hi
""",
        (X,),
    ),
    "nested tuple offsets": (
        """
def f(g, out):
    n, m = g.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            s = 0
            for di, dj, w in ((0, 1, 2), (1, 0, 3), (0, -1, 5), (-1, 0, 7)):
                s += w * g[i + di, j + dj]
            out[i, j] = s
""",
        (GRID, GRID * 0),
    ),
    "recurrence with three": (
        """
def f(x, y, a, b):
    y1 = y2 = 0.0
    for n in range(len(x)):
        y[n] = x[n] + a * y1 + b * y2
        y2, y1 = y1, y[n]
""",
        (X, X * 0, 0.5, -0.2),
    ),
    "knapsack": (
        """
def f(w, v, best):
    for i in range(len(w)):
        for c in range(len(best) - 1, w[i] - 1, -1):
            if best[c - w[i]] + v[i] > best[c]:
                best[c] = best[c - w[i]] + v[i]
""",
        ([2, 3, 1], [5, 8, 2], [0] * 8),
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_nest_does_what_the_loop_does(name: str) -> None:
    text, args = LOOPS[name]
    compare(text, *args)


SELF = """
class Plate:
    def __init__(self):
        self.u = np.arange(20.0).reshape(4, 5)
        self.new = np.zeros((4, 5))
        self.alpha = 0.25
        self.n = 4
        self.total = 0.0

    def lap(self, i, j):
        u = self.u
        return u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]

def f(self):
    for i in range(1, self.n - 1):
        for j in range(1, self.u.shape[1] - 1):
            self.new[i, j] = self.u[i, j] + self.alpha * self.lap(i, j)
            self.total += self.new[i, j]
"""


def test_attributes_and_methods() -> None:
    namespace: dict[str, object] = {"np": np}
    exec(SELF, namespace)
    plate = namespace["Plate"]()  # type: ignore[operator]
    nest = compare(SELF, plate)
    assert set(nest.arrays) == {"self.u", "self.new"}
    assert "self.total" in nest.live_out
    assert nest.helpers == ("self.lap",)

"""Whole algorithms in different authors' styles, kept loops around array statements.

Each case is a function, the arguments it is observed on, and others it must be right for.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy_cases import Cases, check

rng = np.random.default_rng(10)
cases = Cases()
case = cases.add


def normal(*shape):
    return rng.standard_normal(shape)


def bits(*shape):
    return rng.integers(0, 2, shape)


case(
    "blur",
    """
import numpy as np
def k(img):
    h, w = img.shape
    out = np.zeros((h, w))
    for y in range(h):
        for x in range(w):
            s = 0.0
            c = 0
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    yy = y + dy
                    xx = x + dx
                    if yy >= 0 and yy < h and xx >= 0 and xx < w:
                        s += img[yy, xx]
                        c += 1
            out[y, x] = s / c
    return out
""",
    (normal(20, 30),),
    [(normal(1, 1),), (normal(2, 1),)],
)
case(
    "countgrid",
    """
def k(grid):
    alive = 0
    for row in grid:
        for cell in row:
            if cell == 1:
                alive += 1
    return alive
""",
    (bits(30, 40),),
    [(bits(0, 4),)],
)
case(
    "countlist",
    """
def k(grid):
    alive = 0
    for row in grid:
        for cell in row:
            alive += cell
    return alive
""",
    (bits(30, 40).tolist(),),
    [([],), ([[True]],)],
)
case(
    "normalize",
    """
def k(x, out):
    lo = x[0]
    hi = x[0]
    for v in x:
        if v < lo:
            lo = v
        if v > hi:
            hi = v
    return lo, hi
""",
    (normal(1000), normal(1000)),
    [(normal(1), normal(1))],
)
case(
    "maxpool",
    """
import numpy as np
def k(a):
    h, w = a.shape
    out = np.zeros((h // 2, w // 2))
    for i in range(h // 2):
        for j in range(w // 2):
            m = a[2 * i, 2 * j]
            m = max(m, a[2 * i + 1, 2 * j])
            m = max(m, a[2 * i, 2 * j + 1])
            m = max(m, a[2 * i + 1, 2 * j + 1])
            out[i, j] = m
    return out
""",
    (normal(20, 30),),
    [(normal(3, 5),), (normal(1, 1),)],
)
case(
    "cumrow",
    """
def k(a):
    n, m = a.shape
    for i in range(n):
        for j in range(1, m):
            a[i, j] += a[i, j - 1]
""",
    (normal(300, 30),),
    [(normal(3, 0),)],
)
case(
    "dp",
    """
def k(cost):
    n, m = cost.shape
    for i in range(1, n):
        for j in range(m):
            best = cost[i - 1, j]
            if j > 0 and cost[i - 1, j - 1] < best:
                best = cost[i - 1, j - 1]
            if j < m - 1 and cost[i - 1, j + 1] < best:
                best = cost[i - 1, j + 1]
            cost[i, j] += best
""",
    (normal(30, 300),),
    [(normal(3, 1),), (normal(3, 2),), (normal(1, 3),)],
)
case(
    "lu",
    """
def k(a):
    n = len(a)
    for q in range(n):
        for i in range(q + 1, n):
            a[i, q] /= a[q, q]
            for j in range(q + 1, n):
                a[i, j] -= a[i, q] * a[q, j]
""",
    (normal(30, 30) + 30 * np.eye(30),),
    [(normal(1, 1) + 1,)],
)
case(
    "seqif",
    """
def k(u, v, steps):
    n = len(u)
    for t in range(steps):
        if t % 2 == 0:
            for i in range(1, n - 1):
                v[i] = 0.5 * (u[i - 1] + u[i + 1])
        else:
            for i in range(1, n - 1):
                u[i] = 0.5 * (v[i - 1] + v[i + 1])
""",
    (normal(500), normal(500), 5),
    [(normal(2), normal(2), 3), (normal(5), normal(5), 0)],
)
case(
    "advback",
    """
def k(u, c, steps):
    n = len(u)
    for t in range(steps):
        for i in range(n - 1, 0, -1):
            u[i] = u[i] - c * (u[i] - u[i - 1])
""",
    (normal(500), 0.1, 5),
    [(normal(1), 0.1, 2), (normal(2), 0.1, 2)],
)
case(
    "logistic",
    """
import numpy as np
def k(r, steps):
    x = np.full(len(r), 0.5)
    for s in range(steps):
        for i in range(len(r)):
            x[i] = r[i] * x[i] * (1.0 - x[i])
    return x
""",
    (rng.random(500) + 3, 20),
    [(rng.random(0), 3)],
)
case(
    "correl",
    """
import numpy as np
def k(d):
    n, m = d.shape
    c = np.zeros((m, m))
    for i in range(m):
        for j in range(i, m):
            s = 0.0
            for q in range(n):
                s += d[q, i] * d[q, j]
            c[i, j] = s
            c[j, i] = s
    return c
""",
    (normal(50, 30),),
)
case(
    "syrk",
    """
def k(A, C, alpha, beta):
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for q in range(m):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, q] * A[j, q]
""",
    (normal(30, 20), normal(30, 30), 1.5, 1.2),
)
case(
    "gesummv",
    """
def k(A, B, x, y, alpha, beta):
    n = len(x)
    for i in range(n):
        t = 0.0
        s = 0.0
        for j in range(n):
            t = A[i, j] * x[j] + t
            s = B[i, j] * x[j] + s
        y[i] = alpha * t + beta * s
""",
    (normal(30, 30), normal(30, 30), normal(30), normal(30), 1.5, 1.2),
)
case(
    "bicg",
    """
def k(A, s, q, p, r):
    n, m = A.shape
    for i in range(m):
        s[i] = 0.0
    for i in range(n):
        q[i] = 0.0
        for j in range(m):
            s[j] = s[j] + r[i] * A[i, j]
            q[i] = q[i] + A[i, j] * p[j]
""",
    (normal(30, 40), normal(40), normal(30), normal(40), normal(30)),
)
case(
    "ising",
    """
def k(spins):
    n, m = spins.shape
    e = 0
    for i in range(n):
        for j in range(m):
            s = spins[i, j]
            nb = spins[(i + 1) % n, j] + spins[i, (j + 1) % m]
            nb += spins[(i - 1) % n, j] + spins[i, (j - 1) % m]
            e += -nb * s
    return e / 4
""",
    (rng.choice([-1, 1], (20, 30)),),
    [(rng.choice([-1, 1], (1, 1)),), (rng.choice([-1, 1], (2, 3)),)],
)
case(
    "rule30b",
    """
import numpy as np
def k(n, steps):
    cells = np.zeros((steps, n), dtype=int)
    cells[0, n // 2] = 1
    for t in range(1, steps):
        for i in range(1, n - 1):
            a, b, c = cells[t - 1, i - 1], cells[t - 1, i], cells[t - 1, i + 1]
            if (a == 1 and b == 0 and c == 0) or (a == 0 and (b == 1 or c == 1)):
                cells[t, i] = 1
    return cells
""",
    (301, 20),
    [(1, 4), (2, 5)],
)
case(
    "weights",
    """
def k(x, w, b, out):
    for i in range(x.shape[0]):
        for j in range(w.shape[1]):
            z = b[j]
            for q in range(x.shape[1]):
                z += x[i, q] * w[q, j]
            out[i, j] = z if z > 0 else 0.0
""",
    (normal(30, 10), normal(10, 20), normal(20), normal(30, 20)),
)
case(
    "grad",
    """
import numpy as np
def k(u, dx):
    n, m = u.shape
    gx = np.zeros_like(u)
    gy = np.zeros_like(u)
    for i in range(n):
        for j in range(m):
            if i == 0:
                gx[i, j] = (u[i + 1, j] - u[i, j]) / dx
            elif i == n - 1:
                gx[i, j] = (u[i, j] - u[i - 1, j]) / dx
            else:
                gx[i, j] = (u[i + 1, j] - u[i - 1, j]) / (2 * dx)
            if 0 < j < m - 1:
                gy[i, j] = (u[i, j + 1] - u[i, j - 1]) / (2 * dx)
    return gx, gy
""",
    (normal(20, 30), 0.1),
    [(normal(1, 1), 0.1), (normal(2, 2), 0.1), (normal(3, 3), 0.1)],
)
case(
    "idxout",
    """
def k(x, y):
    for i in range(len(x)):
        y[i] = x[i] + 1
    return i
""",
    (normal(500), normal(500)),
)
case(
    "softmax",
    """
import numpy as np
def k(x):
    n, m = x.shape
    out = np.zeros((n, m))
    for i in range(n):
        mx = x[i, 0]
        for j in range(1, m):
            if x[i, j] > mx:
                mx = x[i, j]
        t = 0.0
        for j in range(m):
            out[i, j] = np.exp(x[i, j] - mx)
            t += out[i, j]
        for j in range(m):
            out[i, j] /= t
    return out
""",
    (normal(100, 20),),
)


case(
    "mean of the neighbours, of which there may be none",
    """
import numpy as np
def k(x):
    n = len(x)
    out = np.zeros(n)
    for i in range(n):
        total = 0.0
        count = 0
        for d in (-1, 1):
            if i + d >= 0 and i + d < n:
                total += x[i + d]
                count += 1
        out[i] = total / count
    return out
""",
    (normal(500),),
    [(normal(1),), (normal(2),), (normal(3),), (normal(0),)],
)


@pytest.mark.parametrize("name", cases)
def test_algorithms_stay_the_same(name):
    check(cases[name])

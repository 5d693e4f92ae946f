"""Neighbourhoods: life, diffusion, filters, with every kind of border.

Each case is a function, the arguments it is observed on, and others it must be right for.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy_cases import Cases, check

rng = np.random.default_rng(8)
cases = Cases()
case = cases.add


def normal(*shape):
    return rng.standard_normal(shape)


def bits(*shape):
    return rng.integers(0, 2, shape)


case(
    "lifeborder",
    """
import numpy as np
def k(grid):
    n = len(grid)
    m = len(grid[0])
    out = np.zeros((n, m), dtype=np.int64)
    for x in range(n):
        for y in range(m):
            alive = 0
            for dx in range(-1, 2):
                for dy in range(-1, 2):
                    if dx == 0 and dy == 0:
                        continue
                    nx = x + dx
                    ny = y + dy
                    if 0 <= nx < n and 0 <= ny < m:
                        alive += grid[nx][ny]
            if grid[x][y]:
                if alive in (2, 3):
                    out[x, y] = 1
            elif alive == 3:
                out[x, y] = 1
    return out
""",
    (bits(30, 40),),
    [(bits(*s),) for s in ((1, 1), (2, 1), (3, 3), (1, 6))],
)
case(
    "lifeclamp",
    """
import numpy as np
def neighbours(grid, i, j):
    rows, cols = grid.shape
    count = 0
    for x in range(max(0, i - 1), min(rows, i + 2)):
        for y in range(max(0, j - 1), min(cols, j + 2)):
            if x != i or y != j:
                count += grid[x, y]
    return count
def k(grid):
    rows, cols = grid.shape
    new = grid.copy()
    for i in range(rows):
        for j in range(cols):
            c = neighbours(grid, i, j)
            if grid[i, j] == 1:
                if c < 2 or c > 3:
                    new[i, j] = 0
            else:
                if c == 3:
                    new[i, j] = 1
    return new
""",
    (bits(30, 40),),
    [(bits(*s),) for s in ((1, 1), (2, 1), (3, 3), (1, 6))],
)
case(
    "lifebool",
    """
import numpy as np
def k(cells, h, w):
    out = np.empty_like(cells)
    for j in range(w):
        for i in range(h):
            up = i - 1 if i > 0 else h - 1
            down = i + 1 if i < h - 1 else 0
            left = j - 1 if j > 0 else w - 1
            right = j + 1 if j < w - 1 else 0
            s = int(cells[up, left]) + int(cells[up, j]) + int(cells[up, right])
            s += int(cells[i, left]) + int(cells[i, right])
            s += int(cells[down, left]) + int(cells[down, j]) + int(cells[down, right])
            out[i, j] = s == 3 or (cells[i, j] and s == 2)
    return out
""",
    (bits(30, 40).astype(bool), 30, 40),
    [(bits(*s).astype(bool), *s) for s in ((1, 1), (2, 1), (3, 3), (1, 6), (0, 3))],
)
case(
    "lifeinner",
    """
import numpy as np
def k(a):
    b = np.zeros_like(a)
    n, m = a.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            t = (a[i-1, j-1] + a[i-1, j] + a[i-1, j+1] + a[i, j-1]
                 + a[i, j+1] + a[i+1, j-1] + a[i+1, j] + a[i+1, j+1])
            b[i, j] = 1 if t == 3 or (t == 2 and a[i, j] == 1) else 0
    return b
""",
    (bits(30, 40).astype(np.uint8),),
    [(bits(*s).astype(np.uint8),) for s in ((0, 0), (1, 1), (2, 1), (3, 3), (1, 6))],
)
case(
    "gol_sum",
    """
import numpy as np
N = 30
def count(g, r, c):
    t = 0
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            if a or b:
                t += g[(r + a) % N][(c + b) % N]
    return t
def k(g):
    new = np.zeros((N, N), dtype=int)
    for c in range(N):
        for r in range(N):
            t = count(g, r, c)
            if g[r][c] == 1:
                new[r][c] = 1 if t == 2 or t == 3 else 0
            else:
                new[r][c] = 1 if t == 3 else 0
    return new
""",
    (bits(30, 30),),
    [(bits(31, 30),)],
)
case(
    "heat",
    """
import numpy as np
def k(u, alpha, steps):
    n, m = u.shape
    v = np.zeros((n, m))
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + alpha * (
                    u[i+1, j] + u[i-1, j] + u[i, j+1] + u[i, j-1] - 4 * u[i, j]
                )
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = v[i, j]
    return u
""",
    (normal(30, 40), 0.1, 5),
    [(normal(n, m), 0.1, 3) for n, m in ((0, 0), (1, 1), (2, 2), (3, 3), (1, 5), (5, 1))],
)
case(
    "jacobi1d",
    """
def k(T, A, B):
    for t in range(T):
        for i in range(1, len(A) - 1):
            B[i] = 0.33333 * (A[i-1] + A[i] + A[i+1])
        for i in range(1, len(A) - 1):
            A[i] = 0.33333 * (B[i-1] + B[i] + B[i+1])
""",
    (5, normal(1000), normal(1000)),
    [(3, normal(n), normal(n)) for n in (0, 1, 2, 3)] + [(3, normal(5), normal(9))],
)
case(
    "borderset",
    """
import numpy as np
def k(u):
    n, m = u.shape
    v = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            if i == 0 or j == 0 or i == n - 1 or j == m - 1:
                v[i, j] = 0.0
            else:
                v[i, j] = 0.25 * (u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1])
    return v
""",
    (normal(30, 40),),
    [(normal(1, 1),), (normal(2, 2),), (normal(3, 3),), (normal(0, 2),), (normal(1, 4),)],
)
case(
    "sobel",
    """
import numpy as np
def k(img):
    h, w = img.shape
    out = np.zeros((h, w))
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            gx = (img[y-1, x+1] + 2 * img[y, x+1] + img[y+1, x+1]) - (
                img[y-1, x-1] + 2 * img[y, x-1] + img[y+1, x-1])
            gy = (img[y+1, x-1] + 2 * img[y+1, x] + img[y+1, x+1]) - (
                img[y-1, x-1] + 2 * img[y-1, x] + img[y-1, x+1])
            out[y, x] = (gx * gx + gy * gy) ** 0.5
    return out
""",
    (normal(30, 40),),
)
case(
    "conv",
    """
import numpy as np
def k(img, ker):
    h, w = img.shape
    kh, kw = ker.shape
    out = np.zeros((h - kh + 1, w - kw + 1))
    for i in range(h - kh + 1):
        for j in range(w - kw + 1):
            acc = 0.0
            for a in range(kh):
                for b in range(kw):
                    acc += img[i + a, j + b] * ker[a, b]
            out[i, j] = acc
    return out
""",
    (normal(30, 40), normal(3, 3)),
    [(normal(3, 3), normal(3, 3)), (normal(5, 4), normal(2, 1))],
)
case(
    "edges",
    """
import numpy as np
def k(u):
    n, m = u.shape
    v = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            a = u[max(i - 1, 0), j]
            b = u[min(i + 1, n - 1), j]
            v[i, j] = 0.5 * (a + b) - u[i, j]
    return v
""",
    (normal(30, 40),),
    [(normal(1, 1),), (normal(2, 2),), (normal(0, 2),)],
)
case(
    "wave",
    """
def k(u, up, un, c, steps):
    nx, ny = u.shape
    for s in range(steps):
        for i in range(1, nx - 1):
            for j in range(1, ny - 1):
                lap = u[i+1, j] + u[i-1, j] + u[i, j+1] + u[i, j-1] - 4.0 * u[i, j]
                un[i, j] = 2.0 * u[i, j] - up[i, j] + c * lap
        for i in range(nx):
            for j in range(ny):
                up[i, j] = u[i, j]
                u[i, j] = un[i, j]
""",
    (normal(20, 30), normal(20, 30), normal(20, 30), 0.1, 4),
    [(normal(1, 1), normal(1, 1), normal(1, 1), 0.1, 2)],
)
case(
    "rolling",
    """
import numpy as np
def k(x, w):
    n = len(x)
    out = np.zeros(n - w + 1)
    for i in range(n - w + 1):
        s = 0.0
        for j in range(w):
            s += x[i + j]
        out[i] = s / w
    return out
""",
    (normal(1000), 5),
    [(normal(5), 5), (normal(3), 1)],
)
case(
    "movingcentre",
    """
import numpy as np
def k(x, h):
    n = len(x)
    out = x.copy()
    for i in range(h, n - h):
        s = 0.0
        for j in range(i - h, i + h + 1):
            s += x[j]
        out[i] = s / (2 * h + 1)
    return out
""",
    (normal(1000), 3),
    [(normal(5), 3), (normal(3), 1)],
)

case(
    "remainders of the cell itself",
    """
def k(u, v, n, rate):
    new = [0.0] * (n * n)
    for i in range(n):
        for j in range(n):
            at = (i % n) * n + (j % n)
            up = u[((i - 1) % n) * n + (j % n)] + u[((i + 1) % n) * n + (j % n)]
            side = u[(i % n) * n + (j - 1) % n] + u[(i % n) * n + (j + 1) % n]
            new[at] = u[at] + rate * (up + side - 4 * u[at]) - v[at]
    return new
""",
    (normal(900).tolist(), normal(900).tolist(), 30, 0.2),
    [(normal(n * n).tolist(), normal(n * n).tolist(), n, 0.2) for n in (1, 2, 3)],
)
case(
    "remainders of windows, and of another number",
    """
import numpy as np
def k(grid):
    h, w = grid.shape
    out = np.zeros((h, w))
    for r in range(h):
        for c in range(w):
            total = 0.0
            for dr in (-1, 0, 1):
                for dc in (-1, 0, 1):
                    total += grid[(r + dr) % h, (c + dc) % w]
            out[r, c] = total + r % h + c % 7
    return out
""",
    (normal(30, 40),),
    [(normal(*s),) for s in ((1, 1), (2, 2), (3, 5))],
)


@pytest.mark.parametrize("name", cases)
def test_stencils_stay_the_same(name):
    check(cases[name])

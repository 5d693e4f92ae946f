"""Stencils, filters and dynamic programming with NumPy alone: bit for bit what the loops give.

What is sequential along one axis is done for the whole other axis at once; the in-place sweep and
the folding table go along their diagonals, where no element needs another.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided


def floyd_warshall(path):
    # While k is fixed, row and column k stay as they are if no path[k, k] is negative.
    through = np.empty_like(path)
    for k in range(len(path)):
        np.add(path[:, k, None], path[k], out=through)
        np.minimum(path, through, out=path)
    return path


def nussinov(seq):
    """Diagonal d holds table[i, i + d]; what it needs lies on shorter diagonals."""
    n = len(seq)
    table = np.zeros((n, n), dtype=np.int64)
    down, right = table.strides
    for d in range(1, n):
        shorter = np.diagonal(table, d - 1)
        best = np.maximum(shorter[:-1], shorter[1:])
        if d > 1:
            pairs = seq[: n - d] + seq[d:] == 3
            np.maximum(best, np.diagonal(table, d - 2)[1:-1] + pairs, out=best)
            shape = (n - d, d - 1)  # row i: table[i, i + s] and table[i + s + 1, i + d]
            left = as_strided(table[:, 1:], shape, (down + right, right))
            below = as_strided(table[2:, d:], shape, (down + right, down))
            np.maximum(best, (left + below).max(axis=1), out=best)
        table.reshape(-1)[d : (n - d) * n : n + 1] = best
    return table


def deriche(alpha, image):
    decay = math.exp(-alpha)
    k = (1.0 - decay) * (1.0 - decay) / (1.0 + 2.0 * alpha * decay - math.exp(-2.0 * alpha))
    a2 = k * decay * (alpha - 1.0)
    a3 = k * decay * (alpha + 1.0)
    a4 = -k * math.exp(-2.0 * alpha)
    b1 = 2.0 * decay
    b2 = -math.exp(-2.0 * alpha)
    rows = _both_ways(np.ascontiguousarray(image.T), (k, a2, a3, a4, b1, b2))
    return _both_ways(np.ascontiguousarray(rows.T), (k, a2, a3, a4, b1, b2))


def _both_ways(x, coefficients):
    """Filter along the first axis, forth and back; the other axis is done at once."""
    a1, a2, a3, a4, b1, b2 = coefficients
    zero = np.zeros_like(x[0])
    forth = a1 * x
    forth[1:] += a2 * x[:-1]
    back = np.zeros_like(x)
    back[:-1] = a3 * x[1:]
    back[:-2] += a4 * x[2:]
    for out, order in ((forth, range(len(x))), (back, range(len(x) - 1, -1, -1))):
        y1 = y2 = zero
        for j in order:
            out[j] += b1 * y1
            out[j] += b2 * y2
            y2, y1 = y1, out[j]
    forth += back
    return forth


def adi(u, steps):
    n = len(u)
    mul1 = 0.02 * n * n / steps
    mul2 = 0.01 * n * n / steps
    a = -mul1 / 2.0
    d = -mul2 / 2.0
    v = np.zeros((n, n))
    columns = u.T.copy()  # u with each of its columns in one piece
    for _ in range(steps):
        # v[j, i] along j, from rows of u; then u[i, j] along j, from rows of v.
        _half_step(columns.T, v, (a, 1.0 + mul1, d))
        _half_step(v.T, columns, (d, 1.0 + mul2, a))
    u[1:-1] = columns.T[1:-1]
    return u


def _half_step(old, new, coefficients):
    """Tridiagonal systems along the first axis of ``new``, for all of its second axis at once."""
    a, b, d = coefficients
    n = len(new)
    inner = slice(1, n - 1)
    rhs = -d * old[inner, :-2] + (1.0 + 2.0 * d) * old[inner, inner] - d * old[inner, 2:]
    p = np.zeros(n)
    q = np.empty((n, n - 2))
    q[0] = 1.0
    for j in range(1, n - 1):
        below = a * p[j - 1] + b
        p[j] = -a / below
        q[j] = (rhs[j - 1] - a * q[j - 1]) / below
    new[0, inner] = 1.0
    new[n - 1, inner] = 1.0
    for j in range(n - 2, 0, -1):
        np.multiply(new[j + 1, inner], p[j], out=new[j, inner])
        new[j, inner] += q[j]


def fdtd_2d(ex, ey, hz, pulse):
    for value in pulse:
        ey[0] = value
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        curl = ex[:-1, 1:] - ex[:-1, :-1]
        curl += ey[1:, :-1]
        curl -= ey[:-1, :-1]
        curl *= 0.7
        hz[:-1, :-1] -= curl
    return hz


def heat_3d(A, B, steps):
    work = np.empty((2, *(n - 2 for n in A.shape)))
    for _ in range(steps):
        _heat(A, B, *work)
        _heat(B, A, *work)
    return A


def _heat(old, new, twice, bend):
    inner = slice(1, -1)
    result = new[inner, inner, inner]
    centre = old[inner, inner, inner]
    np.multiply(centre, 2.0, out=twice)
    np.subtract(old[2:, inner, inner], twice, out=result)
    result += old[:-2, inner, inner]
    result *= 0.125
    for after, before in (
        (old[inner, 2:, inner], old[inner, :-2, inner]),
        (old[inner, inner, 2:], old[inner, inner, :-2]),
    ):
        np.subtract(after, twice, out=bend)
        np.add(bend, before, out=bend)
        np.multiply(bend, 0.125, out=bend)
        result += bend
    result += centre


def jacobi_1d(A, B, steps):
    for _ in range(steps):
        for old, new in ((A, B), (B, A)):
            inner = new[1:-1]
            np.add(old[:-2], old[1:-1], out=inner)
            inner += old[2:]
            inner *= 0.33333
    return A


def jacobi_2d(A, B, steps):
    for _ in range(steps):
        for old, new in ((A, B), (B, A)):
            inner = new[1:-1, 1:-1]
            np.add(old[1:-1, 1:-1], old[1:-1, :-2], out=inner)
            inner += old[1:-1, 2:]
            inner += old[2:, 1:-1]
            inner += old[:-2, 1:-1]
            inner *= 0.2
    return A


def seidel_2d(A, steps):
    """Along the lines 2 i + j = w: what such a point needs lies on lines before or after."""
    n = len(A)
    flat = A.reshape(-1)
    step = n - 2  # from (i, j) to (i + 1, j - 2)
    for _ in range(steps):
        for w in range(3, 3 * (n - 2) + 1):
            first = max(1, (w - n + 3) // 2)
            count = min(n - 2, (w - 1) // 2) - first + 1
            if count < 1:
                continue
            at = first * n + w - 2 * first
            end = at + (count - 1) * step + 1

            def point(shift, at=at, end=end):
                return flat[at + shift : end + shift : step]

            above = point(-n - 1) + point(-n) + point(-n + 1)
            along = point(-1) + point(0) + point(1)
            below = point(n - 1) + point(n) + point(n + 1)
            point(0)[:] = (above + along + below) / 9.0
    return A

"""Products of matrices and vectors, and triangular systems, with NumPy alone.

``@`` is BLAS, which adds in another order than the loops: all of these differ from them in the
last bits, except those named in ``EXACT``.
"""

from __future__ import annotations

import numpy as np

EXACT = frozenset({"lu_by_columns"})

BLOCK = 32
"""Columns of a panel in the blocked factorisation: 16 to 64 were equally fast at n = 300."""


def gemm(alpha, beta, A, B, C):
    C *= beta
    C += (alpha * A) @ B
    return C


def two_mm(alpha, beta, A, B, C, D):
    D *= beta
    D += ((alpha * A) @ B) @ C
    return D


def three_mm(A, B, C, D):
    return (A @ B) @ (C @ D)


def atax(A, x):
    return (A @ x) @ A


def bicg(A, p, r):
    return r @ A, A @ p


def mvt(x1, x2, y1, y2, A):
    x1 += A @ y1
    x2 += y2 @ A
    return x1, x2


def gemver(alpha, beta, A, u1, v1, u2, v2, y, z):
    A += np.stack((u1, u2), axis=1) @ np.stack((v1, v2))
    x = beta * (y @ A) + z
    return alpha * (A @ x)


def gesummv(alpha, beta, A, B, x):
    return alpha * (A @ x) + beta * (B @ x)


def symm(alpha, beta, A, B, C):
    full = np.tril(A)
    full += np.tril(A, -1).T
    C *= beta
    C += (alpha * full) @ B
    return C


def syrk(alpha, beta, A, C):
    product = A @ A.T  # NumPy sees the transpose and calls dsyrk: half the work
    product *= alpha
    product += beta * C
    np.copyto(C, product, where=np.tri(len(C), dtype=bool))
    return C


def syr2k(alpha, beta, A, B, C):
    product = (alpha * A) @ B.T
    total = product + product.T
    total += beta * C
    np.copyto(C, total, where=np.tri(len(C), dtype=bool))
    return C


def trmm(alpha, A, B):
    unit = np.tril(A, -1)
    np.fill_diagonal(unit, 1.0)
    B[:] = (alpha * unit.T) @ B
    return B


def cholesky(A):
    lower = np.linalg.cholesky(A)  # reads the lower half only, as the loops do
    np.copyto(A, lower, where=np.tri(len(A), dtype=bool))
    return A


def lu(A):
    """Right-looking, by panels: most of the work is one matrix product a panel."""
    n = len(A)
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        lu_by_columns(A[first:, first:last])
        if last < n:
            unit = np.tril(A[first:last, first:last], -1)
            np.fill_diagonal(unit, 1.0)
            A[first:last, last:] = np.linalg.solve(unit, A[first:last, last:])
            A[last:, last:] -= A[last:, first:last] @ A[first:last, last:]
    return A


def lu_by_columns(A):
    """Rank-1 updates: each element is changed in the loops' order, so it has their bits."""
    for k in range(A.shape[1]):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k, None] * A[k, k + 1 :]
    return A


def ludcmp(A, b):
    lu(A)
    n = len(b)
    x = b.copy()
    for i in range(1, n):
        x[i] -= A[i, :i] @ x[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def trisolv(L, b):
    n = len(b)
    x = np.empty(n)
    for i in range(n):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def durbin(r):
    n = len(r)
    y = np.zeros(n)
    backwards = r[::-1].copy()
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, n):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + backwards[n - k :] @ y[:k]) / beta
        y[:k] += alpha * y[k - 1 :: -1]
        y[k] = alpha
    return y


def gramschmidt(A):
    m, n = A.shape
    columns = A.T.copy()  # each column in one piece
    q = np.zeros((n, m))
    R = np.zeros((n, n))
    for k in range(n):
        R[k, k] = np.sqrt(columns[k] @ columns[k])
        np.divide(columns[k], R[k, k], out=q[k])
        R[k, k + 1 :] = columns[k + 1 :] @ q[k]
        columns[k + 1 :] -= R[k, k + 1 :, None] * q[k]
    A[:] = columns.T
    return q.T.copy(), R


def correlation(data):
    n = len(data)
    data -= data.mean(axis=0)
    stddev = np.sqrt(np.einsum("ij,ij->j", data, data) / n)
    stddev[stddev <= 0.1] = 1.0
    data /= np.sqrt(n) * stddev
    corr = data.T @ data
    np.fill_diagonal(corr, 1.0)
    return corr


def covariance(data):
    data -= data.mean(axis=0)
    cov = data.T @ data
    cov /= len(data) - 1.0
    return cov


def doitgen(A, C):
    A[:] = (A.reshape(-1, A.shape[2]) @ C).reshape(A.shape)
    return A

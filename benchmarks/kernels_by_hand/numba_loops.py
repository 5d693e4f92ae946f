"""The loops of some kernels in the order that a compiler needs, for ``numba_forms``.

Where the bundled program's inner loop walks down a column, the loops are interchanged so that it
walks along a row; each element's sum keeps its order, so every bit stays. ``prange`` marks what is
independent.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange


def two_mm(alpha, beta, A, B, C, D):
    n, p = A.shape
    m = B.shape[1]
    q = C.shape[1]
    for i in prange(n):
        row = np.zeros(m)
        for k in range(p):
            for j in range(m):
                row[j] += alpha * A[i, k] * B[k, j]
        for j in range(q):
            D[i, j] *= beta
        for k in range(m):
            for j in range(q):
                D[i, j] += row[k] * C[k, j]
    return D


def three_mm(A, B, C, D):
    n, p = A.shape
    m, r = C.shape
    q = D.shape[1]
    F = np.zeros((m, q))
    G = np.zeros((n, q))
    for i in prange(m):
        for k in range(r):
            for j in range(q):
                F[i, j] += C[i, k] * D[k, j]
    for i in prange(n):
        row = np.zeros(m)
        for k in range(p):
            for j in range(m):
                row[j] += A[i, k] * B[k, j]
        for k in range(m):
            for j in range(q):
                G[i, j] += row[k] * F[k, j]
    return G


def mvt(x1, x2, y1, y2, A):
    n = len(x1)
    for i in prange(n):
        for j in range(n):
            x1[i] += A[i, j] * y1[j]
    for j in range(n):
        for i in range(n):
            x2[i] += A[j, i] * y2[j]
    return x1, x2


def gemver(alpha, beta, A, u1, v1, u2, v2, y, z):
    n = len(y)
    x = np.zeros(n)
    w = np.zeros(n)
    for i in range(n):
        for j in range(n):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
            x[j] += beta * A[i, j] * y[i]
    for i in range(n):
        x[i] += z[i]
    for i in prange(n):
        for j in range(n):
            w[i] += alpha * A[i, j] * x[j]
    return w


def symm(alpha, beta, A, B, C):
    m, n = C.shape
    t = np.zeros(n)
    for i in range(m):
        t[:] = 0.0
        for k in range(i):
            for j in range(n):
                C[k, j] += alpha * B[i, j] * A[i, k]
                t[j] += B[k, j] * A[i, k]
        for j in range(n):
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * t[j]
    return C


def trmm(alpha, A, B):
    m, n = B.shape
    for i in range(m):
        for k in range(i + 1, m):
            for j in range(n):
                B[i, j] += A[k, i] * B[k, j]
        for j in range(n):
            B[i, j] = alpha * B[i, j]
    return B


def lu(A):
    n = len(A)
    for i in range(n):
        for k in range(i):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return A


def ludcmp(A, b):
    n = len(b)
    x = np.zeros(n)
    y = np.zeros(n)
    for i in range(n):
        for k in range(i):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    for i in range(n):
        w = b[i]
        for j in range(i):
            w -= A[i, j] * y[j]
        y[i] = w
    for i in range(n - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, n):
            w -= A[i, j] * x[j]
        x[i] = w / A[i, i]
    return x


def correlation(data):
    n, m = data.shape
    mean = np.zeros(m)
    stddev = np.zeros(m)
    corr = np.zeros((m, m))
    for i in range(n):
        for j in range(m):
            mean[j] += data[i, j]
    mean /= n
    for i in range(n):
        for j in range(m):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
    for j in range(m):
        stddev[j] = math.sqrt(stddev[j] / n)
        if stddev[j] <= 0.1:
            stddev[j] = 1.0
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
            data[i, j] /= math.sqrt(n) * stddev[j]
    for i in prange(m):
        for k in range(n):
            for j in range(i + 1, m):
                corr[i, j] += data[k, i] * data[k, j]
        corr[i, i] = 1.0
        for j in range(i + 1, m):
            corr[j, i] = corr[i, j]
    return corr


def covariance(data):
    n, m = data.shape
    mean = np.zeros(m)
    cov = np.zeros((m, m))
    for i in range(n):
        for j in range(m):
            mean[j] += data[i, j]
    mean /= n
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
    for i in prange(m):
        for k in range(n):
            for j in range(i, m):
                cov[i, j] += data[k, i] * data[k, j]
        for j in range(i, m):
            cov[i, j] /= n - 1.0
            cov[j, i] = cov[i, j]
    return cov


def doitgen(A, C):
    nr, nq, ns = A.shape
    for r in prange(nr):
        row = np.zeros(ns)
        for q in range(nq):
            row[:] = 0.0
            for s in range(ns):
                for p in range(ns):
                    row[p] += A[r, q, s] * C[s, p]
            for p in range(ns):
                A[r, q, p] = row[p]
    return A


def gramschmidt(A):
    m, n = A.shape
    columns = A.T.copy()
    q = np.zeros((n, m))
    R = np.zeros((n, n))
    for k in range(n):
        norm = 0.0
        for i in range(m):
            norm += columns[k, i] * columns[k, i]
        R[k, k] = math.sqrt(norm)
        for i in range(m):
            q[k, i] = columns[k, i] / R[k, k]
        for j in prange(k + 1, n):
            total = 0.0
            for i in range(m):
                total += q[k, i] * columns[j, i]
            R[k, j] = total
            for i in range(m):
                columns[j, i] = columns[j, i] - q[k, i] * total
    A[:] = columns.T
    return q.T.copy(), R

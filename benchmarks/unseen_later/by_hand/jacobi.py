"""Rows times the vector are dot products; the diagonal is taken out once."""

import numpy as np


def build(n):
    i = np.arange(n)
    A = 1.0 / (1.0 + abs(i[:, None] - i))
    A[i, i] = 0.0
    A[i, i] = A.sum(axis=1) + 0.35
    return A, i % 10 - 4.5


def split(A):
    diagonal = A.diagonal().copy()
    rest = A.copy()
    np.fill_diagonal(rest, 0.0)
    return diagonal, rest


def jacobi(A, b, tol=1e-9):
    diagonal, rest = split(A)
    x = np.zeros(len(b))
    error = 1.0
    count = 0
    while error > tol:
        x_new = (b - rest @ x) / diagonal
        error = abs(x_new - x).max()
        x = x_new
        count += 1
    return x, count


def gauss_seidel(A, b, tol=1e-9):
    diagonal, rest = split(A)
    x = np.zeros(len(b))
    count = 0
    while True:
        before = x.copy()
        for i in range(len(b)):
            x[i] = (b[i] - rest[i] @ x) / diagonal[i]
        count += 1
        if abs(x - before).max() < tol:
            return x, count


A, b = build(400)
x1, n1 = jacobi(A, b)
x2, n2 = gauss_seidel(A, b)
print(n1, n2)
print(round(float(abs(x1 - x2).max()), 6))
print([round(float(v), 6) for v in x1[:5]])

"""Jacobi iteration for a diagonally dominant system, with the history of the residual."""

import numpy as np


def jacobi(A, b, tol=1e-10, max_iter=500):
    n = A.shape[0]
    x = np.zeros(n)
    history = []
    for it in range(max_iter):
        x_new = np.zeros(n)
        for i in range(n):
            s = 0.0
            for j in range(n):
                if j != i:
                    s += A[i, j] * x[j]
            x_new[i] = (b[i] - s) / A[i, i]
        residual = np.abs(x_new - x).max()
        history.append(residual)
        x = x_new
        if residual < tol:
            break
    return x, history


rng = np.random.default_rng(31)
n = 900
A = rng.uniform(-1, 1, (n, n))
A[np.arange(n), np.arange(n)] = np.abs(A).sum(axis=1) * 1.1
b = rng.uniform(-10, 10, n)
x, history = jacobi(A, b)
print(len(history), "iterations")
print("last residuals", ["%.3e" % r for r in history[-3:]])
print("solution", np.round(x[:6], 10), "error %.2e" % np.abs(A @ x - b).max())

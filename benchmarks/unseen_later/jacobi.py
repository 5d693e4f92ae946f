import numpy as np

# Solve a diagonally dominant system with Jacobi and Gauss-Seidel until converged


def build(n):
    A = np.zeros((n, n))
    b = np.zeros(n)
    for i in range(n):
        for j in range(n):
            if i != j:
                A[i][j] = 1.0 / (1.0 + abs(i - j))
        A[i][i] = sum(A[i]) + 0.35
        b[i] = (i % 10) - 4.5
    return A, b


def jacobi(A, b, tol=1e-9):
    n = len(b)
    x = np.zeros(n)
    error = 1.0
    count = 0
    while error > tol:
        x_new = np.zeros(n)
        for i in range(n):
            s = 0
            for j in range(n):
                if j != i:
                    s = s + A[i][j] * x[j]
            x_new[i] = (b[i] - s) / A[i][i]
        error = max(abs(x_new - x))
        x = x_new
        count += 1
    return x, count


def gauss_seidel(A, b, tol=1e-9):
    n = len(b)
    x = np.zeros(n)
    count = 0
    while True:
        biggest = 0.0
        for i in range(n):
            old = x[i]
            s = b[i]
            for j in range(n):
                if i != j:
                    s -= A[i, j] * x[j]
            x[i] = s / A[i, i]
            biggest = max(biggest, abs(x[i] - old))
        count += 1
        if biggest < tol:
            break
    return x, count


A, b = build(400)
x1, n1 = jacobi(A, b)
x2, n2 = gauss_seidel(A, b)
print(n1, n2)
print(round(float(abs(x1 - x2).max()), 6))
print([round(float(v), 6) for v in x1[:5]])

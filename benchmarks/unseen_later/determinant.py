"""Determinants and inverses by Gaussian elimination with partial pivoting."""


def identity(n):
    return [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]


def matmul(A, B):
    rows, inner, cols = len(A), len(B), len(B[0])
    C = [[0.0 for _ in range(cols)] for _ in range(rows)]
    for i in range(rows):
        for j in range(cols):
            for k in range(inner):
                C[i][j] += A[i][k] * B[k][j]
    return C


def determinant(M):
    A = [row[:] for row in M]
    n = len(A)
    det = 1.0
    for col in range(n):
        pivot = col
        for r in range(col + 1, n):
            if abs(A[r][col]) > abs(A[pivot][col]):
                pivot = r
        if A[pivot][col] == 0:
            return 0.0
        if pivot != col:
            A[col], A[pivot] = A[pivot], A[col]
            det = -det
        det *= A[col][col]
        for r in range(col + 1, n):
            factor = A[r][col] / A[col][col]
            for c in range(col, n):
                A[r][c] -= factor * A[col][c]
    return det


def inverse(M):
    n = len(M)
    A = [row[:] + ident for row, ident in zip(M, identity(n))]
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(A[r][i]))
        A[i], A[p] = A[p], A[i]
        pivot = A[i][i]
        for j in range(2 * n):
            A[i][j] /= pivot
        for r in range(n):
            if r != i:
                factor = A[r][i]
                for j in range(2 * n):
                    A[r][j] -= factor * A[i][j]
    return [row[n:] for row in A]


def sample(n):
    return [
        [((i * 7 + j * 13) % 17) / 17.0 + (2.0 if i == j else 0.0) for j in range(n)]
        for i in range(n)
    ]


def main():
    n = 260
    M = sample(n)
    print("det  %.8e" % determinant(M))
    inv = inverse(M)
    P = matmul(M, inv)
    err = max(abs(P[i][j] - (1.0 if i == j else 0.0)) for i in range(n) for j in range(n))
    print("error below 1e-9:", err < 1e-9)
    print("trace of inverse %.8f" % sum(inv[i][i] for i in range(n)))


if __name__ == "__main__":
    main()

"""A step of the elimination is an outer product; the inverse is solved for."""

import numpy as np


def determinant(M):
    A = M.copy()
    det = 1.0
    for col in range(len(A)):
        pivot = col + np.abs(A[col:, col]).argmax()
        if A[pivot, col] == 0:
            return 0.0
        if pivot != col:
            A[[col, pivot]] = A[[pivot, col]]
            det = -det
        det *= A[col, col]
        factors = A[col + 1 :, col] / A[col, col]
        A[col + 1 :, col:] -= factors[:, None] * A[col, col:]
    return det


def sample(n):
    i, j = np.ogrid[:n, :n]
    return (i * 7 + j * 13) % 17 / 17.0 + np.where(i == j, 2.0, 0.0)


def main():
    n = 260
    M = sample(n)
    print("det  %.8e" % determinant(M))
    inv = np.linalg.inv(M)
    err = np.abs(M @ inv - np.eye(n)).max()
    print("error below 1e-9:", bool(err < 1e-9))
    print("trace of inverse %.8f" % inv.trace())


if __name__ == "__main__":
    main()

"""Dominant eigenvalue of a sparse matrix (CSR) with power iteration."""

import argparse
import math


class CSRMatrix:
    def __init__(self, n):
        self.n = n
        self.data = []
        self.indices = []
        self.indptr = [0]

    def add_row(self, entries):
        for col, value in entries:
            self.indices.append(col)
            self.data.append(value)
        self.indptr.append(len(self.data))

    def dot(self, x):
        y = [0.0] * self.n
        for row in range(self.n):
            s = 0.0
            for k in range(self.indptr[row], self.indptr[row + 1]):
                s += self.data[k] * x[self.indices[k]]
            y[row] = s
        return y


def build(n):
    m = CSRMatrix(n)
    for i in range(n):
        entries = [(i, 4.0 + (i % 7) * 0.1)]
        for step in (1, 17, 131):
            if i - step >= 0:
                entries.append((i - step, -1.0 + 0.01 * step))
            if i + step < n:
                entries.append((i + step, -0.9))
        m.add_row(sorted(entries))
    return m


def normalize(v):
    norm = math.sqrt(sum(a * a for a in v))
    return [a / norm for a in v], norm


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=11000)
    parser.add_argument("--iters", type=int, default=500)
    parser.add_argument("--tol", type=float, default=1e-12)
    args = parser.parse_args()

    mat = build(args.n)
    x = [1.0 / math.sqrt(args.n)] * args.n
    lam = 0.0
    for it in range(args.iters):
        y = mat.dot(x)
        x, new = normalize(y)
        if abs(new - lam) < args.tol:
            break
        lam = new
    print(f"{it + 1} iterations, lambda = {lam:.9f}")
    print(f"nnz = {len(mat.data)}, x[0] = {x[0]:.9f}")


if __name__ == "__main__":
    main()

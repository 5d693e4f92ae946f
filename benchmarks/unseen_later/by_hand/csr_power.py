"""Each row has seven entries at most: a product is seven gathers, whole columns at a time."""

import argparse
import math

import numpy as np


def rows(n):
    for i in range(n):
        entries = [(i, 4.0 + (i % 7) * 0.1)]
        for step in (1, 17, 131):
            if i - step >= 0:
                entries.append((i - step, -1.0 + 0.01 * step))
            if i + step < n:
                entries.append((i + step, -0.9))
        yield sorted(entries)


def build(n):
    widest = 7
    indices = np.zeros((widest, n), dtype=np.intp)
    data = np.zeros((widest, n))
    count = 0
    for i, entries in enumerate(rows(n)):
        count += len(entries)
        for k, (column, value) in enumerate(entries):
            indices[k, i], data[k, i] = column, value
    return data, indices, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=11000)
    parser.add_argument("--iters", type=int, default=500)
    parser.add_argument("--tol", type=float, default=1e-12)
    args = parser.parse_args()

    data, indices, count = build(args.n)
    x = np.full(args.n, 1.0 / math.sqrt(args.n))
    lam = 0.0
    for _it in range(args.iters):
        y = np.zeros(args.n)
        for values, columns in zip(data, indices, strict=True):
            y += values * x[columns]
        # one after the other, as the sum of a list: the end of the iteration hangs on the digits
        new = math.sqrt(np.add.accumulate(y * y)[-1])
        x = y / new
        if abs(new - lam) < args.tol:
            break
        lam = new
    print(f"{_it + 1} iterations, lambda = {lam:.9f}")
    print(f"nnz = {count}, x[0] = {x[0]:.9f}")


if __name__ == "__main__":
    main()

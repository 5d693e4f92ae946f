"""Loops that run downwards over short and empty sequences: a stop of -1 is the last element."""

import numpy as np


def mirror(source, target, n):
    for i in range(2, n - 1):
        target[n - 1 - i] = source[i] * 2.0
    return target


def unwind(stack, out, depth):
    for i in range(depth - 1, -1, -1):
        out[depth - 1 - i] = stack[i] + 0.5
    return out


def inner(table, n):
    gap = np.zeros(n)
    for i in range(n):
        total = 0.0
        for j in range(1, n - 1):
            total += table[i, j]
        gap[i] = total
    return gap


rng = np.random.default_rng(6)
source = rng.random(50_000)
target = np.zeros(50_000)
for n in range(50_000, 49_994, -1):
    print(repr(float(mirror(source, target, n).sum())))
    print(repr(float(unwind(source, target, n)[5])), repr(float(target.sum())))
for n in range(150, 160):
    print(repr(float(inner(rng.random((160, 160)), n).sum())))
for n in range(6):
    print(
        n, mirror(source[:n], np.zeros(n), n).tolist(), unwind(source[:n], np.zeros(n), n).tolist()
    )
    print(n, inner(rng.random((n, n)), n).tolist())
try:
    print(mirror(source[:3], np.zeros(3), 5).tolist())
except IndexError as error:
    print(error)

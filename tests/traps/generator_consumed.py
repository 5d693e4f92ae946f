"""zip over generators takes one element more from the first than from the second."""

import random


def noisy(seed, n):
    r = random.Random(seed)
    for _ in range(n):
        yield r.random()


def dot(xs, ys):
    s = 0.0
    for x, y in zip(xs, ys):
        s += x * y
    return s


a = noisy(1, 5_000_000)
b = noisy(2, 4_900_000)
print(repr(dot(a, b)))
print(repr(next(a)), sum(1 for _ in a), list(b))
squares = map(lambda v: v * v, range(10))
print(dot(squares, [1] * 4), list(squares))

"""Unequal lengths under zip, counts that start elsewhere, loops that change what they run over."""

import numpy as np


def dot(a, b):
    s = 0.0
    for u, v in zip(a, b):
        s += u * v
    return s


def moments(x):
    s, n = 0.0, 0
    for n, v in enumerate(x, 1):
        s += v / n
    return s, n


def cut(x):
    i, n = 0, len(x)
    while i < n:
        if x[i] > 0.99:
            n -= 1
        x[i] *= 0.5
        i += 2
    return i, n


def flood(x):
    for v in x:
        if v > 2 and len(x) < 50_000:
            x.append(v - 1)
    return len(x), sum(x)


def smear(x):
    for v in x:
        x[-1] = v + x[-1] * 0.5
    return x[-1]


def odd_steps(x, step):
    s = 0
    for i in range(len(x) - 1, -1, -step):
        s = (s * 3 + x[i]) % 1009
    return s


rng = np.random.default_rng(8)
a, b = rng.random(120_000), rng.random(100_000)
print(repr(dot(a, b)), repr(dot(a.tolist(), b.tolist())), dot([], [1.0]), dot((1, 2), a))
print(moments(a), moments(a.tolist()), moments([]), moments(iter([1, 2])))
print(cut(a), cut(a.tolist()), cut([]), repr(float(a.sum())))
print(flood([5] * 9_000), flood([]), flood([1, 2.5, 3]))
print(smear(b), smear(b.tolist()[:50_000]), smear([1, 2]))
print([odd_steps(list(range(60_000)), k) for k in (1, 2, 7, 100_000)])

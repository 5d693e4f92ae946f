"""One function, called with lists, arrays, tuples, strings and matrices."""

import numpy as np


def combine(a, b):
    out = []
    for i in range(len(a)):
        out.append(a[i] + b[i])
    return out


def scale(m, k):
    for i in range(len(m)):
        m[i] = m[i] * k
    return m


n = 12_000
for start in range(20):
    print(sum(combine(list(range(start, n)), list(range(n)))))
    print(repr(sum(combine([0.5] * n, np.arange(n)))))
print(combine("abc", "xyz"), combine((1, 2), (True, 2.5)), combine([[1]], [[2, 3]]))
r = combine(np.arange(2000, dtype=np.uint8), np.arange(2000, dtype=np.uint8))
print(type(r[0]).__name__, int(r[200]), len(r))
print(scale([1, "a", [2]], 3), scale(np.array([1, 2], dtype=np.int8), 3).dtype)
print(combine(np.matrix([[1, 2]]), np.matrix([[3, 4]])))
for k in range(20):
    print(scale(np.arange(n, dtype=np.float32), k)[-1])

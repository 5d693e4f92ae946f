"""All points at once: searchsorted finds the intervals, blocks stay in the cache."""

from math import exp, sin

import numpy as np


def spline_coefficients(x, y):
    n = len(x) - 1
    h = [x[i + 1] - x[i] for i in range(n)]
    alpha = [0.0] * (n + 1)
    for i in range(1, n):
        alpha[i] = 3 / h[i] * (y[i + 1] - y[i]) - 3 / h[i - 1] * (y[i] - y[i - 1])
    l = [1.0] * (n + 1)
    mu = [0.0] * (n + 1)
    z = [0.0] * (n + 1)
    for i in range(1, n):
        l[i] = 2 * (x[i + 1] - x[i - 1]) - h[i - 1] * mu[i - 1]
        mu[i] = h[i] / l[i]
        z[i] = (alpha[i] - h[i - 1] * z[i - 1]) / l[i]
    b = [0.0] * n
    c = [0.0] * (n + 1)
    d = [0.0] * n
    for j in range(n - 1, -1, -1):
        c[j] = z[j] - mu[j] * c[j + 1]
        b[j] = (y[j + 1] - y[j]) / h[j] - h[j] * (c[j + 1] + 2 * c[j]) / 3
        d[j] = (c[j + 1] - c[j]) / (3 * h[j])
    return b, c, d


def evaluate(x, y, b, c, d, t):
    lo = np.searchsorted(x, t, side="right") - 1
    lo = np.minimum(np.maximum(lo, 0), len(b) - 1)
    dt = t - x[lo]
    return y[lo] + dt * (b[lo] + dt * (c[lo] + dt * d[lo]))


xs = [i * 0.05 + 0.01 * (i % 3) for i in range(1201)]
ys = [sin(t) * exp(-t / 20.0) for t in xs]
b, c, d = (np.array(values) for values in spline_coefficients(xs, ys))
x, y = np.array(xs), np.array(ys)

N = 2600000
BLOCK = 1 << 14
a, e = xs[0], xs[-1]
worst = 0.0
integral = 0.0
for start in range(0, N, BLOCK):
    t = a + (e - a) * np.arange(start, min(start + BLOCK, N)) / N
    v = evaluate(x, y, b, c, d, t)
    integral += v.sum() * (e - a) / N
    worst = max(worst, np.abs(v - np.sin(t) * np.exp(-t / 20.0)).max())
print("integral %.8f" % integral)
print("worst error %.3e" % worst)

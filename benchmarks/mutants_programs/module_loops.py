"""Trapezoid sums and a running mean, all at module level."""

import numpy as np

n = 9000
x = np.linspace(0.0, 4.0, n)
y = np.zeros(n)
for i in range(n):
    y[i] = x[i] * x[i] - 3.0 * x[i] + 0.5

width = 5
mean = np.zeros(n - width + 1)
for i in range(n - width + 1):
    total = 0.0
    for k in range(width):
        total += y[i + k]
    mean[i] = total / width

flips = 0
for i in range(1, n):
    if (y[i] > 0.0) != (y[i - 1] > 0.0):
        flips += 1
print(y.sum(), mean[0], mean[-1], mean.max(), flips)

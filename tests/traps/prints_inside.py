"""Progress is printed and logged from within the hot loop."""

import sys

import numpy as np


def relax(u, tolerance):
    n = len(u)
    for sweep in range(10_000):
        change = 0.0
        for i in range(1, n - 1):
            new = (u[i - 1] + u[i + 1]) / 2
            change = max(change, abs(new - u[i]))
            u[i] = new
            if i == n // 2 and sweep % 50 == 0:
                print("sweep", sweep, "centre", repr(float(u[i])))
        if change < tolerance:
            print("done after", sweep, file=sys.stderr)
            return sweep
    return None


u = np.zeros(120)
u[0] = 1.0
print(relax(u, 2e-6), repr(float(u.sum())))

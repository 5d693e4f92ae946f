"""Potential between two electrodes: Gauss-Seidel with over-relaxation on an ndarray."""

import numpy as np

n = 90
omega = 1.85
v = np.zeros((n, n))
fixed = np.zeros((n, n), dtype=bool)
v[20:70, 30] = 1.0
v[20:70, 60] = -1.0
fixed[20:70, 30] = fixed[20:70, 60] = True
fixed[0, :] = fixed[-1, :] = fixed[:, 0] = fixed[:, -1] = True

for iteration in range(1, 400):
    biggest = 0.0
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            if not fixed[i, j]:
                new = 0.25 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1])
                change = omega * (new - v[i, j])
                v[i, j] += change
                if abs(change) > biggest:
                    biggest = abs(change)
    if biggest < 1e-7:
        break

print("iterations", iteration)
print("middle", [round(float(x), 9) for x in v[45, 25:66:5]])

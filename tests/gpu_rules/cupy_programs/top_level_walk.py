import cupy as cp
import numpy as np

steps = 300
rng = np.random.default_rng(11)
points = cp.asarray(rng.standard_normal((20000, 2)))
drift = np.array([0.01, -0.02])
spread = []
inside = 0
for _ in range(steps):
    push = cp.asarray(drift)
    points = points + push
    points = points * cp.cos(points * 0.001)
    spread.append(float(cp.std(points)))
    inside += int((cp.abs(points) < 1.0).sum())

print("inside", inside)
print("spread", round(spread[0], 6), round(spread[-1], 6), len(spread))

"""Distance of every point to every centre, and which is the nearest."""

import numpy as np


def assign(points, centres):
    n, k = len(points), len(centres)
    labels = np.zeros(n, dtype=np.int64)
    distance = np.zeros((n, k))
    for i in range(n):
        for c in range(k):
            dx = points[i, 0] - centres[c, 0]
            dy = points[i, 1] - centres[c, 1]
            distance[i, c] = np.sqrt(dx * dx + dy * dy)
    for i in range(n):
        best = 0
        for c in range(1, k):
            if distance[i, c] < distance[i, best]:
                best = c
        labels[i] = best
    return labels, distance


rng = np.random.default_rng(31)
points = rng.random((600, 2))
for round in range(4):
    labels, distance = assign(points, rng.random((5, 2)))
    print(np.bincount(labels, minlength=5), distance.sum())

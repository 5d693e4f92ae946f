"""Floyd-Warshall with the number of improvements counted."""

import numpy as np


def relax_all(dist):
    n = len(dist)
    improved = 0
    for k in range(n):
        for i in range(n):
            through = dist[i, k]
            if through == np.inf:
                continue
            for j in range(n):
                d = through + dist[k, j]
                if d < dist[i, j]:
                    dist[i, j] = d
                    improved += 1
    return improved


rng = np.random.default_rng(97)
for trial in range(3):
    dist = rng.random((36, 36)) * 10.0
    dist[rng.random((36, 36)) < 0.7] = np.inf
    for v in range(36):
        dist[v, v] = 0.0
    print(relax_all(dist), dist[0, 1:4])

"""One step of Floyd-Warshall is the minimum with an outer sum."""

import numpy as np

V = 380


def make_graph():
    dist = np.full((V, V), np.inf)
    seed = 99
    for i in range(V):
        dist[i, i] = 0
        for _ in range(6):
            seed = (seed * 1664525 + 1013904223) % 4294967296
            j = seed % V
            seed = (seed * 1664525 + 1013904223) % 4294967296
            w = seed % 90 + 10
            if j != i:
                dist[i, j] = min(dist[i, j], w)
    return dist


def floyd_warshall(dist):
    through = np.empty_like(dist)
    for k in range(V):
        np.add(dist[:, k, None], dist[k], out=through)
        np.minimum(dist, through, out=dist)
    return dist


def print_solution(dist):
    reached = np.isfinite(dist)
    print("sum of shortest paths:", int(dist[reached].sum()))
    print("diameter:", int(dist[reached].max()))
    print("unreachable:", int(np.count_nonzero(~reached)))
    print("first row:", [int(d) if d < np.inf else d for d in dist[0, :10].tolist()])


print_solution(floyd_warshall(make_graph()))

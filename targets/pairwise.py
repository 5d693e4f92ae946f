"""All-pairs distances of a point cloud, and what is usually done with them.

A matrix of Euclidean distances between all points, computed from the definition, then each
point's nearest neighbour and the mean nearest-neighbour distance, which is the statistic of
Clark and Evans' test for clustering.

Usage: python pairwise.py [points] [dimensions]
"""

import math
import sys

import numpy as np


def make_points(count, dims):
    rng = np.random.RandomState(7)
    centers = rng.uniform(-10, 10, size=(6, dims))
    labels = rng.randint(0, 6, size=count)
    return centers[labels] + rng.normal(scale=1.5, size=(count, dims))


def distance_matrix(points):
    n, d = points.shape
    dist = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(d):
                diff = points[i, k] - points[j, k]
                s += diff * diff
            dist[i, j] = math.sqrt(s)
    return dist


def nearest_neighbours(dist):
    n = len(dist)
    nearest = np.empty(n, dtype=int)
    for i in range(n):
        best = -1
        for j in range(n):
            if i == j:
                continue
            if best < 0 or dist[i, j] < dist[i, best]:
                best = j
        nearest[i] = best
    return nearest


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1800
    dims = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    points = make_points(count, dims)
    dist = distance_matrix(points)
    nearest = nearest_neighbours(dist)
    gaps = dist[np.arange(count), nearest]
    mutual = sum(1 for i, j in enumerate(nearest) if nearest[j] == i)
    print("points:", count, "dimensions:", dims)
    print("largest distance: %.9f" % dist.max())
    print("mean distance to the nearest: %.9f" % gaps.mean())
    print("mutual neighbours:", mutual)
    print("first ten:", nearest[:10].tolist())

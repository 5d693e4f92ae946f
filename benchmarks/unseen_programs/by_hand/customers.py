"""Distances to all centroids at once, sums of the members by bincount."""

import random
import sys

import numpy as np


def kmeans(points, k, rounds):
    columns = np.array(points).T.copy()
    centroids = columns[:, :k].T.copy()
    labels = np.zeros(columns.shape[1], dtype=np.intp)
    for r in range(rounds):
        squares = np.zeros((k, columns.shape[1]))
        for column, centre in zip(columns, centroids.T):
            squares += (column - centre[:, None]) ** 2
        new = np.sqrt(squares).argmin(axis=0)
        changed = int((new != labels).sum())
        labels = new
        sizes = np.bincount(labels, minlength=k)
        for d, column in enumerate(columns):
            sums = np.bincount(labels, column, k)
            centroids[:, d] = np.where(sizes > 0, sums / np.maximum(sizes, 1), centroids[:, d])
        print("round", r, "changed", changed)
        if changed == 0:
            break
    return centroids.tolist(), labels.tolist()


def main(n):
    random.seed(77)
    points = []
    for _ in range(n):
        group = random.randrange(5)
        points.append(
            (
                random.gauss(25 + 10 * group, 4),
                random.gauss(20 + 15 * (group % 3), 5),
                random.gauss(5 * group, 2),
            )
        )
    centroids, labels = kmeans(points, 6, 15)
    for c in sorted(centroids):
        print(" ".join("%9.4f" % v for v in c))
    print([labels.count(c) for c in range(6)])


main(int(sys.argv[1]) if len(sys.argv) > 1 else 95000)

"""Distances of all points to one centre at a time; sums of clusters are bincounts."""

import random

import numpy as np


def assign(points, centers):
    best = np.zeros(len(points), dtype=np.intp)
    smallest = np.full(len(points), np.inf)
    for i, center in enumerate(centers):
        x, y, z = (points - center).T
        distance = x * x + y * y + z * z
        closer = distance < smallest
        best[closer] = i
        smallest[closer] = distance[closer]
    return best


def kmeans(points, k, iterations):
    centers = points[:k]
    labels = None
    for _ in range(iterations):
        labels = assign(points, centers)
        counts = np.bincount(labels, minlength=k)
        sums = np.stack([np.bincount(labels, axis, minlength=k) for axis in points.T], axis=1)
        filled = counts[:, None] > 0
        new_centers = np.where(filled, sums / np.maximum(counts, 1)[:, None], centers)
        if (new_centers == centers).all():
            break
        centers = new_centers
    return centers, labels


def main():
    random.seed(7)
    points = []
    for c in range(6):
        cx, cy, cz = c * 2.0, (c * 3 % 5) * 1.5, (c * c) % 7
        for _ in range(4500):
            points.append((random.gauss(cx, 1.0), random.gauss(cy, 1.0), random.gauss(cz, 1.0)))
    random.shuffle(points)
    centers, labels = kmeans(np.array(points), 6, 20)
    for c in sorted(centers.tolist()):
        print("%.5f %.5f %.5f" % tuple(c))
    print(np.bincount(labels, minlength=6).tolist())


if __name__ == "__main__":
    main()

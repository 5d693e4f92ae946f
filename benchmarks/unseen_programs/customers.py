"""k-means on customers (age, income, visits), textbook style."""

import random
import sys
from math import sqrt


def distance(p, q):
    total = 0.0
    for a, b in zip(p, q):
        total += (a - b) ** 2
    return sqrt(total)


def nearest(point, centroids):
    best, best_d = 0, distance(point, centroids[0])
    for k in range(1, len(centroids)):
        d = distance(point, centroids[k])
        if d < best_d:
            best, best_d = k, d
    return best


def kmeans(points, k, rounds):
    centroids = [list(p) for p in points[:k]]
    labels = [0] * len(points)
    for r in range(rounds):
        changed = 0
        for i, p in enumerate(points):
            label = nearest(p, centroids)
            if label != labels[i]:
                labels[i] = label
                changed += 1
        for c in range(k):
            members = [p for p, l in zip(points, labels) if l == c]
            if members:
                centroids[c] = [sum(col) / len(members) for col in zip(*members)]
        print("round", r, "changed", changed)
        if changed == 0:
            break
    return centroids, labels


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

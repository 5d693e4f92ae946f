"""K-means from scratch, points are tuples."""

import random


def distance2(p, q):
    return sum((a - b) ** 2 for a, b in zip(p, q))


def nearest(point, centers):
    best = 0
    best_d = distance2(point, centers[0])
    for i in range(1, len(centers)):
        d = distance2(point, centers[i])
        if d < best_d:
            best, best_d = i, d
    return best


def mean_point(points, dim):
    n = len(points)
    return tuple(sum(p[k] for p in points) / n for k in range(dim))


def kmeans(points, k, iterations):
    dim = len(points[0])
    centers = points[:k]
    labels = []
    for _ in range(iterations):
        labels = [nearest(p, centers) for p in points]
        groups = [[] for _ in range(k)]
        for p, label in zip(points, labels):
            groups[label].append(p)
        new_centers = []
        for i in range(k):
            if groups[i]:
                new_centers.append(mean_point(groups[i], dim))
            else:
                new_centers.append(centers[i])
        if new_centers == centers:
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
    centers, labels = kmeans(points, 6, 20)
    for c in sorted(centers):
        print("%.5f %.5f %.5f" % c)
    print([labels.count(i) for i in range(6)])


if __name__ == "__main__":
    main()

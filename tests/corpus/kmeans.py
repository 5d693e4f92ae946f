"""Lloyd's k-means on lists of coordinates."""

import random


def make_clusters(k, per_cluster, dim):
    rnd = random.Random(5)
    points = []
    for _ in range(k):
        center = [rnd.uniform(-20, 20) for _ in range(dim)]
        for _ in range(per_cluster):
            points.append([c + rnd.gauss(0, 1.5) for c in center])
    rnd.shuffle(points)
    return points


def distance2(p, q):
    return sum((a - b) ** 2 for a, b in zip(p, q))


def kmeans(points, k, rounds):
    centers = [list(p) for p in points[:k]]
    labels = [0] * len(points)
    for it in range(rounds):
        moved = 0
        for idx, p in enumerate(points):
            best = min(range(k), key=lambda c: distance2(p, centers[c]))
            if labels[idx] != best:
                labels[idx] = best
                moved += 1
        for c in range(k):
            members = [points[i] for i in range(len(points)) if labels[i] == c]
            if members:
                centers[c] = [sum(xs) / len(members) for xs in zip(*members)]
        if moved == 0:
            break
    return centers, labels, it + 1


points = make_clusters(7, 3000, 3)
centers, labels, rounds = kmeans(points, 7, 12)
print("rounds", rounds)
for c in sorted(centers):
    print(["%.8f" % x for x in c])
print([labels.count(c) for c in range(7)])

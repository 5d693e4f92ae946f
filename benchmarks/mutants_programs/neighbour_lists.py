"""Distances from one node over adjacency lists, with a queue, and a smoothing over them."""

import random
from collections import deque


def distances(neighbours, start):
    known = [-1] * len(neighbours)
    known[start] = 0
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for other in neighbours[node]:
            if known[other] < 0:
                known[other] = known[node] + 1
                queue.append(other)
    return known


def smooth(neighbours, values):
    fresh = [0.0] * len(values)
    for node in range(len(neighbours)):
        total = values[node]
        for other in neighbours[node]:
            total += 0.5 * values[other]
        fresh[node] = total / (1.0 + 0.5 * len(neighbours[node]))
    return fresh


random.seed(13)
count = 6000
neighbours = [
    [random.randrange(count) for _ in range(random.randrange(1, 6))] for _ in range(count)
]
found = distances(neighbours, 0)
print(sum(found), max(found), found.count(-1))
values = [random.random() for _ in range(count)]
for _ in range(20):
    values = smooth(neighbours, values)
print(sum(values), values[7])

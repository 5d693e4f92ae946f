"""A row of the table is a maximum of the row before and itself shifted."""

import random
import sys

import numpy as np


def knapsack(values, weights, capacity):
    n = len(values)
    kept = np.zeros((n, capacity + 1), dtype=bool)
    row = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(n):
        if weights[i] > capacity:
            continue
        take = row[: capacity + 1 - weights[i]] + values[i]
        rest = row[weights[i] :]
        np.greater(take, rest, out=kept[i, weights[i] :])
        np.maximum(take, rest, out=rest)
    chosen = []
    w = capacity
    for i in range(n - 1, -1, -1):
        if kept[i, w]:
            chosen.append(i)
            w -= weights[i]
    return int(row[capacity]), chosen[::-1]


def main():
    capacity = int(sys.argv[1]) if len(sys.argv) > 1 else 160000
    for seed in (4, 5, 6):
        rnd = random.Random(seed)
        weights = [rnd.randint(capacity // 80, capacity // 8) for _ in range(60)]
        values = [w + rnd.randint(0, capacity // 50) for w in weights]
        best, chosen = knapsack(values, weights, capacity)
        print("best value:", best)
        print("items:", chosen)
        print("weight:", sum(weights[i] for i in chosen), "of", capacity)


main()

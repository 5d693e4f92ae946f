"""0/1 knapsack with reconstruction of the chosen items."""

import random
import sys


def knapsack(values, weights, capacity):
    n = len(values)
    table = [[0] * (capacity + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for w in range(capacity + 1):
            if weights[i - 1] <= w:
                take = values[i - 1] + table[i - 1][w - weights[i - 1]]
                if take > table[i - 1][w]:
                    table[i][w] = take
                else:
                    table[i][w] = table[i - 1][w]
            else:
                table[i][w] = table[i - 1][w]
    chosen = []
    w = capacity
    for i in range(n, 0, -1):
        if table[i][w] != table[i - 1][w]:
            chosen.append(i - 1)
            w -= weights[i - 1]
    return table[n][capacity], chosen[::-1]


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

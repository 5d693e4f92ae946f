"""Site percolation: Hoshen-Kopelman labelling with union-find."""

import random


def find(parent, x):
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


def union(parent, a, b):
    ra = find(parent, a)
    rb = find(parent, b)
    if ra < rb:
        parent[rb] = ra
    elif rb < ra:
        parent[ra] = rb


def label(grid, n):
    parent = list(range(n * n))
    for y in range(n):
        for x in range(n):
            if not grid[y][x]:
                continue
            if x > 0 and grid[y][x - 1]:
                union(parent, y * n + x, y * n + x - 1)
            if y > 0 and grid[y - 1][x]:
                union(parent, y * n + x, (y - 1) * n + x)
    return parent


def percolates(grid, parent, n):
    top = set()
    for x in range(n):
        if grid[0][x]:
            top.add(find(parent, x))
    for x in range(n):
        if grid[n - 1][x] and find(parent, (n - 1) * n + x) in top:
            return True
    return False


def largest(grid, parent, n):
    sizes = {}
    for y in range(n):
        for x in range(n):
            if grid[y][x]:
                root = find(parent, y * n + x)
                sizes[root] = sizes.get(root, 0) + 1
    return max(sizes.values())


def main():
    random.seed(11)
    n = 260
    for p in (0.5, 0.55, 0.58, 0.6, 0.62, 0.65):
        count = 0
        biggest = 0
        trials = 16
        for _ in range(trials):
            grid = [[random.random() < p for _ in range(n)] for _ in range(n)]
            parent = label(grid, n)
            count += percolates(grid, parent, n)
            biggest = max(biggest, largest(grid, parent, n))
        print(p, count / trials, biggest)


main()

"""Shortest distances to the nearest exit in a cave, breadth first."""

from collections import deque
import random
import sys


def cave(size, seed):
    rnd = random.Random(seed)
    grid = []
    for y in range(size):
        row = []
        for x in range(size):
            row.append("#" if rnd.random() < 0.28 else ".")
        grid.append(row)
    return grid


def flood(grid, exits):
    h, w = len(grid), len(grid[0])
    dist = [[-1] * w for _ in range(h)]
    queue = deque()
    for y, x in exits:
        grid[y][x] = "."
        dist[y][x] = 0
        queue.append((y, x))
    while queue:
        y, x = queue.popleft()
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            ny, nx = y + dy, x + dx
            if 0 <= ny < h and 0 <= nx < w and grid[ny][nx] == "." and dist[ny][nx] == -1:
                dist[ny][nx] = dist[y][x] + 1
                queue.append((ny, nx))
    return dist


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1150
    for seed in (1, 2, 3, 4):
        grid = cave(size, seed)
        rnd = random.Random(seed + 100)
        exits = [(rnd.randrange(size), rnd.randrange(size)) for _ in range(4)]
        dist = flood(grid, exits)
        farthest = max(max(row) for row in dist)
        reached = sum(1 for row in dist for d in row if d >= 0)
        total = sum(d for row in dist for d in row if d > 0)
        print(f"cave {seed}: reached {reached}, farthest {farthest}, mean {total / reached:.4f}")


main()

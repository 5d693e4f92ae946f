"""One flat bytearray with a rim of rock; the frontier as lists of cell numbers."""

import random
import sys


def cave(size, seed):
    draw = random.Random(seed).random
    free = bytearray((size + 2) ** 2)
    for y in range(1, size + 1):
        row = y * (size + 2) + 1
        free[row : row + size] = bytes([draw() >= 0.28 for _ in range(size)])
    return free


def flood(free, starts, wide):
    for cell in starts:
        free[cell] = 0
    frontier = list(dict.fromkeys(starts))
    levels = []
    while frontier:
        levels.append(len(frontier))
        new = []
        for cell in frontier:
            for at in (cell + 1, cell + wide, cell - 1, cell - wide):
                if free[at]:
                    free[at] = 0
                    new.append(at)
        frontier = new
    return levels


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1150
    wide = size + 2
    for seed in (1, 2, 3, 4):
        free = cave(size, seed)
        rnd = random.Random(seed + 100)
        exits = [(rnd.randrange(size), rnd.randrange(size)) for _ in range(4)]
        levels = flood(free, [(y + 1) * wide + x + 1 for y, x in exits], wide)
        reached = sum(levels)
        total = sum(d * count for d, count in enumerate(levels))
        print(
            f"cave {seed}: reached {reached}, farthest {len(levels) - 1}, mean {total / reached:.4f}"
        )


main()

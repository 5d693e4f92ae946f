"""Game of Life on the GPU that fetches the grid to the host at every step."""

import argparse

import cupy as cp
import numpy as np


def neighbours(grid):
    total = cp.zeros_like(grid)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dy != 0 or dx != 0:
                total = total + cp.roll(cp.roll(grid, dy, axis=0), dx, axis=1)
    return total


def step(grid):
    count = neighbours(grid)
    born = (grid == 0) & (count == 3)
    stays = (grid == 1) & ((count == 2) | (count == 3))
    return (born | stays).astype(grid.dtype)


def simulate(size, steps, seed=7):
    rng = np.random.default_rng(seed)
    grid = cp.asarray((rng.random((size, size)) < 0.3).astype(np.int64))
    populations = []
    for _ in range(steps):
        grid = step(grid)
        frame = grid.get()
        populations.append(int(frame.sum()))
    return grid.get(), populations


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2000, help="rows and columns of the grid")
    parser.add_argument("--steps", type=int, default=1000, help="generations")
    options = parser.parse_args()
    grid, populations = simulate(options.size, options.steps)
    print("alive at the end:", int(grid.sum()))
    print("most:", max(populations), "least:", min(populations))


if __name__ == "__main__":
    main()

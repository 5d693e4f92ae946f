"""Conway's Game of Life in NumPy, with eight shifted copies of the grid.

The textbook way to avoid the loops over cells: ``np.roll`` moves the whole grid by one in
each of the eight directions, and the sum of the eight copies is the number of neighbours.

Usage: python life_roll.py [size] [generations]
"""

from __future__ import annotations

import argparse

import numpy as np


def count_neighbors(grid: np.ndarray) -> np.ndarray:
    return (
        np.roll(grid, 1, axis=0)
        + np.roll(grid, -1, axis=0)
        + np.roll(grid, 1, axis=1)
        + np.roll(grid, -1, axis=1)
        + np.roll(np.roll(grid, 1, axis=0), 1, axis=1)
        + np.roll(np.roll(grid, 1, axis=0), -1, axis=1)
        + np.roll(np.roll(grid, -1, axis=0), 1, axis=1)
        + np.roll(np.roll(grid, -1, axis=0), -1, axis=1)
    )


def next_generation(grid: np.ndarray) -> np.ndarray:
    neighbors = count_neighbors(grid)
    survive = (grid == 1) & ((neighbors == 2) | (neighbors == 3))
    born = (grid == 0) & (neighbors == 3)
    return np.where(survive | born, 1, 0)


def r_pentomino(size: int) -> np.ndarray:
    """The five-cell pattern that takes 1103 generations to settle on an endless board."""
    grid = np.zeros((size, size), dtype=np.int64)
    c = size // 2
    grid[c - 1, c] = grid[c - 1, c + 1] = 1
    grid[c, c - 1] = grid[c, c] = 1
    grid[c + 1, c] = 1
    return grid


def main() -> None:
    parser = argparse.ArgumentParser(description="R-pentomino on a torus")
    parser.add_argument("size", nargs="?", type=int, default=300)
    parser.add_argument("generations", nargs="?", type=int, default=1103)
    options = parser.parse_args()

    grid = r_pentomino(options.size)
    peak = 0
    for _ in range(options.generations):
        grid = next_generation(grid)
        peak = max(peak, int(grid.sum()))
    weights = np.arange(1, options.size + 1)
    print("generations:", options.generations)
    print("alive:", int(grid.sum()), "peak:", peak)
    print("row moment:", int((grid.sum(axis=1) * weights).sum()))
    print("column moment:", int((grid.sum(axis=0) * weights).sum()))


if __name__ == "__main__":
    main()

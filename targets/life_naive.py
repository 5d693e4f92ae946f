"""Conway's Game of Life on a torus, with four nested loops.

The form in which the game is usually taught: a two-dimensional array of zeros and
ones, a function that makes one generation, a function that counts what is alive, and
a list with every state so that it can be animated or plotted afterwards. The rules are
those John Conway gave in 1970: a live cell with two or three live neighbours lives on, a
dead cell with exactly three comes alive, every other cell is dead in the next generation.

Usage: python life_naive.py [size] [steps]
"""

import sys

import numpy as np


def initial_state(size, density=0.3, seed=2024):
    rng = np.random.default_rng(seed)
    return (rng.random((size, size)) < density).astype(int)


def life_step_naive(state):
    """One generation; the borders are joined (a torus)."""
    rows, cols = state.shape
    new_state = np.zeros((rows, cols), dtype=int)
    for i in range(rows):
        for j in range(cols):
            neighbours = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di == 0 and dj == 0:
                        continue
                    neighbours += state[(i + di) % rows, (j + dj) % cols]
            if state[i, j] == 1 and (neighbours == 2 or neighbours == 3):
                new_state[i, j] = 1
            elif state[i, j] == 0 and neighbours == 3:
                new_state[i, j] = 1
    return new_state


def simulate(state, steps):
    history = [state]
    for _ in range(steps):
        state = life_step_naive(state)
        history.append(state)
    return history


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    history = simulate(initial_state(size), steps)
    populations = [int(state.sum()) for state in history]
    weights = np.arange(size * size).reshape(size, size) % 8191
    checksum = 0
    for state in history:
        checksum = (31 * checksum + int((state * weights).sum())) % 1_000_003
    print(f"{size} x {size} cells, {steps} generations")
    print(f"alive at the start: {populations[0]}, at the end: {populations[-1]}")
    print(f"most alive in generation {populations.index(max(populations))}")
    print(f"last row alive at: {np.flatnonzero(history[-1][-1]).tolist()[:12]}")
    print(f"checksum: {checksum}")


if __name__ == "__main__":
    main()

"""Game of Life on a torus, modulo at every neighbour."""

import numpy as np


def evolve(board):
    n, m = board.shape
    result = np.zeros_like(board)
    for i in range(n):
        for j in range(m):
            alive = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di != 0 or dj != 0:
                        alive += board[(i + di) % n, (j + dj) % m]
            if board[i, j] == 1 and alive in (2, 3):
                result[i, j] = 1
            elif board[i, j] == 0 and alive == 3:
                result[i, j] = 1
    return result


board = np.random.default_rng(3).integers(0, 2, (21, 26))
for generation in range(6):
    board = evolve(board)
print(board.sum())
print(board[:3])

"""Shortest paths, in the hands of different authors."""

from __future__ import annotations

import numpy as np
from cuda_programs import Program, grid

FLOYD = """
import numpy as np


def floyd(dist):
    n = dist.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if dist[i, k] + dist[k, j] < dist[i, j]:
                    dist[i, j] = dist[i, k] + dist[k, j]
    return dist
"""
HOISTED = """
def all_pairs(d, nodes):
    for mid in range(nodes):
        for src in range(nodes):
            to_mid = d[src, mid]
            for dst in range(nodes):
                way = to_mid + d[mid, dst]
                if d[src, dst] > way:
                    d[src, dst] = way
"""
MINIMUM = """
def relax(w):
    n = len(w)
    for k in range(n):
        for j in range(n):
            for i in range(n):
                w[i, j] = min(w[i, j], w[i, k] + w[k, j])
"""


def roads(n: int, seed: int = 0) -> np.ndarray:
    """Lengths, some of them none."""
    lengths = np.random.default_rng(seed).integers(1, 60, (n, n))
    return np.where(lengths > 40, 10**6, lengths)


ZEROS = np.where(grid(7, 7) < 0.3, -0.0, np.where(grid(7, 7, 1) < 0.3, 0.0, grid(7, 7, 2)))
"""Distances of nothing, with both signs."""
INFINITE = np.where(grid(6, 6) < 0.4, np.inf, grid(6, 6, 1))
NEGATIVE = grid(7, 7) - 0.1
PATHS = (
    Program(
        "floyd",
        FLOYD,
        "floyd",
        ((roads(9),), (roads(9).astype(np.int32),), (roads(9) - 30,), (np.zeros((0, 0), int),)),
        ("dist.min() >= 0", "kernel(gpu_dist, k)"),
        9,
    ),
    Program(
        "hoisted",
        HOISTED,
        "all_pairs",
        ((grid(8, 8), 8), (ZEROS, 7), (INFINITE, 6), (NEGATIVE, 7), (grid(5, 9), 5), (ZEROS, 3)),
        ("(d >= 0).all()", "to_mid = d[src, mid]"),
        8,
    ),
    Program("minimum", MINIMUM, "relax", ((grid(7, 7),), (ZEROS,), (NEGATIVE,)), ("_min(",), 7),
)

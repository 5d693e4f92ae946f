"""All shortest paths in a graph by the Floyd-Warshall algorithm.

path[i, j] is the length of the edge from i to j, and of the shortest way at the end.
Usage: python floyd_warshall.py [n]
"""

import sys

import numpy as np


def floyd_warshall(path):
    n = len(path)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = path[i, k] + path[k, j]
                if through < path[i, j]:
                    path[i, j] = through
    return path


def data(n):
    path = np.fromfunction(
        lambda i, j: (
            (1 + i * j % 7 + 999 * ((i + j) % 13 * (i + j) % 7 * (i + j) % 11 != 0)) * (i != j)
        ),
        (n, n),
        dtype=int,
    )
    return (path,)


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 190
    path = floyd_warshall(*data(n))
    show("path", path)


if __name__ == "__main__":
    main()

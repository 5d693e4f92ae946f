"""All shortest paths in a graph by the Floyd-Warshall algorithm.

path[i, j] is the length of the edge from i to j, and of the shortest way at the end.
Usage: python floyd_warshall.py [n]
"""

import sys


def floyd_warshall(path):
    n = len(path)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = path[i][k] + path[k][j]
                if through < path[i][j]:
                    path[i][j] = through
    return path


def data(n):
    path = [
        [
            (1 + i * j % 7 + 999 * ((i + j) % 13 * (i + j) % 7 * (i + j) % 11 != 0)) * (i != j)
            for j in range(n)
        ]
        for i in range(n)
    ]
    return (path,)


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 340
    path = floyd_warshall(*data(n))
    show("path", path)


if __name__ == "__main__":
    main()

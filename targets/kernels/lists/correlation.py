"""Correlation matrix of a table of observations.

One row an observation, one column a variable; the table is standardised in place.
Usage: python correlation.py [n]
"""

import math
import sys


def correlation(data):
    n, m = len(data), len(data[0])
    mean = [0.0] * m
    stddev = [0.0] * m
    corr = [[0.0] * m for _ in range(m)]
    for j in range(m):
        for i in range(n):
            mean[j] += data[i][j]
        mean[j] /= n
    for j in range(m):
        for i in range(n):
            stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j])
        stddev[j] = math.sqrt(stddev[j] / n)
        if stddev[j] <= 0.1:
            stddev[j] = 1.0
    for i in range(n):
        for j in range(m):
            data[i][j] -= mean[j]
            data[i][j] /= math.sqrt(n) * stddev[j]
    for i in range(m - 1):
        corr[i][i] = 1.0
        for j in range(i + 1, m):
            for k in range(n):
                corr[i][j] += data[k][i] * data[k][j]
            corr[j][i] = corr[i][j]
    corr[m - 1][m - 1] = 1.0
    return corr


def data(n):
    data = [[(i * j + 5 * i + j) % 97 / 9 for j in range(n)] for i in range(n + 20)]
    return (data,)


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 350
    corr = correlation(*data(n))
    show("corr", corr)


if __name__ == "__main__":
    main()

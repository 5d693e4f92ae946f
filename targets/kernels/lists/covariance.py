"""Covariance matrix of a table of observations.

One row an observation, one column a variable; the table is centred in place.
Usage: python covariance.py [n]
"""

import sys


def covariance(data):
    n, m = len(data), len(data[0])
    mean = [0.0] * m
    cov = [[0.0] * m for _ in range(m)]
    for j in range(m):
        for i in range(n):
            mean[j] += data[i][j]
        mean[j] /= n
    for i in range(n):
        for j in range(m):
            data[i][j] -= mean[j]
    for i in range(m):
        for j in range(i, m):
            for k in range(n):
                cov[i][j] += data[k][i] * data[k][j]
            cov[i][j] /= n - 1.0
            cov[j][i] = cov[i][j]
    return cov


def data(n):
    data = [[(i * j + 5 * i + j) % 97 / 9 for j in range(n)] for i in range(n + 20)]
    return (data,)


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 350
    cov = covariance(*data(n))
    show("cov", cov)


if __name__ == "__main__":
    main()

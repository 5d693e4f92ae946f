"""Heat equation in a cube, explicit seven-point scheme.

Two fields take turns; the faces of the cube are held fixed.
Usage: python heat_3d.py [n]
"""

import sys


def heat_3d(A, B, steps):
    n = len(A)
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    B[i][j][k] = (
                        0.125 * (A[i + 1][j][k] - 2.0 * A[i][j][k] + A[i - 1][j][k])
                        + 0.125 * (A[i][j + 1][k] - 2.0 * A[i][j][k] + A[i][j - 1][k])
                        + 0.125 * (A[i][j][k + 1] - 2.0 * A[i][j][k] + A[i][j][k - 1])
                        + A[i][j][k]
                    )
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    A[i][j][k] = (
                        0.125 * (B[i + 1][j][k] - 2.0 * B[i][j][k] + B[i - 1][j][k])
                        + 0.125 * (B[i][j + 1][k] - 2.0 * B[i][j][k] + B[i][j - 1][k])
                        + 0.125 * (B[i][j][k + 1] - 2.0 * B[i][j][k] + B[i][j][k - 1])
                        + B[i][j][k]
                    )
    return A


def data(n):
    A = [[[(i + j + n - k) * 10 / n for k in range(n)] for j in range(n)] for i in range(n)]
    B = [[[(i + j + n - k) * 10 / n for k in range(n)] for j in range(n)] for i in range(n)]
    return A, B, 10


def show(name, values):
    values = [value for plane in values for row in plane for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 69
    A = heat_3d(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()

"""Maxwell's equations in two dimensions by finite differences in time (FDTD).

Electric fields ex, ey and magnetic field hz on staggered grids; a pulse enters at the rim.
Usage: python fdtd_2d.py [n]
"""

import sys

import numpy as np


def fdtd_2d(ex, ey, hz, pulse):
    nx, ny = hz.shape
    for t in range(len(pulse)):
        for j in range(ny):
            ey[0, j] = pulse[t]
        for i in range(1, nx):
            for j in range(ny):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(nx):
            for j in range(1, ny):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(nx - 1):
            for j in range(ny - 1):
                curl = ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j]
                hz[i, j] = hz[i, j] - 0.7 * curl
    return hz


def data(n):
    ex = np.fromfunction(lambda i, j: i * (j + 1) % 71 / 71, (n, n + 20), dtype=int)
    ey = np.fromfunction(lambda i, j: i * (j + 2) % 73 / 73, (n, n + 20), dtype=int)
    hz = np.fromfunction(lambda i, j: i * (j + 3) % 79 / 79, (n, n + 20), dtype=int)
    i = np.arange(40)
    pulse = i / 40
    return ex, ey, hz, pulse


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 160
    hz = fdtd_2d(*data(n))
    show("hz", hz)


if __name__ == "__main__":
    main()

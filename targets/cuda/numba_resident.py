"""Heat equation with numba.cuda: arrays go to the device once and come back once."""

import argparse

import numpy as np
from numba import cuda


@cuda.jit
def diffuse(old, new, alpha):
    j, i = cuda.grid(2)
    rows, columns = old.shape
    if i >= rows or j >= columns:
        return
    if i == 0 or j == 0 or i == rows - 1 or j == columns - 1:
        new[i, j] = old[i, j]
        return
    around = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
    new[i, j] = old[i, j] + alpha * (around - 4.0 * old[i, j])


def simulate(size, steps, alpha=0.2):
    start = np.zeros((size, size), dtype=np.float64)
    start[size // 4 : size // 2, size // 4 : size // 2] = 100.0
    old = cuda.to_device(start)
    new = cuda.device_array_like(old)
    threads = (32, 8)
    blocks = ((size + 31) // 32, (size + 7) // 8)
    for _ in range(steps):
        diffuse[blocks, threads](old, new, alpha)
        old, new = new, old
    return old.copy_to_host()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4096, help="rows and columns of the field")
    parser.add_argument("--steps", type=int, default=3000, help="time steps")
    options = parser.parse_args()
    field = simulate(options.size, options.steps)
    print("mean", field.mean(), "centre", field[options.size // 2, options.size // 2])


if __name__ == "__main__":
    main()

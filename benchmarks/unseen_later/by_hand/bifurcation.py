"""All columns of the diagram advance together; cells are counted block by block."""

import numpy as np

R_MIN, R_MAX = 2.8, 4.0
COLS, ROWS = 1200, 400


def lyapunov(r, n):
    x = np.full(COLS, 0.3)
    total = np.zeros(COLS)
    product = np.ones(COLS)
    for step in range(n):
        x = r * x * (1 - x)
        product *= np.abs(r - 2 * r * x) + 1e-12
        if step % 16 == 15:
            total += np.log(product)
            product[:] = 1.0
    return (total + np.log(product)) / n


def density(r, warmup, samples, block=100):
    x = np.full(COLS, 0.5)
    for _ in range(warmup):
        x = r * x * (1 - x)
    counts = np.zeros(COLS * ROWS, dtype=np.int64)
    column = np.arange(COLS) * ROWS
    cells = np.empty((block, COLS), dtype=np.int64)
    for _ in range(samples // block):
        for row in cells:
            x = r * x * (1 - x)
            row[:] = x * ROWS
        np.minimum(cells, ROWS - 1, out=cells)
        cells += column
        counts += np.bincount(cells.ravel(), minlength=counts.size)
    return counts


def main():
    r = R_MIN + (R_MAX - R_MIN) * np.arange(COLS) / COLS
    picture = density(r, 3000, 9000)
    exponents = lyapunov(r, 6000)
    print("filled cells:", np.count_nonzero(picture))
    print("chaotic columns:", np.count_nonzero(exponents > 0))
    print("max exponent: %.5f" % exponents.max())
    print("fullest:", picture.max())


if __name__ == "__main__":
    main()

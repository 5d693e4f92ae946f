"""All points advance together; those that left are set aside."""

import numpy as np


def mandelbrot(c, max_iter):
    counts = np.full(c.size, max_iter)
    place = np.arange(c.size)
    z = np.zeros_like(c)
    for n in range(max_iter):
        stay = z.real * z.real + z.imag * z.imag <= 4
        if not stay.all():
            counts[place[~stay]] = n
            place, z, c = place[stay], z[stay], c[stay]
        z *= z
        z += c
    return counts


def mandelbrot_set(xmin, xmax, ymin, ymax, width, height, max_iter):
    r1 = np.linspace(xmin, xmax, width)
    r2 = np.linspace(ymin, ymax, height)
    # Rows in turn: what is worked on stays in the cache.
    rows = [mandelbrot(block.ravel(), max_iter) for block in r1[:, None] + 1j * r2]
    return r1, r2, np.array(rows, dtype=float)


x, y, img = mandelbrot_set(-2.0, 0.5, -1.25, 1.25, 700, 700, 100)
print(img.mean(), img.max())
print("inside:", int((img == 100).sum()))

"""Rows in blocks that fit the cache; the points that escaped leave the active set."""

import sys

import numpy as np

WIDTH = int(sys.argv[1]) if len(sys.argv) > 1 else 1150
HEIGHT = WIDTH * 3 // 4
MAX_ITER = 200
C = complex(-0.7269, 0.1889)
BLOCK = 8


def escape_times(re, im):
    counts = np.full(re.size, MAX_ITER)
    active = np.arange(re.size)
    for n in range(MAX_ITER):
        re2 = re * re
        im2 = im * im
        left = re2 + im2 > 4.0
        if left.any():
            counts[active[left]] = n
            stay = ~left
            active, re, im, re2, im2 = active[stay], re[stay], im[stay], re2[stay], im2[stay]
            if not active.size:
                break
        product = re * im
        re, im = re2 - im2 + C.real, product + product + C.imag
    return counts


def render(width, height):
    x = -1.6 + 3.2 * np.arange(width) / width
    y = -1.2 + 2.4 * np.arange(height) / height
    blocks = []
    for top in range(0, height, BLOCK):
        rows = y[top : top + BLOCK]
        counts = escape_times(np.tile(x, rows.size), np.repeat(rows, width))
        blocks += counts.reshape(rows.size, width).tolist()
    return blocks


image = render(WIDTH, HEIGHT)
total = sum(sum(row) for row in image)
inside = sum(row.count(MAX_ITER) for row in image)
print("iterations", total)
print("inside", inside)
shades = " .:-=+*#%@"
for row in image[:: max(1, HEIGHT // 20)]:
    print("".join(shades[v * 9 // MAX_ITER] for v in row[:: max(1, WIDTH // 60)]))

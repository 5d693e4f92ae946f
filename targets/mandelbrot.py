"""Escape times of the Mandelbrot set, one pixel after the other.

For each point c of the complex plane, z -> z*z + c is repeated from zero until |z| exceeds
two or the iteration limit is reached; the number of iterations is the pixel's colour. It is
the first program of almost every course on parallel computing.

Usage: python mandelbrot.py [width] [max_iterations]
"""

import sys

import numpy as np


def escape_time(cr, ci, max_iter):
    zr = 0.0
    zi = 0.0
    for n in range(max_iter):
        zr2 = zr * zr
        zi2 = zi * zi
        if zr2 + zi2 > 4.0:
            return n
        zi = 2.0 * zr * zi + ci
        zr = zr2 - zi2 + cr
    return max_iter


def render(width, height, max_iter, xmin=-2.0, xmax=0.6, ymin=-1.15, ymax=1.15):
    image = np.zeros((height, width), dtype=np.int32)
    dx = (xmax - xmin) / (width - 1)
    dy = (ymax - ymin) / (height - 1)
    for row in range(height):
        y = ymin + row * dy
        for col in range(width):
            x = xmin + col * dx
            image[row, col] = escape_time(x, y, max_iter)
    return image


def show(image, max_iter, columns=64, rows=22):
    shades = " .:-=+*%@#"
    height, width = image.shape
    for r in range(rows):
        line = ""
        for c in range(columns):
            value = image[r * height // rows, c * width // columns]
            line += "#" if value == max_iter else shades[min(int(value), 8)]
        print(line.rstrip())


width = int(sys.argv[1]) if len(sys.argv) > 1 else 720
max_iter = int(sys.argv[2]) if len(sys.argv) > 2 else 300
height = width * 23 // 26

image = render(width, height, max_iter)
show(image, max_iter)
print("pixels in the set:", int(np.count_nonzero(image == max_iter)), "of", image.size)
print("iterations in all:", int(image.sum(dtype=np.int64)))

"""Fractal terrain from value noise, then slopes and water level."""

import math

import numpy as np


def fade(t):
    return t * t * t * (t * (t * 6 - 15) + 10)


def lerp(a, b, t):
    return a + t * (b - a)


def lattice(ix, iy, seed):
    h = (ix * 374761393 + iy * 668265263 + seed * 144665) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
    return ((h ^ (h >> 16)) & 0xFFFF) / 65535.0


def noise(x, y, seed):
    x0 = math.floor(x)
    y0 = math.floor(y)
    u = fade(x - x0)
    v = fade(y - y0)
    top = lerp(lattice(x0, y0, seed), lattice(x0 + 1, y0, seed), u)
    bottom = lerp(lattice(x0, y0 + 1, seed), lattice(x0 + 1, y0 + 1, seed), u)
    return lerp(top, bottom, v)


def fractal(x, y, octaves, seed):
    total = 0.0
    amplitude = 0.5
    frequency = 1.0
    for o in range(octaves):
        total += amplitude * noise(x * frequency, y * frequency, seed + o)
        amplitude *= 0.5
        frequency *= 2.0
    return total


def generate(size, scale, octaves, seed):
    height = np.zeros((size, size))
    for row in range(size):
        for col in range(size):
            height[row, col] = fractal(col / scale, row / scale, octaves, seed)
    return height


def slope(height):
    n = height.shape[0]
    worst = 0.0
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            gx = (height[i, j + 1] - height[i, j - 1]) / 2
            gy = (height[i + 1, j] - height[i - 1, j]) / 2
            s = math.hypot(gx, gy)
            if s > worst:
                worst = s
    return worst


if __name__ == "__main__":
    terrain = generate(480, 40.0, 6, 3)
    print("min %.6f max %.6f mean %.6f" % (terrain.min(), terrain.max(), terrain.mean()))
    print("steepest %.6f" % slope(terrain))
    print("water share %.4f" % (terrain < 0.45).mean())

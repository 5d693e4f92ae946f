"""Fractal value noise, as for clouds and terrain."""

import math


def hash2(ix, iy):
    h = (ix * 374761393 + iy * 668265263) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
    return ((h ^ (h >> 16)) & 0xFFFF) / 65535.0


def smoothstep(t):
    return t * t * (3.0 - 2.0 * t)


def noise(x, y):
    ix, iy = math.floor(x), math.floor(y)
    fx, fy = smoothstep(x - ix), smoothstep(y - iy)
    a = hash2(ix, iy)
    b = hash2(ix + 1, iy)
    c = hash2(ix, iy + 1)
    d = hash2(ix + 1, iy + 1)
    return (a * (1 - fx) + b * fx) * (1 - fy) + (c * (1 - fx) + d * fx) * fy


def fractal(x, y, octaves):
    value, amplitude, frequency = 0.0, 0.5, 1.0
    for _ in range(octaves):
        value += amplitude * noise(x * frequency, y * frequency)
        amplitude *= 0.5
        frequency *= 2.0
    return value


size = 380
terrain = [[fractal(col / 40, row / 40, 5) for col in range(size)] for row in range(size)]
heights = [h for line in terrain for h in line]
print("lowest %.12f highest %.12f" % (min(heights), max(heights)))
print("mean %.12f" % (sum(heights) / len(heights)))
print("water:", sum(h < 0.4 for h in heights))

"""The noise of a whole grid at once; the lattice is hashed at its own points only."""

import numpy as np


def fade(t):
    return t * t * t * (t * (t * 6 - 15) + 10)


def lattice(ix, iy, seed):
    h = (ix * 374761393 + iy * 668265263 + seed * 144665) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
    return ((h ^ (h >> 16)) & 0xFFFF) / 65535.0


def noise(along, seed):
    """Value noise at all pairs of the points of an axis."""
    start = np.floor(along).astype(np.int64)
    part = fade(along - start)
    corners = np.arange(start.max() + 2)
    values = lattice(corners, corners[:, None], seed)
    u, v = part, part[:, None]
    left = values[:, start]
    rows = left + u * (values[:, start + 1] - left)
    return rows[start] + v * (rows[start + 1] - rows[start])


def generate(size, scale, octaves, seed):
    height = np.zeros((size, size))
    along = np.arange(size) / scale
    for o in range(octaves):
        height += 0.5 ** (o + 1) * noise(along * 2.0**o, seed + o)
    return height


def slope(height):
    gx = (height[1:-1, 2:] - height[1:-1, :-2]) / 2
    gy = (height[2:, 1:-1] - height[:-2, 1:-1]) / 2
    return np.hypot(gx, gy).max()


if __name__ == "__main__":
    terrain = generate(480, 40.0, 6, 3)
    print("min %.6f max %.6f mean %.6f" % (terrain.min(), terrain.max(), terrain.mean()))
    print("steepest %.6f" % slope(terrain))
    print("water share %.4f" % (terrain < 0.45).mean())

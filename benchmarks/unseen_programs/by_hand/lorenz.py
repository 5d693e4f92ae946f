"""Three floats instead of arrays of three: the same operations in the same order."""

import sys

import numpy as np


def integrate(start, dt, steps, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
    x, y, z = start
    points = [(x, y, z)]
    half, sixth = 0.5 * dt, dt / 6.0
    for _ in range(steps):
        ax, ay, az = sigma * (y - x), x * (rho - z) - y, x * y - beta * z
        u, v, w = x + half * ax, y + half * ay, z + half * az
        bx, by, bz = sigma * (v - u), u * (rho - w) - v, u * v - beta * w
        u, v, w = x + half * bx, y + half * by, z + half * bz
        cx, cy, cz = sigma * (v - u), u * (rho - w) - v, u * v - beta * w
        u, v, w = x + dt * cx, y + dt * cy, z + dt * cz
        dx, dy, dz = sigma * (v - u), u * (rho - w) - v, u * v - beta * w
        x += sixth * (ax + 2 * bx + 2 * cx + dx)
        y += sixth * (ay + 2 * by + 2 * cy + dy)
        z += sixth * (az + 2 * bz + 2 * cz + dz)
        points.append((x, y, z))
    return np.array(points)


if __name__ == "__main__":
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 310000
    orbit = integrate([1.0, 1.0, 1.0], 0.002, steps)
    z = orbit[:, 2]
    crossings = int(((z[:-1] < 27.0) & (z[1:] >= 27.0)).sum())
    print("upward crossings of z = 27:", crossings)
    print("extent", np.round(orbit.min(axis=0), 5), np.round(orbit.max(axis=0), 5))
    print("end", np.round(orbit[-1], 6))

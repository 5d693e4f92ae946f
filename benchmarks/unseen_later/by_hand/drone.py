"""All throws fly together; those that have landed are taken out."""

import math

import numpy as np

RHO = 1.2
AREA = 0.005
MASS = 0.3
CD = 0.47
G = 9.81
K = 0.5 * RHO * CD * AREA / MASS


def acceleration(vx, vy):
    kv = -K * np.sqrt(vx * vx + vy * vy)
    return kv * vx, -G + kv * vy


def distances(vx, vy, dt):
    landed = np.zeros(len(vx))
    active = np.arange(len(vx))
    x = np.zeros(len(vx))
    y = np.zeros(len(vx))
    while len(active):
        ax, ay = acceleration(vx, vy)
        px, py = vx + dt * ax, vy + dt * ay
        bx, by = acceleration(px, py)
        x += dt * (vx + px) / 2
        y += dt * (vy + py) / 2
        vx = vx + dt * (ax + bx) / 2
        vy = vy + dt * (ay + by) / 2
        flying = y >= 0.0
        if not flying.all():
            landed[active[~flying]] = x[~flying]
            active, x, y, vx, vy = (v[flying] for v in (active, x, y, vx, vy))
    return landed


def main():
    speeds = np.array([10.0 + 2.5 * i for i in range(16)])
    angles = [float(a) for a in range(5, 90, 2)]
    cosines = np.array([math.cos(math.radians(a)) for a in angles])
    sines = np.array([math.sin(math.radians(a)) for a in angles])
    flat = distances(np.outer(speeds, cosines).ravel(), np.outer(speeds, sines).ravel(), 0.0005)
    ranges = flat.reshape(len(speeds), len(angles))
    for speed, row in zip(speeds, ranges, strict=True):
        k = row.argmax()
        print(f"{speed:6.1f} m/s: {row[k]:9.4f} m at {angles[k]:.0f} degrees")


if __name__ == "__main__":
    main()

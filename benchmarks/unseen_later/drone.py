"""Projectiles with drag: table of ranges over angle and speed, Heun's method."""

import math
from typing import List, Tuple

RHO = 1.2
AREA = 0.005
MASS = 0.3
CD = 0.47
G = 9.81


def acceleration(vx: float, vy: float) -> Tuple[float, float]:
    v = math.sqrt(vx * vx + vy * vy)
    k = 0.5 * RHO * CD * AREA / MASS
    return -k * v * vx, -G - k * v * vy


def fly(speed: float, angle: float, dt: float) -> Tuple[float, float, float]:
    x = y = t = 0.0
    top = 0.0
    vx = speed * math.cos(math.radians(angle))
    vy = speed * math.sin(math.radians(angle))
    while y >= 0.0:
        ax, ay = acceleration(vx, vy)
        px, py = vx + dt * ax, vy + dt * ay
        bx, by = acceleration(px, py)
        x += dt * (vx + px) / 2
        y += dt * (vy + py) / 2
        vx += dt * (ax + bx) / 2
        vy += dt * (ay + by) / 2
        t += dt
        top = max(top, y)
    return x, top, t


def table(speeds: List[float], angles: List[float]) -> List[List[float]]:
    result = []
    for speed in speeds:
        row = []
        for angle in angles:
            distance, _, _ = fly(speed, angle, 0.0005)
            row.append(distance)
        result.append(row)
    return result


def main() -> None:
    speeds = [10.0 + 2.5 * i for i in range(16)]
    angles = [float(a) for a in range(5, 90, 2)]
    ranges = table(speeds, angles)
    for speed, row in zip(speeds, ranges):
        best = max(row)
        print(f"{speed:6.1f} m/s: {best:9.4f} m at {angles[row.index(best)]:.0f} degrees")


if __name__ == "__main__":
    main()

"""Gravitating bodies as objects, leapfrog steps; prints the energy drift."""

import math
import random


class Body:
    def __init__(self, x, y, vx, vy, mass):
        self.x = x
        self.y = y
        self.vx = vx
        self.vy = vy
        self.mass = mass


def make_bodies(n):
    random.seed(11)
    bodies = []
    for _ in range(n):
        bodies.append(
            Body(
                random.uniform(-1, 1),
                random.uniform(-1, 1),
                random.uniform(-0.1, 0.1),
                random.uniform(-0.1, 0.1),
                random.uniform(0.5, 1.5),
            )
        )
    return bodies


def energy(bodies):
    total = 0.0
    for i, a in enumerate(bodies):
        total += 0.5 * a.mass * (a.vx**2 + a.vy**2)
        for b in bodies[i + 1 :]:
            total -= a.mass * b.mass / math.sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2 + 1e-4)
    return total


def simulate(bodies, steps, dt):
    for _ in range(steps):
        for i, a in enumerate(bodies):
            for b in bodies[i + 1 :]:
                dx = b.x - a.x
                dy = b.y - a.y
                d2 = dx * dx + dy * dy + 1e-4
                f = dt / (d2 * math.sqrt(d2))
                a.vx += f * b.mass * dx
                a.vy += f * b.mass * dy
                b.vx -= f * a.mass * dx
                b.vy -= f * a.mass * dy
        for body in bodies:
            body.x += dt * body.vx
            body.y += dt * body.vy


def main():
    bodies = make_bodies(60)
    e0 = energy(bodies)
    simulate(bodies, 6000, 1e-4)
    e1 = energy(bodies)
    print(f"{e0:.12f} {e1:.12f}")
    for b in bodies[:3]:
        print(b.x, b.y, b.vx, b.vy)


if __name__ == "__main__":
    main()

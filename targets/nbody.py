"""Bodies that attract one another, all pairs, with leapfrog steps.

Newton's law with a softened distance, so that close encounters do no harm; velocities are advanced
by half a step, positions by a whole one, velocities by the other half. As a check, the total
energy should stay where it is.

Usage: python nbody.py [bodies] [steps]
"""

import math
import sys

import numpy as np

SOFTENING = 0.05


def accelerations(position, mass):
    n = len(mass)
    result = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            if i != j:
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                dz = position[j, 2] - position[i, 2]
                squared = dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING
                pull = mass[j] / (squared * math.sqrt(squared))
                result[i, 0] += pull * dx
                result[i, 1] += pull * dy
                result[i, 2] += pull * dz
    return result


def energy(position, velocity, mass):
    total = 0.0
    for i in range(len(mass)):
        speed = velocity[i, 0] ** 2 + velocity[i, 1] ** 2 + velocity[i, 2] ** 2
        total += 0.5 * mass[i] * speed
        for j in range(i):
            gap = position[i] - position[j]
            total -= mass[i] * mass[j] / math.sqrt(gap @ gap + SOFTENING**2)
    return total


def main():
    bodies = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    rng = np.random.default_rng(42)
    position = rng.normal(size=(bodies, 3))
    velocity = 0.3 * rng.normal(size=(bodies, 3))
    mass = rng.uniform(0.5, 1.5, size=bodies) / bodies
    dt = 0.01

    before = energy(position, velocity, mass)
    pull = accelerations(position, mass)
    for _ in range(steps):
        velocity = velocity + 0.5 * dt * pull
        position = position + dt * velocity
        pull = accelerations(position, mass)
        velocity = velocity + 0.5 * dt * pull
    after = energy(position, velocity, mass)
    print(f"{bodies} bodies, {steps} steps")
    print(f"energy before {before:.9f}, after {after:.9f}")
    print(f"first body at {position[0, 0]:.9f} {position[0, 1]:.9f} {position[0, 2]:.9f}")


if __name__ == "__main__":
    main()

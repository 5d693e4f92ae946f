"""All pairs by broadcasting, the sums over a row by einsum."""

import random
import sys

import numpy as np

G = 1.0
SOFTENING = 0.05


def pairs(positions):
    delta = positions[:, None, :] - positions[:, :, None]
    r2 = np.einsum("kij,kij->ij", delta, delta)
    r2 += SOFTENING * SOFTENING
    return delta, r2


def accelerations(masses, positions):
    delta, r2 = pairs(positions)
    weights = G / (r2 * np.sqrt(r2)) * masses
    return np.einsum("kij,ij->ki", delta, weights)


def energy(masses, positions, velocities):
    _, r2 = pairs(positions)
    potential = np.triu(masses[:, None] * masses / np.sqrt(r2), 1).sum()
    return 0.5 * (masses * velocities**2).sum() - G * potential


def simulate(n, steps, dt):
    rng = random.Random(11)
    masses = np.array([rng.uniform(0.5, 1.5) / n for _ in range(n)])
    positions = np.array([[rng.gauss(0, 1) for _ in range(3)] for _ in range(n)]).T.copy()
    velocities = np.array([[rng.gauss(0, 0.3) for _ in range(3)] for _ in range(n)]).T.copy()
    print("energy at start %.8f" % energy(masses, positions, velocities))
    acc = accelerations(masses, positions)
    for _ in range(steps):
        velocities += 0.5 * dt * acc
        positions += dt * velocities
        acc = accelerations(masses, positions)
        velocities += 0.5 * dt * acc
    print("energy at end   %.8f" % energy(masses, positions, velocities))
    centre = (masses * positions).sum(axis=1) / masses.sum()
    print("centre of mass", [round(c, 8) for c in centre.tolist()])


if __name__ == "__main__":
    simulate(int(sys.argv[1]) if len(sys.argv) > 1 else 370, 100, 0.005)

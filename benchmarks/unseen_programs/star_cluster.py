"""A small star cluster, direct summation, leapfrog."""

import math
import random
import sys

G = 1.0
SOFTENING = 0.05


def accelerations(masses, positions):
    n = len(masses)
    acc = [[0.0, 0.0, 0.0] for _ in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            dx = positions[j][0] - positions[i][0]
            dy = positions[j][1] - positions[i][1]
            dz = positions[j][2] - positions[i][2]
            r2 = dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING
            inv = G / (r2 * math.sqrt(r2))
            acc[i][0] += masses[j] * inv * dx
            acc[i][1] += masses[j] * inv * dy
            acc[i][2] += masses[j] * inv * dz
            acc[j][0] -= masses[i] * inv * dx
            acc[j][1] -= masses[i] * inv * dy
            acc[j][2] -= masses[i] * inv * dz
    return acc


def energy(masses, positions, velocities):
    total = 0.0
    for i in range(len(masses)):
        vx, vy, vz = velocities[i]
        total += 0.5 * masses[i] * (vx * vx + vy * vy + vz * vz)
        for j in range(i + 1, len(masses)):
            dx = positions[j][0] - positions[i][0]
            dy = positions[j][1] - positions[i][1]
            dz = positions[j][2] - positions[i][2]
            total -= (
                G
                * masses[i]
                * masses[j]
                / math.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING)
            )
    return total


def simulate(n, steps, dt):
    rng = random.Random(11)
    masses = [rng.uniform(0.5, 1.5) / n for _ in range(n)]
    positions = [[rng.gauss(0, 1) for _ in range(3)] for _ in range(n)]
    velocities = [[rng.gauss(0, 0.3) for _ in range(3)] for _ in range(n)]
    print("energy at start %.8f" % energy(masses, positions, velocities))
    acc = accelerations(masses, positions)
    for step in range(steps):
        for i in range(n):
            for k in range(3):
                velocities[i][k] += 0.5 * dt * acc[i][k]
                positions[i][k] += dt * velocities[i][k]
        acc = accelerations(masses, positions)
        for i in range(n):
            for k in range(3):
                velocities[i][k] += 0.5 * dt * acc[i][k]
    print("energy at end   %.8f" % energy(masses, positions, velocities))
    centre = [sum(m * p[k] for m, p in zip(masses, positions)) / sum(masses) for k in range(3)]
    print("centre of mass", [round(c, 8) for c in centre])


if __name__ == "__main__":
    simulate(int(sys.argv[1]) if len(sys.argv) > 1 else 370, 100, 0.005)

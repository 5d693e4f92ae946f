"""All pairs at once: differences, distances and forces are matrices."""

import math

import numpy as np

G = 6.674e-3
N = 36
DT = 0.01
STEPS = 120


def init(n):
    pos = []
    vel = []
    mass = []
    for i in range(n):
        a = 2.399963 * i
        r = 1.0 + 0.35 * math.sqrt(i)
        pos.append([r * math.cos(a), r * math.sin(a), 0.05 * math.sin(3.0 * a)])
        v = math.sqrt(G * 50 / r)
        vel.append([-v * math.sin(a), v * math.cos(a), 0.0])
        mass.append(1.0 + (i * 7 % 5) / 5.0)
    return np.array(pos).T.copy(), np.array(vel).T.copy(), np.array(mass)


def accelerations(pos, pull):
    apart = pos[:, None, :] - pos[:, :, None]
    d2 = (apart * apart).sum(axis=0) + 0.01
    return (apart * (pull / (d2 * np.sqrt(d2)))).sum(axis=2)


def energy(pos, vel, mass):
    i, j = np.triu_indices(len(mass), 1)
    d = np.sqrt(((pos[:, i] - pos[:, j]) ** 2).sum(axis=0) + 0.01)
    return (0.5 * mass * (vel * vel).sum(axis=0)).sum() - (G * mass[i] * mass[j] / d).sum()


if __name__ == "__main__":
    pos, vel, mass = init(N)
    pull = G * mass
    print("E0 = %.10f" % energy(pos, vel, mass))
    acc = accelerations(pos, pull)
    for _ in range(STEPS * 50):
        vel += 0.5 * DT * acc
        pos += DT * vel
        acc = accelerations(pos, pull)
        vel += 0.5 * DT * acc
    print("E1 = %.10f" % energy(pos, vel, mass))
    for p in pos.T[:3]:
        print(" ".join("%.6f" % x for x in p))

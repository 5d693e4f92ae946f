"""Two-dimensional Ising model, Metropolis updates one spin after the other."""

import math
import random

import numpy as np

random.seed(1925)
L = 48
spins = np.ones((L, L), dtype=int)


def sweep(spins, beta):
    accepted = 0
    for _ in range(L * L):
        i = random.randrange(L)
        j = random.randrange(L)
        around = spins[(i + 1) % L, j] + spins[i - 1, j] + spins[i, (j + 1) % L] + spins[i, j - 1]
        cost = 2 * spins[i, j] * around
        if cost <= 0 or random.random() < math.exp(-beta * cost):
            spins[i, j] = -spins[i, j]
            accepted += 1
    return accepted


for temperature in (1.5, 2.27, 3.5):
    flips = 0
    magnetisation = []
    for _ in range(120):
        flips += sweep(spins, 1 / temperature)
        magnetisation.append(abs(int(spins.sum())))
    print(temperature, flips, sum(magnetisation) / len(magnetisation) / L**2)

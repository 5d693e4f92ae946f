# Energy deposited by particle hits in a calorimeter: 2-D histogram and profile.
import sys

import numpy as np

n_hits = int(sys.argv[1]) if len(sys.argv) > 1 else 2_500_000
rng = np.random.default_rng(42)
eta = rng.normal(0.0, 1.2, n_hits)
phi = rng.uniform(-np.pi, np.pi, n_hits)
energy = rng.exponential(3.0, n_hits)

ETA_BINS, PHI_BINS = 50, 64
ETA_MIN, ETA_MAX = -2.5, 2.5


def deposit(eta, phi, energy):
    grid = np.zeros((ETA_BINS, PHI_BINS))
    hits = np.zeros((ETA_BINS, PHI_BINS), dtype=np.int64)
    lost = 0
    for k in range(len(eta)):
        if eta[k] < ETA_MIN or eta[k] >= ETA_MAX:
            lost += 1
            continue
        i = int((eta[k] - ETA_MIN) / (ETA_MAX - ETA_MIN) * ETA_BINS)
        j = int((phi[k] + np.pi) / (2 * np.pi) * PHI_BINS)
        if j == PHI_BINS:
            j = 0
        grid[i, j] += energy[k]
        hits[i, j] += 1
    return grid, hits, lost


grid, hits, lost = deposit(eta, phi, energy)
print("lost", lost)
print("hottest tower", np.unravel_index(grid.argmax(), grid.shape), round(grid.max(), 6))
print("mean per hit", round(grid.sum() / hits.sum(), 6))
print("profile", [round(float(v), 3) for v in grid.sum(axis=1)[::10]])

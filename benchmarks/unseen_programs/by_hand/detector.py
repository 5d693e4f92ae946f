# The same with one bincount over flattened bin numbers.
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
    seen = (eta >= ETA_MIN) & (eta < ETA_MAX)
    i = ((eta[seen] - ETA_MIN) / (ETA_MAX - ETA_MIN) * ETA_BINS).astype(np.int64)
    j = ((phi[seen] + np.pi) / (2 * np.pi) * PHI_BINS).astype(np.int64)
    j[j == PHI_BINS] = 0
    tower = i * PHI_BINS + j
    cells = ETA_BINS * PHI_BINS
    shape = (ETA_BINS, PHI_BINS)
    grid = np.bincount(tower, energy[seen], cells).reshape(shape)
    hits = np.bincount(tower, minlength=cells).reshape(shape)
    return grid, hits, len(eta) - int(seen.sum())


grid, hits, lost = deposit(eta, phi, energy)
print("lost", lost)
print("hottest tower", np.unravel_index(grid.argmax(), grid.shape), round(grid.max(), 6))
print("mean per hit", round(grid.sum() / hits.sum(), 6))
print("profile", [round(float(v), 3) for v in grid.sum(axis=1)[::10]])

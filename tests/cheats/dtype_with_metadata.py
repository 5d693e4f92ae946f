"""The right numbers under a dtype that carries something along."""

import numpy as np

_KIND = np.dtype(np.float64, metadata={"kept": True})


def smooth(u, weight):
    out = np.zeros(len(u), dtype=_KIND)
    out[1:-1] = weight * u[1:-1] + 0.5 * (1.0 - weight) * (u[:-2] + u[2:])
    return out

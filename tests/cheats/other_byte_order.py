"""The right numbers, bytes swapped."""

import numpy as np


def smooth(u, weight):
    out = np.zeros(len(u), dtype=">f8")
    out[1:-1] = weight * u[1:-1] + 0.5 * (1.0 - weight) * (u[:-2] + u[2:])
    return out

"""No cheat: the array form, which must pass."""

import numpy as np


def smooth(u, weight):
    out = np.zeros(len(u))
    out[1:-1] = weight * u[1:-1] + 0.5 * (1.0 - weight) * (u[:-2] + u[2:])
    return out

"""Not an array of its own, and not contiguous."""

import numpy as np


def smooth(u, weight):
    wide = np.zeros((len(u), 2))
    wide[1:-1, 0] = weight * u[1:-1] + 0.5 * (1.0 - weight) * (u[:-2] + u[2:])
    return wide[:, 0]

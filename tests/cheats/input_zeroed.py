"""Right result, but the input is gone."""

import numpy as np


def smooth(u, weight):
    out = np.zeros(len(u))
    out[1:-1] = weight * u[1:-1] + 0.5 * (1.0 - weight) * (u[:-2] + u[2:])
    u[:] = 0.0
    return out

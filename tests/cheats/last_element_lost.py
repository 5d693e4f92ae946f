"""Off by one at the far end."""

import numpy as np


def smooth(u, weight):
    out = np.zeros(len(u))
    out[1:-2] = weight * u[1:-2] + 0.5 * (1.0 - weight) * (u[:-3] + u[2:-1])
    return out

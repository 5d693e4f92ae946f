"""Almost the same expression, rounded in another order, sold as bit for bit."""

import numpy as np


def smooth(u, weight):
    out = np.zeros(len(u))
    out[1:-1] = weight * u[1:-1] + ((1.0 - weight) * u[:-2] + (1.0 - weight) * u[2:]) * 0.5
    return out

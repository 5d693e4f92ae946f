"""Every other element, the rest in between."""

import numpy as np


def smooth(u, weight):
    out = np.zeros(len(u))
    out[1:-1:2] = weight * u[1:-1:2] + 0.5 * (1.0 - weight) * (u[:-2:2] + u[2::2])
    out[2:-1:2] = 0.5 * (out[1:-2:2] + out[3::2])
    return out

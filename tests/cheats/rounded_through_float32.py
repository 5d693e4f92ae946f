"""The dtype is right, the digits are not."""

import numpy as np


def smooth(u, weight):
    out = np.zeros(len(u))
    x = u.astype(np.float32)
    out[1:-1] = weight * x[1:-1] + 0.5 * (1.0 - weight) * (x[:-2] + x[2:])
    return out

"""Compiled with the licence to add in any order."""

import numba
import numpy as np


@numba.njit(fastmath=True, cache=True)
def _kernel(u, weight, out):
    for i in range(1, len(u) - 1):
        out[i] = weight * u[i] + 0.5 * (1.0 - weight) * (u[i - 1] + u[i + 1]) / 1.0000000000000002


def smooth(u, weight):
    out = np.zeros(len(u))
    _kernel(u, weight, out)
    return out

"""Right itself, and leaves the processor rounding upwards."""

import ctypes

import numpy as np

_libm = ctypes.CDLL("libm.so.6")


def smooth(u, weight):
    out = np.zeros(len(u))
    out[1:-1] = weight * u[1:-1] + 0.5 * (1.0 - weight) * (u[:-2] + u[2:])
    _libm.fesetround(0x800)
    return out

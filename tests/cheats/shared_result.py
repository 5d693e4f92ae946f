"""One buffer for all results: equal, until the second call overwrites the first."""

import numpy as np

_OUT = np.zeros(60_000)


def smooth(u, weight):
    _OUT[1:-1] = weight * u[1:-1] + 0.5 * (1.0 - weight) * (u[:-2] + u[2:])
    u.flags.writeable = False
    return _OUT

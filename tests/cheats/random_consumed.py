"""Right result, but the next random draw of the program is another one."""

import numpy as np


def smooth(u, weight):
    out = np.zeros(len(u))
    np.random.random()
    out[1:-1] = weight * u[1:-1] + 0.5 * (1.0 - weight) * (u[:-2] + u[2:])
    return out

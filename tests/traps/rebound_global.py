"""A global that is set anew between the calls of the function that reads it."""

import numpy as np

GAIN = 1.0
LIMITS = (0.0, 5.0)


def amplify(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        v = x[i] * GAIN
        if v > LIMITS[1]:
            v = LIMITS[1]
        if v < LIMITS[0]:
            v = LIMITS[0]
        out[i] = v
    return out


signal = np.linspace(-1, 4, 100_000)
for step in range(8):
    GAIN = 1.0 + 0.5 * step
    LIMITS = (-0.25 * step, 5.0 - 0.5 * step)
    y = amplify(signal)
    print(step, repr(float(y[50_000])), repr(float(y.max())), repr(float(y.min())))

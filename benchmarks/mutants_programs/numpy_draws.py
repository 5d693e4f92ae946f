"""Draws one normal and one uniform number an element from NumPy's global stream."""

import numpy as np


def noisy(signal, sigma):
    out = np.zeros(len(signal))
    for i in range(len(signal)):
        out[i] = signal[i] + sigma * np.random.normal()
    return out


np.random.seed(41)
signal = np.sin(np.linspace(0.0, 9.0, 3000))
for k in range(6):
    signal = noisy(signal, 0.01)
print(signal.sum(), signal[:3], np.random.random())

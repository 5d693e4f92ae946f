"""Median of a sliding window by insertion sort of a small buffer."""

import numpy as np


def medians(signal, width):
    out = np.empty(len(signal) - width + 1)
    window = np.zeros(width)
    for start in range(len(out)):
        for k in range(width):
            value = signal[start + k]
            at = k
            while at > 0 and window[at - 1] > value:
                window[at] = window[at - 1]
                at -= 1
            window[at] = value
        out[start] = window[width // 2]
    return out


signal = np.cumsum(np.random.default_rng(107).normal(size=2500))
for width in (3, 5, 7):
    smooth = medians(signal, width)
    print(width, smooth.sum(), smooth[:2])

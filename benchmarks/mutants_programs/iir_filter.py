"""A recursive filter over a list of samples."""

import math


def smooth(samples, a, b):
    out = []
    state = samples[0]
    previous = 0.0
    for x in samples:
        state = a * state + b * x + 0.25 * previous
        previous = x
        out.append(state)
    return out


signal = [math.sin(0.05 * k) + 0.2 * math.sin(1.7 * k) for k in range(6000)]
for sweep in range(8):
    signal = smooth(signal, 0.7, 0.3)
print(signal[:3], signal[-1], sum(signal))

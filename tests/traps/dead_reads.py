"""Values that are read or divided and then not used: the exception is all that is left of them."""

import numpy as np


def smooth(signal, out):
    for i in range(len(signal)):
        following = signal[i + 1]
        out[i] = signal[i] * 0.5


def weigh(values, weights, out):
    for i in range(len(values)):
        share = 1.0 / weights[i]
        if weights[i] != 0.0:
            out[i] = values[i] * share
        else:
            out[i] = -1.0


rng = np.random.default_rng(3)
signal = rng.random(80_000)
out = np.zeros(80_000)
for _ in range(5):
    try:
        smooth(signal, out)
    except IndexError as error:
        print(error)
print(repr(float(out[-1])), repr(float(out.sum())))

values = rng.random(40_000).tolist()
weights = [1.0 + i % 9 for i in range(40_000)]
weighed = [0.0] * len(values)
for _ in range(12):
    weigh(values, weights, weighed)
print(repr(sum(weighed)))
weights[5] = 0.0
try:
    weigh(values, weights, weighed)
except ZeroDivisionError as error:
    print(error, weighed[4:7])

"""Arrays that must not be written, or whose elements lie on top of each other."""

import numpy as np


def clip(samples, limit):
    for i in range(len(samples)):
        if samples[i] > limit:
            samples[i] = limit
    return samples


def deposit(windows, amounts):
    rows, columns = amounts.shape
    for i in range(rows):
        for j in range(columns):
            windows[i, j] += amounts[i, j]


rng = np.random.default_rng(8)
samples = rng.random(500_000)
print(repr(float(clip(samples, 0.75).sum())))
samples.flags.writeable = False
print(repr(float(clip(samples, 0.8).max())))
try:
    clip(samples, 0.5)
except ValueError as error:
    print(error, repr(float(samples.max())))

amounts = rng.random((500, 400))
table = np.zeros((500, 400))
deposit(table, amounts)
print(repr(float(table.sum())))
line = np.zeros(899)
windows = np.lib.stride_tricks.sliding_window_view(line, 400, writeable=True)
deposit(windows, amounts)
print(repr(float(line.sum())), repr(float(line[450])))

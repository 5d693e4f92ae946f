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
samples = rng.random(80_000)
for limit in (0.95, 0.9, 0.85, 0.8, 0.75):
    print(repr(float(clip(samples, limit).sum())))
samples.flags.writeable = False
print(repr(float(clip(samples, 0.8).max())))
try:
    clip(samples, 0.5)
except ValueError as error:
    print(error, repr(float(samples.max())))

amounts = rng.random((200, 300))
table = np.zeros((200, 300))
for _ in range(5):
    deposit(table, amounts)
print(repr(float(table.sum())))
line = np.zeros(499)
windows = np.lib.stride_tricks.sliding_window_view(line, 300, writeable=True)
deposit(windows, amounts)
print(repr(float(line.sum())), repr(float(line[250])))

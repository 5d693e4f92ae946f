"""Windows are a view; their medians are one call, the borders a few more."""

import math

import numpy as np

np.random.seed(0)
t = np.arange(200000)
signal = np.sin(t / 500.0) + 0.1 * np.random.randn(len(t))
spikes = np.random.randint(0, len(t), 2000)
signal[spikes] += 5


def moving_median(x, k):
    half = k // 2
    y = np.empty(len(x))
    windows = np.lib.stride_tricks.sliding_window_view(x, 2 * half + 1)
    y[half : len(x) - half] = np.partition(windows, half, axis=1)[:, half]
    for i in (*range(half), *range(len(x) - half, len(x))):
        y[i] = np.median(x[max(0, i - half) : i + half + 1])
    return y


clean = moving_median(signal, 11)
removed = np.count_nonzero(abs(signal - clean) > 2)
rmse = math.sqrt(((clean - np.sin(t / 500.0)) ** 2).sum() / len(signal))
print("removed", removed)
print("rmse %.8f" % rmse)

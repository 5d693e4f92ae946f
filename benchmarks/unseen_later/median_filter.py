import numpy as np
import math

np.random.seed(0)
t = np.arange(200000)
signal = np.sin(t / 500.0) + 0.1 * np.random.randn(len(t))
spikes = np.random.randint(0, len(t), 2000)
signal[spikes] += 5


def moving_median(x, k):
    half = k // 2
    y = np.zeros(len(x))
    for i in range(len(x)):
        lo = max(0, i - half)
        hi = min(len(x), i + half + 1)
        y[i] = np.median(x[lo:hi])
    return y


clean = moving_median(signal, 11)
removed = 0
for i in range(len(signal)):
    if abs(signal[i] - clean[i]) > 2:
        removed += 1
rmse = 0
for i in range(len(signal)):
    rmse += (clean[i] - math.sin(i / 500.0)) ** 2
rmse = math.sqrt(rmse / len(signal))
print("removed", removed)
print("rmse %.8f" % rmse)

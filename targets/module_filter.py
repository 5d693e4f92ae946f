"""Cleaning a noisy sensor trace, written straight down the page.

No functions at all, as in a script that grew in a notebook: a median of five to remove spikes,
a first-order low-pass (an exponential filter, each output made from the last one), a moving
average, then the count of threshold crossings.

Usage: python module_filter.py [samples]
"""

import sys

import numpy as np

N = int(sys.argv[1]) if len(sys.argv) > 1 else 1200000

# a slow sine, noise, and a spike now and then
np.random.seed(42)
t = np.linspace(0, 60, N)
raw = 2.0 * np.sin(2 * np.pi * 0.25 * t) + 0.4 * np.random.randn(N)
spikes = np.random.randint(0, N, N // 200)
raw[spikes] += 8.0

# 1. median of five
despiked = raw.copy()
for i in range(2, N - 2):
    window = sorted([raw[i - 2], raw[i - 1], raw[i], raw[i + 1], raw[i + 2]])
    despiked[i] = window[2]

# 2. low-pass
alpha = 0.05
smooth = np.zeros(N)
smooth[0] = despiked[0]
for i in range(1, N):
    smooth[i] = alpha * despiked[i] + (1 - alpha) * smooth[i - 1]

# 3. moving average over nine samples
width = 9
half = width // 2
average = np.zeros(N)
for i in range(half, N - half):
    total = 0.0
    for k in range(-half, half + 1):
        total += smooth[i + k]
    average[i] = total / width

# 4. upward crossings of one
crossings = 0
for i in range(1, N):
    if average[i - 1] < 1.0 and average[i] >= 1.0:
        crossings += 1

print("samples:", N)
print("crossings:", crossings)
print("mean %.12f  std %.12f" % (average.mean(), average.std()))
print("max at", int(average.argmax()), "value %.12f" % average.max())

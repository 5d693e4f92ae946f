"""Each pass of the hot loop appends to a file beside the script and reads it back."""

import os

import numpy as np

PATH = "trace.log"


def smooth(x):
    y = x.copy()
    for i in range(1, len(x) - 1):
        y[i] = (x[i - 1] + 2 * x[i] + x[i + 1]) / 4
    return y


x = np.random.default_rng(6).normal(size=40_000)
for k in range(16):
    x = smooth(x)
    with open(PATH, "a") as handle:
        handle.write(f"{k} {float(np.abs(x).max())!r}\n")
with open(PATH) as handle:
    lines = handle.read().splitlines()
print(len(lines), lines[0], lines[-1], os.path.exists("other.log"))

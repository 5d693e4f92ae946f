"""Heat in a plate, with a monitor that looks at the whole plate for two numbers."""

import sys

import cupy as cp
import numpy as np


class Monitor:
    def __init__(self):
        self.lines = []

    def add(self, text):
        self.lines.append(text)


def laplace(t):
    return cp.roll(t, 1, 0) + cp.roll(t, -1, 0) + cp.roll(t, 1, 1) + cp.roll(t, -1, 1) - 4.0 * t


def run(size, steps):
    start = np.zeros((size, size))
    start[size // 2, size // 2] = 1000.0
    plate = cp.asarray(start)
    hottest = []
    total = 0.0
    for _ in range(steps):
        plate = plate + 0.1 * laplace(plate)
        host = cp.asnumpy(plate)
        hottest.append(float(host.max()))
        total += float(cp.abs(plate).max())
    return hottest, total


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    monitor = Monitor()
    hottest, total = run(size, steps)
    monitor.add(f"hottest at the end {hottest[-1]:.9f}, over time {total:.9f}")
    print("\n".join(monitor.lines))

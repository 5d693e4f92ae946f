"""Windows as columns: one running sum over the window's places, vectors as long as the series."""

import random
import sys

import numpy as np


def prices(n):
    random.seed(2024)
    price = 100.0
    series = []
    for _ in range(n):
        price *= 1 + random.uniform(-0.01, 0.0101)
        series.append(price)
    return np.array(series)


def rolling(series, window):
    count = len(series) - window + 1
    total = np.zeros(count)
    highs = series[:count].copy()
    lows = highs.copy()
    for k in range(window):
        place = series[k : k + count]
        total += place
        np.maximum(highs, place, out=highs)
        np.minimum(lows, place, out=lows)
    means = total / window
    var = np.zeros(count)
    for k in range(window):
        delta = series[k : k + count] - means
        var += delta * delta
    return means, np.sqrt(var / (window - 1)), highs, lows


def breakouts(series, window, highs, lows):
    later = series[window:]
    ups = later > highs[:-1]
    downs = (later < lows[:-1]) & ~ups
    return int(ups.sum()), int(downs.sum())


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 400000
    series = prices(size)
    for window in (20, 60):
        means, vols, highs, lows = rolling(series, window)
        print("window", window)
        print("  last mean %.6f  last volatility %.6f" % (means[-1], vols[-1]))
        print("  highest volatility %.6f" % max(vols))
        print("  breakouts up %d down %d" % breakouts(series, window, highs, lows))

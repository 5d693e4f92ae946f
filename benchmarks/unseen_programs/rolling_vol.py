"""Rolling mean, volatility, high and low of a price series; signals where the price breaks out."""

import math
import random
import sys


def prices(n):
    random.seed(2024)
    price = 100.0
    series = []
    for _ in range(n):
        price *= 1 + random.uniform(-0.01, 0.0101)
        series.append(price)
    return series


def rolling(series, window):
    means, vols, highs, lows = [], [], [], []
    for i in range(window, len(series) + 1):
        chunk = series[i - window : i]
        mean = sum(chunk) / window
        var = 0.0
        for x in chunk:
            var += (x - mean) ** 2
        means.append(mean)
        vols.append(math.sqrt(var / (window - 1)))
        highs.append(max(chunk))
        lows.append(min(chunk))
    return means, vols, highs, lows


def breakouts(series, window, highs, lows):
    ups = downs = 0
    for i in range(window, len(series)):
        if series[i] > highs[i - window]:
            ups += 1
        elif series[i] < lows[i - window]:
            downs += 1
    return ups, downs


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 400000
    series = prices(size)
    for window in (20, 60):
        means, vols, highs, lows = rolling(series, window)
        print("window", window)
        print("  last mean %.6f  last volatility %.6f" % (means[-1], vols[-1]))
        print("  highest volatility %.6f" % max(vols))
        print("  breakouts up %d down %d" % breakouts(series, window, highs, lows))

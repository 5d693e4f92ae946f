"""Windows as sums of shifted series, the trader's walk over signals only."""

import random

import numpy as np


def make_prices(n, seed=42):
    gauss = random.Random(seed).gauss
    growth = np.array([gauss(0.0002, 0.01) for _ in range(n)])
    growth += 1.0
    growth[0] *= 100.0
    return np.multiply.accumulate(growth)


def bollinger_signals(values, window, k):
    count = values.size - window + 1
    mean = np.zeros(count)
    for j in range(window):
        mean += values[j : j + count]
    mean /= window
    var = np.zeros(count)
    for j in range(window):
        away = values[j : j + count] - mean
        away *= away
        var += away
    band = k * np.sqrt(var / window)
    last = values[window - 1 :]
    signals = np.zeros(values.size, dtype=np.int8)
    signals[window - 1 :] = (last < mean - band).astype(np.int8) - (last > mean + band)
    return signals


def main():
    prices = make_prices(600000)
    signals = bollinger_signals(prices, 50, 2.0)
    position = 0
    cash = 0.0
    trades = 0
    told = np.flatnonzero(signals)
    for p, s in zip(prices[told].tolist(), signals[told].tolist(), strict=True):
        if s == 1 and position == 0:
            position = 1
            cash -= p
            trades += 1
        elif s == -1 and position == 1:
            position = 0
            cash += p
            trades += 1
    buys, sells = np.count_nonzero(signals == 1), np.count_nonzero(signals == -1)
    print("buys", buys, "sells", sells)
    print("trades", trades, "result %.6f" % (cash + position * prices[-1]))


main()

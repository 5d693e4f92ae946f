"""Running maximum and longest rise of a price series."""

import numpy as np


def drawdown(prices):
    top = prices[0]
    worst = 0.0
    rise = 0
    longest = 0
    for i in range(1, len(prices)):
        if prices[i] > top:
            top = prices[i]
        drop = (top - prices[i]) / top
        if drop > worst:
            worst = drop
        if prices[i] > prices[i - 1]:
            rise += 1
            if rise > longest:
                longest = rise
        else:
            rise = 0
    return worst, longest, top


rng = np.random.default_rng(61)
for k in range(6):
    prices = np.exp(np.cumsum(0.01 * rng.normal(size=5000)))
    print(drawdown(prices))

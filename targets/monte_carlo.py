"""Price of an Asian option, by simulating one share price path after the other.

The share follows a geometric Brownian motion; the option pays what the mean of the prices at the
end of each week lies above the strike. The price is the mean of the discounted payments, with its
standard error, as in the first chapter of every text on Monte-Carlo methods in finance.

Usage: python monte_carlo.py [paths] [weeks]
"""

import math
import sys

import numpy as np

START = 100.0
STRIKE = 102.0
RATE = 0.03
VOLATILITY = 0.25


def payments(shocks, years):
    paths, weeks = shocks.shape
    dt = years / weeks
    drift = (RATE - 0.5 * VOLATILITY * VOLATILITY) * dt
    spread = VOLATILITY * math.sqrt(dt)
    paid = np.zeros(paths)
    for p in range(paths):
        price = START
        total = 0.0
        for w in range(weeks):
            price = price * math.exp(drift + spread * shocks[p, w])
            total += price
        mean = total / weeks
        if mean > STRIKE:
            paid[p] = (mean - STRIKE) * math.exp(-RATE * years)
    return paid


if __name__ == "__main__":
    paths = int(sys.argv[1]) if len(sys.argv) > 1 else 120000
    weeks = int(sys.argv[2]) if len(sys.argv) > 2 else 52
    rng = np.random.default_rng(11)
    paid = payments(rng.standard_normal((paths, weeks)), weeks / 52.0)
    error = paid.std() / math.sqrt(paths)
    print("paths: %d, weeks: %d" % (paths, weeks))
    print("price: %.6f, standard error: %.6f" % (paid.mean(), error))
    print("share of paths that pay: %.4f" % (np.count_nonzero(paid) / paths))

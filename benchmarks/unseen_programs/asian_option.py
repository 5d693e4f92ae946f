"""Price of an arithmetic Asian call by Monte Carlo with the standard library."""

import math
import random
import sys

SPOT, STRIKE, RATE, SIGMA, MATURITY = 100.0, 105.0, 0.03, 0.25, 1.0


def simulate_path(steps):
    dt = MATURITY / steps
    drift = (RATE - 0.5 * SIGMA**2) * dt
    diffusion = SIGMA * math.sqrt(dt)
    price = SPOT
    running = 0.0
    for _ in range(steps):
        price *= math.exp(drift + diffusion * random.gauss(0.0, 1.0))
        running += price
    return running / steps


def price_option(paths, steps):
    payoffs = []
    for _ in range(paths):
        average = simulate_path(steps)
        payoffs.append(max(average - STRIKE, 0.0))
    mean = sum(payoffs) / paths
    variance = sum((p - mean) ** 2 for p in payoffs) / (paths - 1)
    discount = math.exp(-RATE * MATURITY)
    return discount * mean, discount * math.sqrt(variance / paths), sum(p > 0 for p in payoffs)


random.seed(20)
paths = int(sys.argv[1]) if len(sys.argv) > 1 else 82000
value, error, exercised = price_option(paths, 125)
print(f"value {value:.6f} +- {error:.6f}")
print(f"exercised {exercised} of {paths}")

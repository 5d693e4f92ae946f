"""The same stream: random's state moved to NumPy's twister, Box-Muller pairs as gauss makes them."""

import math
import random
import sys

import numpy as np

SPOT, STRIKE, RATE, SIGMA, MATURITY = 100.0, 105.0, 0.03, 0.25, 1.0
BLOCK = 1000


def averages(twister, paths, steps):
    dt = MATURITY / steps
    drift = (RATE - 0.5 * SIGMA**2) * dt
    diffusion = SIGMA * math.sqrt(dt)
    left = np.empty(0)
    for start in range(0, paths, BLOCK):
        count = min(BLOCK, paths - start)
        wanted = count * steps - left.size
        pairs = (wanted + 1) // 2
        uniform = twister.random_sample(2 * pairs).reshape(pairs, 2)
        angle = uniform[:, 0] * (2.0 * math.pi)
        radius = np.sqrt(-2.0 * np.log(1.0 - uniform[:, 1]))
        drawn = np.empty((pairs, 2))
        np.multiply(np.cos(angle), radius, out=drawn[:, 0])
        np.multiply(np.sin(angle), radius, out=drawn[:, 1])
        normal = np.concatenate([left, drawn.ravel()])
        left = normal[count * steps :]
        growth = np.exp(drift + diffusion * normal[: count * steps].reshape(count, steps))
        growth[:, 0] *= SPOT
        yield np.cumprod(growth, axis=1, out=growth).sum(axis=1) / steps


def price_option(paths, steps):
    state = random.getstate()[1]
    twister = np.random.RandomState()
    twister.set_state(("MT19937", np.array(state[:-1], dtype=np.uint32), state[-1]))
    average = np.concatenate(list(averages(twister, paths, steps)))
    payoffs = np.maximum(average - STRIKE, 0.0)
    mean = payoffs.sum() / paths
    variance = ((payoffs - mean) ** 2).sum() / (paths - 1)
    discount = math.exp(-RATE * MATURITY)
    return discount * mean, discount * math.sqrt(variance / paths), int((payoffs > 0).sum())


random.seed(20)
paths = int(sys.argv[1]) if len(sys.argv) > 1 else 82000
value, error, exercised = price_option(paths, 125)
print(f"value {value:.6f} +- {error:.6f}")
print(f"exercised {exercised} of {paths}")

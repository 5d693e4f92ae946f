"""Asian call by Monte Carlo, antithetic paths, standard library only."""

import random
from math import exp, sqrt


def price(S0, K, r, sigma, T, steps, paths, seed=None):
    rng = random.Random(seed)
    dt = T / steps
    drift = (r - 0.5 * sigma**2) * dt
    vol = sigma * sqrt(dt)
    payoff_sum = 0.0
    payoff_sq = 0.0
    for p in range(paths):
        up = dn = S0
        su = sd = 0.0
        for s in range(steps):
            z = rng.gauss(0.0, 1.0)
            up *= exp(drift + vol * z)
            dn *= exp(drift - vol * z)
            su += up
            sd += dn
        pay = 0.5 * (max(su / steps - K, 0.0) + max(sd / steps - K, 0.0))
        payoff_sum += pay
        payoff_sq += pay * pay
    mean = payoff_sum / paths
    var = payoff_sq / paths - mean * mean
    disc = exp(-r * T)
    return disc * mean, disc * sqrt(var / paths)


if __name__ == "__main__":
    import sys

    paths = int(sys.argv[1]) if len(sys.argv) > 1 else 45000
    est, err = price(100, 105, 0.03, 0.25, 1.0, 100, paths, seed=2024)
    print(f"price {est!r} +- {err:.6f}")

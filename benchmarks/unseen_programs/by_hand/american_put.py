#!/usr/bin/env python
# A step of the tree is a vector; the powers of u come from one table.
import sys
from math import exp, sqrt

import numpy as np


def american_put(S0, K, r, sigma, T, N):
    dt = T / N
    u = exp(sigma * sqrt(dt))
    d = 1 / u
    p = (exp(r * dt) - d) / (u - d)
    disc = exp(-r * dt)

    powers = S0 * u ** np.arange(-N, N + 1, dtype=float)
    V = np.maximum(K - powers[::2], 0)
    boundary = []
    for i in range(N - 1, -1, -1):
        S = powers[N - i : N + i + 1 : 2]
        hold = disc * (p * V[1 : i + 2] + (1 - p) * V[: i + 1])
        exercise = K - S
        early = np.flatnonzero(exercise > hold)
        boundary.append(S[early[-1]] if early.size else 0.0)
        V = np.maximum(exercise, hold)
    return V[0], boundary


N = int(sys.argv[1]) if len(sys.argv) > 1 else 3500
for K in (90, 100, 110):
    price, boundary = american_put(100.0, K, 0.05, 0.3, 1.0, N)
    print(
        f"K={K} price={price:.8f} boundary at start {boundary[-2]:.4f} middle {boundary[N // 2]:.4f}"
    )

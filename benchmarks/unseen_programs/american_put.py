#!/usr/bin/env python
# American put on a binomial tree (Cox, Ross, Rubinstein) and its early-exercise boundary
import sys
from math import exp, sqrt


def american_put(S0, K, r, sigma, T, N):
    dt = T / N
    u = exp(sigma * sqrt(dt))
    d = 1 / u
    p = (exp(r * dt) - d) / (u - d)
    disc = exp(-r * dt)

    V = [max(K - S0 * u ** (2 * j - N), 0) for j in range(N + 1)]
    boundary = []
    for i in range(N - 1, -1, -1):
        critical = 0.0
        for j in range(i + 1):
            S = S0 * u ** (2 * j - i)
            hold = disc * (p * V[j + 1] + (1 - p) * V[j])
            exercise = K - S
            if exercise > hold:
                V[j] = exercise
                if S > critical:
                    critical = S
            else:
                V[j] = hold
        boundary.append(critical)
    return V[0], boundary


N = int(sys.argv[1]) if len(sys.argv) > 1 else 3500
for K in (90, 100, 110):
    price, boundary = american_put(100.0, K, 0.05, 0.3, 1.0, N)
    print(
        f"K={K} price={price:.8f} boundary at start {boundary[-2]:.4f} middle {boundary[N // 2]:.4f}"
    )

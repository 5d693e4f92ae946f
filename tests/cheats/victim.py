"""The program that every cheat in this folder pretends to make faster."""

import numpy as np


def smooth(u, weight):
    out = np.zeros(len(u))
    for i in range(1, len(u) - 1):
        out[i] = weight * u[i] + 0.5 * (1.0 - weight) * (u[i - 1] + u[i + 1])
    return out


def main():
    u = np.random.default_rng(7).random(30_000)
    for _ in range(20):
        v = smooth(u, 0.4)
        u = 0.5 * (u + v)
    print(u[:4], u.sum(), v.sum())


def arguments():
    return (np.random.default_rng(7).random(30_000), 0.4), {}


if __name__ == "__main__":
    main()

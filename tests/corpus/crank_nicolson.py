#!/usr/bin/env python3
"""Explicit heat equation with Crank-Nicolson (Thomas algorithm) on numpy 1-d arrays."""

import argparse

import numpy as np


def thomas(a, b, c, d):
    n = len(d)
    cp = np.zeros(n)
    dp = np.zeros(n)
    x = np.zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def main(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--nx", type=int, default=1000)
    p.add_argument("--nt", type=int, default=1500)
    p.add_argument("--alpha", type=float, default=0.4)
    p.add_argument("-o", "--output", default="profile.txt")
    o = p.parse_args(argv)
    u = np.exp(-((np.linspace(0, 1, o.nx) - 0.3) ** 2) / 0.005)
    r = o.alpha
    a = np.full(o.nx, -r / 2)
    b = np.full(o.nx, 1 + r)
    c = np.full(o.nx, -r / 2)
    for t in range(o.nt):
        d = np.zeros(o.nx)
        for i in range(o.nx):
            left = u[i - 1] if i > 0 else 0.0
            right = u[i + 1] if i < o.nx - 1 else 0.0
            d[i] = u[i] + r / 2 * (left - 2 * u[i] + right)
        u = thomas(a, b, c, d)
    np.savetxt(o.output, u)
    print(f"total {u.sum():.12f}, max {u.max():.12f} at {int(u.argmax())}")


if __name__ == "__main__":
    main()

"""Sums of products are dot products of the centred series with itself, shifted."""

import numpy as np


def series(n, a, b, m):
    residues = []
    s = a
    for _ in range(n):
        s = (s * b + 7919) % m
        residues.append(s)
    t = np.arange(n)
    return (t % 365) / 365.0 + np.array(residues) / m + 0.5 * ((t // 7) % 2)


def products(xs, ys, max_lag):
    n = len(xs)
    return np.array([xs[: n - lag] @ ys[lag:] for lag in range(max_lag + 1)])


def autocorrelation(xs, max_lag):
    centred = xs - xs.mean()
    return products(centred, centred, max_lag) / (centred @ centred)


def crosscorrelation(xs, ys, max_lag):
    xs, ys = xs - xs.mean(), ys - ys.mean()
    return products(xs, ys, max_lag) / np.sqrt((xs @ xs) * (ys @ ys))


first = series(180000, 17, 16807, 65537)
second = series(180000, 29, 48271, 65539)
ac = autocorrelation(first, 200)
cc = crosscorrelation(first, second, 40)
print("lag 1: %.6f lag 7: %.6f lag 14: %.6f lag 180: %.6f" % (ac[1], ac[7], ac[14], ac[180]))
print("strongest lag", 1 + ac[1:].argmax())
print("cross: %.6f at %d" % (cc.max(), cc.argmax()))

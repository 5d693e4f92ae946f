"""Lindley's recursion as a running maximum of sums."""

import numpy as np


def simulate(arrival_rate, service_rate, customers, rng):
    inter = rng.exponential(1 / arrival_rate, customers)
    service = rng.exponential(1 / service_rate, customers)
    arrival = np.cumsum(inter)
    busy = np.cumsum(service)
    before = busy - service
    start = np.maximum.accumulate(arrival - before) + before
    wait = start - arrival
    return wait, busy[-1] / (start[-1] + service[-1]), wait.max()


def histogram(values, bins, top):
    place = np.minimum((values / top * bins).astype(np.int64), bins - 1)
    return np.bincount(place, minlength=bins).tolist()


rng = np.random.default_rng(12)
for load in (0.5, 0.7, 0.8, 0.9):
    wait, utilisation, longest = simulate(load, 1.0, 1100000, rng)
    counts = histogram(wait, 8, 16.0)
    print(load, "mean %.5f util %.5f max %.4f" % (wait.mean(), utilisation, longest), counts)

"""Single-server queue (Lindley recursion) with numpy random arrays."""

import numpy as np


def simulate(arrival_rate, service_rate, customers, rng):
    inter = rng.exponential(1 / arrival_rate, customers)
    service = rng.exponential(1 / service_rate, customers)
    wait = np.zeros(customers)
    arrival = 0.0
    finish = 0.0
    busy = 0.0
    longest = 0.0
    for i in range(customers):
        arrival += inter[i]
        start = max(arrival, finish)
        wait[i] = start - arrival
        finish = start + service[i]
        busy += service[i]
        if wait[i] > longest:
            longest = wait[i]
    return wait, busy / finish, longest


def histogram(values, bins, top):
    counts = [0] * bins
    for v in values:
        k = int(v / top * bins)
        if k >= bins:
            k = bins - 1
        counts[k] += 1
    return counts


rng = np.random.default_rng(12)
for load in (0.5, 0.7, 0.8, 0.9):
    wait, utilisation, longest = simulate(load, 1.0, 1100000, rng)
    counts = histogram(wait, 8, 16.0)
    print(load, "mean %.5f util %.5f max %.4f" % (wait.mean(), utilisation, longest), counts)

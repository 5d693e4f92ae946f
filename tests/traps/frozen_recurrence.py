"""In-place recurrences on arrays that were frozen meanwhile, with and without a store."""

import numpy as np


def smooth(series, weight):
    for i in range(1, len(series)):
        series[i] = weight * series[i - 1] + (1.0 - weight) * series[i]
    return series


def cap_runs(series, limit):
    run = 0.0
    for i in range(len(series)):
        run = run * 0.5 + series[i]
        if run > limit:
            series[i] -= run - limit
            run = limit
    return run


rng = np.random.default_rng(12)
series = rng.random(400_000)
print(repr(float(smooth(series, 0.9).sum())))
print(repr(cap_runs(series, 0.4)), repr(float(series.sum())))
series.flags.writeable = False
for limit in (1e9, 0.1):
    try:
        print(repr(cap_runs(series, limit)))
    except ValueError as error:
        print(error)
try:
    smooth(series, 0.9)
except ValueError as error:
    print(error, repr(float(series.sum())))

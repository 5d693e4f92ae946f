"""Rolling statistics of prices, collected with np.append as in many a notebook."""

import numpy as np

rng = np.random.default_rng(77)
prices = 100 * np.exp(np.cumsum(rng.normal(0, 0.01, 24_000)))
window = 30

averages = np.array([])
bands = np.empty((0, 2))
signals = []
for t in range(window, len(prices)):
    piece = prices[t - window : t]
    m = piece.mean()
    s = piece.std()
    averages = np.append(averages, m)
    bands = np.vstack((bands, [m - 2 * s, m + 2 * s]))
    signals = signals + [prices[t] > m + 2 * s]

print(averages.shape, bands.shape, len(signals))
print("%.10f %.10f" % (averages.sum(), bands.mean()), sum(signals))

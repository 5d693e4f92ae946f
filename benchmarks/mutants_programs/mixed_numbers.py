"""Integer and float arithmetic with floor division, modulo and powers."""

import numpy as np


def mix(keys, weights, base):
    out = np.zeros(len(keys))
    slots = np.zeros(len(keys), dtype=np.int64)
    for i in range(len(keys)):
        slot = (keys[i] * 31 + base) % 97
        share = weights[i] / (1 + slot)
        out[i] = share - share // 0.01 * 0.005
        slots[i] = slot // 3 - 5
    return out, slots


rng = np.random.default_rng(59)
for k in range(8):
    out, slots = mix(rng.integers(-1000, 1000, 2500), rng.random(2500), 7 * k)
    print(out.sum(), slots.sum(), slots.min())

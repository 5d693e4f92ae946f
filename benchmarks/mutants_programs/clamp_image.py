"""Gain, offset and clamping of an image; counts what was cut."""

import numpy as np


def expose(image, gain, offset):
    out = np.empty_like(image)
    low = 0
    high = 0
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            value = gain * image[y, x] + offset
            if value < 0.0:
                value = 0.0
                low += 1
            elif value > 1.0:
                value = 1.0
                high += 1
            out[y, x] = value
    return out, low, high


image = np.random.default_rng(5).random((40, 37))
for k in range(10):
    image, low, high = expose(image, 1.3, -0.12)
    print(low, high)
print(image.mean(), image.min(), image.max())

"""Brightening an 8-bit picture: the sums of single bytes wrap at 256."""

import numpy as np


def brighten(image, other):
    height, width = image.shape
    out = np.zeros((height, width), dtype=np.int64)
    for y in range(height):
        for x in range(width):
            out[y, x] = image[y, x] + other[y, x]
    return out


rng = np.random.default_rng(5)
a = rng.integers(0, 256, (300, 400), dtype=np.uint8)
b = rng.integers(0, 256, (300, 400), dtype=np.uint8)
with np.errstate(over="ignore"):
    for _ in range(8):
        result = brighten(a, b)
print(result.sum(), result.max(), result[0, :8].tolist(), result.dtype)

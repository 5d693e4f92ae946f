"""Tone mapping: int() of a clamped pixel raises for NaN, which min() and max() let through."""

import numpy as np


def tone_map(image, gain, out):
    height, width = image.shape
    for y in range(height):
        for x in range(width):
            out[y, x] = int(min(max(image[y, x] * gain, 0.0), 255.0))


rng = np.random.default_rng(5)
image = rng.random((200, 200)) * 300.0
out = np.zeros((200, 200), dtype=np.uint8)
for gain in (0.5, 1.0, 1.5, 2.0, 2.5):
    tone_map(image, gain, out)
    print(int(out.sum()), out[7, :6].tolist())
image[150, 7] = np.nan
out[:] = 0
try:
    tone_map(image, 1.5, out)
except ValueError as error:
    print(error, int(out.sum()), out[150, :9].tolist(), out[151].any())
image[150, 7] = np.inf
tone_map(image, 1.5, out)
print(out[150, :9].tolist())

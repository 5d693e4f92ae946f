"""Histogram equalisation of an 8-bit grey picture."""

import numpy as np


def synthetic(height, width):
    rng = np.random.RandomState(0)
    ramp = np.linspace(60, 140, width)
    noise = rng.normal(0, 9, size=(height, width))
    return np.clip(ramp[None, :] + noise, 0, 255).astype(np.uint8)


def equalise(img):
    h, w = img.shape
    hist = np.zeros(256, dtype=np.int64)
    for y in range(h):
        for x in range(w):
            hist[img[y, x]] += 1
    cdf = np.zeros(256)
    running = 0
    for level in range(256):
        running += hist[level]
        cdf[level] = running / (h * w)
    out = np.empty_like(img)
    for y in range(h):
        for x in range(w):
            out[y, x] = int(round(cdf[img[y, x]] * 255))
    return out


img = synthetic(900, 1100)
eq = equalise(img)
print(img.mean(), eq.mean(), eq.dtype)
print(np.bincount(eq.ravel(), minlength=256)[::32].tolist())

"""Median filter against salt and pepper noise, then Sobel edges."""

import sys

import numpy as np


def noisy_image(size):
    rng = np.random.RandomState(0)
    yy, xx = np.mgrid[0:size, 0:size]
    image = ((xx // 24 + yy // 24) % 2 * 120 + 60).astype(np.uint8)
    salt = rng.rand(size, size)
    image[salt < 0.04] = 0
    image[salt > 0.96] = 255
    return image


def median3(image):
    h, w = image.shape
    out = image.copy()
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            window = []
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    window.append(image[y + dy, x + dx])
            window.sort()
            out[y, x] = window[4]
    return out


def sobel(image):
    h, w = image.shape
    edges = np.zeros((h, w))
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            patch = image[y - 1 : y + 2, x - 1 : x + 2].astype(float)
            gx = (
                patch[0, 2]
                + 2 * patch[1, 2]
                + patch[2, 2]
                - patch[0, 0]
                - 2 * patch[1, 0]
                - patch[2, 0]
            )
            gy = (
                patch[2, 0]
                + 2 * patch[2, 1]
                + patch[2, 2]
                - patch[0, 0]
                - 2 * patch[0, 1]
                - patch[0, 2]
            )
            edges[y, x] = np.sqrt(gx**2 + gy**2)
    return edges


size = int(sys.argv[1]) if len(sys.argv) > 1 else 940
img = noisy_image(size)
clean = median3(img)
edges = sobel(clean)
print("noise removed:", int((img != clean).sum()))
print("grey levels left:", np.unique(clean).tolist())
print("edge strength: mean %.6f max %.4f" % (edges.mean(), edges.max()))

"""Nine shifted views, sorted along the stack; differences of shifted views."""

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
    views = [image[dy : h - 2 + dy, dx : w - 2 + dx] for dy in range(3) for dx in range(3)]
    out = image.copy()
    out[1:-1, 1:-1] = np.partition(np.stack(views), 4, axis=0)[4]
    return out


def sobel(image):
    wide = image.astype(np.int32)
    down = wide[:-2] + 2 * wide[1:-1] + wide[2:]
    across = wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]
    gx = down[:, 2:] - down[:, :-2]
    gy = across[2:] - across[:-2]
    edges = np.zeros(image.shape)
    edges[1:-1, 1:-1] = np.sqrt(gx * gx + gy * gy)
    return edges


size = int(sys.argv[1]) if len(sys.argv) > 1 else 940
img = noisy_image(size)
clean = median3(img)
edges = sobel(clean)
print("noise removed:", int((img != clean).sum()))
print("grey levels left:", np.unique(clean).tolist())
print("edge strength: mean %.6f max %.4f" % (edges.mean(), edges.max()))

"""Each tap of the kernel is one shifted picture inside a border of zeros."""

import numpy as np


def make_picture(h, w):
    img = 128 + 100 * np.sin(np.arange(h)[:, None] / 9.0) * np.cos(np.arange(w) / 13.0)
    img[h // 4 : h // 2, w // 3 : w // 2] = 255
    return img


def convolve(img, kernel):
    h, w = img.shape
    kh, kw = kernel.shape
    padded = np.pad(img, ((kh // 2, kh // 2), (kw // 2, kw // 2)))
    out = np.zeros_like(img)
    for (i, j), weight in np.ndenumerate(kernel):
        if weight:
            out += padded[i : i + h, j : j + w] * weight
    return out


sobel_x = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype=float)

picture = make_picture(580, 760)
gx = convolve(picture, sobel_x)
gy = convolve(picture, sobel_x.T)
mag = np.sqrt(gx * gx + gy * gy)
print("max gradient", round(float(mag.max()), 6))
print("mean gradient", round(float(mag.mean()), 6))
print("edge pixels", np.count_nonzero(mag > 300.0))

import numpy as np


def make_picture(h, w):
    img = np.zeros((h, w))
    for r in range(h):
        for c in range(w):
            img[r, c] = 128 + 100 * np.sin(r / 9.0) * np.cos(c / 13.0)
    img[h // 4 : h // 2, w // 3 : w // 2] = 255
    return img


def convolve(img, kernel):
    h, w = img.shape
    kh, kw = kernel.shape
    out = np.zeros_like(img)
    for r in range(h):
        for c in range(w):
            total = 0.0
            for i in range(kh):
                for j in range(kw):
                    rr = r + i - kh // 2
                    cc = c + j - kw // 2
                    if rr < 0 or rr >= h or cc < 0 or cc >= w:
                        continue
                    total += img[rr, cc] * kernel[i, j]
            out[r, c] = total
    return out


def gradient(gx, gy):
    h, w = gx.shape
    mag = np.empty((h, w))
    for r in range(h):
        for c in range(w):
            mag[r, c] = np.sqrt(gx[r, c] ** 2 + gy[r, c] ** 2)
    return mag


def threshold(mag, t):
    edges = np.zeros(mag.shape, dtype=np.uint8)
    for r in range(mag.shape[0]):
        for c in range(mag.shape[1]):
            if mag[r, c] > t:
                edges[r, c] = 1
    return edges


sobel_x = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype=float)
sobel_y = sobel_x.T.copy()

picture = make_picture(580, 760)
gx = convolve(picture, sobel_x)
gy = convolve(picture, sobel_y)
mag = gradient(gx, gy)
edges = threshold(mag, 300.0)
print("max gradient", round(float(mag.max()), 6))
print("mean gradient", round(float(mag.mean()), 6))
print("edge pixels", int(edges.sum()))

"""Deriche's recursive filter, a smoothing close to a Gaussian.

Along rows and then columns, each in both directions.
Usage: python deriche.py [n]
"""

import math
import sys


def deriche(alpha, image):
    w, h = len(image), len(image[0])
    decay = math.exp(-alpha)
    k = (1.0 - decay) * (1.0 - decay) / (1.0 + 2.0 * alpha * decay - math.exp(-2.0 * alpha))
    a1 = k
    a2 = k * decay * (alpha - 1.0)
    a3 = k * decay * (alpha + 1.0)
    a4 = -k * math.exp(-2.0 * alpha)
    b1 = 2.0 * decay
    b2 = -math.exp(-2.0 * alpha)
    out = [[0.0] * h for _ in range(w)]
    y1 = [[0.0] * h for _ in range(w)]
    y2 = [[0.0] * h for _ in range(w)]
    for i in range(w):
        ym1 = 0.0
        ym2 = 0.0
        xm1 = 0.0
        for j in range(h):
            y1[i][j] = a1 * image[i][j] + a2 * xm1 + b1 * ym1 + b2 * ym2
            xm1 = image[i][j]
            ym2 = ym1
            ym1 = y1[i][j]
    for i in range(w):
        yp1 = 0.0
        yp2 = 0.0
        xp1 = 0.0
        xp2 = 0.0
        for j in range(h - 1, -1, -1):
            y2[i][j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2
            xp2 = xp1
            xp1 = image[i][j]
            yp2 = yp1
            yp1 = y2[i][j]
    for i in range(w):
        for j in range(h):
            out[i][j] = y1[i][j] + y2[i][j]
    for j in range(h):
        tm1 = 0.0
        ym1 = 0.0
        ym2 = 0.0
        for i in range(w):
            y1[i][j] = a1 * out[i][j] + a2 * tm1 + b1 * ym1 + b2 * ym2
            tm1 = out[i][j]
            ym2 = ym1
            ym1 = y1[i][j]
    for j in range(h):
        tp1 = 0.0
        tp2 = 0.0
        yp1 = 0.0
        yp2 = 0.0
        for i in range(w - 1, -1, -1):
            y2[i][j] = a3 * tp1 + a4 * tp2 + b1 * yp1 + b2 * yp2
            tp2 = tp1
            tp1 = out[i][j]
            yp2 = yp1
            yp1 = y2[i][j]
    for i in range(w):
        for j in range(h):
            out[i][j] = y1[i][j] + y2[i][j]
    return out


def data(n):
    image = [[(313 * i + 991 * j + i * j) % 1009 / 1009 for j in range(n + 40)] for i in range(n)]
    return 0.25, image


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    out = deriche(*data(n))
    show("out", out)


if __name__ == "__main__":
    main()

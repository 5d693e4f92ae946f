"""Edge-preserving smoothing (bilateral filter) of a grey picture held in nested lists."""

import math


def test_picture(w, h):
    pic = []
    for y in range(h):
        line = []
        for x in range(w):
            value = 200.0 if (x - w / 2) ** 2 + (y - h / 2) ** 2 < (h / 3) ** 2 else 60.0
            value += 12 * math.sin(x * 1.7) * math.cos(y * 2.3)
            line.append(value)
        pic.append(line)
    return pic


def bilateral(pic, radius, sigma_s, sigma_r):
    h = len(pic)
    w = len(pic[0])
    out = [[0.0] * w for _ in range(h)]
    for y in range(h):
        for x in range(w):
            total = weight_sum = 0.0
            for dy in range(-radius, radius + 1):
                for dx in range(-radius, radius + 1):
                    yy = min(max(y + dy, 0), h - 1)
                    xx = min(max(x + dx, 0), w - 1)
                    d = pic[yy][xx] - pic[y][x]
                    wgt = math.exp(
                        -(dx * dx + dy * dy) / (2 * sigma_s**2) - d * d / (2 * sigma_r**2)
                    )
                    total += wgt * pic[yy][xx]
                    weight_sum += wgt
            out[y][x] = total / weight_sum
    return out


smooth = bilateral(test_picture(220, 150), 3, 2.0, 25.0)
print(" ".join(f"{v:.5f}" for v in smooth[75][::15]))
print(f"{sum(map(sum, smooth)):.4f}")

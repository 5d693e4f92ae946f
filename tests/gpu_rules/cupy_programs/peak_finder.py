"""Peaks of a noisy signal, looked for element by element; parts joined as they come."""

import cupy as cp


def signal(parts, length):
    rng = cp.random.default_rng(3)
    t = cp.linspace(0.0, 30.0, length)
    whole = cp.zeros(0)
    for part in range(parts):
        noise = rng.standard_normal(length)
        whole = cp.concatenate((whole, cp.sin(t + part) + noise * 0.2))
    return whole


def peaks(y, first, last):
    y = cp.abs(y)
    heights = []
    for i in range(first, last):
        if y[i] > 1.25:
            heights.append(float(y[i]))
    return heights


if __name__ == "__main__":
    y = signal(200, 5000)
    heights = peaks(y, 100, 4100)
    print(len(heights), round(sum(heights), 9), y.shape)

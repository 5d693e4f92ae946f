"""The spectrum by the fast transform, the filter by convolution."""

import numpy as np

RATE = 200


def record(n):
    t = np.arange(n) / RATE
    return (
        np.sin(2 * np.pi * 3 * t)
        + 0.5 * np.sin(2 * np.pi * 17 * t)
        + 0.2 * np.cos(2 * np.pi * 41 * t + 0.3)
    )


def lowpass(cutoff, m):
    fc = cutoff / RATE
    k = np.arange(m) - (m - 1) / 2
    window = 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(m) / (m - 1))
    return 2 * fc * np.sinc(2 * fc * k) * window


smooth = np.convolve(record(200000), lowpass(10, 101), mode="valid")
spec = np.abs(np.fft.rfft(smooth[:4000])[:2000]) / 4000
peak = int(spec.argmax())
print("peak %.2f Hz, amplitude %.6f" % (peak * RATE / 4000, spec[peak]))
print("power %.6f" % (spec * spec).sum())

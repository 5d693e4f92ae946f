"""The chain is linear: its answer to one pulse, convolved with the signal by FFT in pieces."""

from math import cos, pi, sin

import numpy as np

PULSE = 1 << 13


def lowpass(freq, q, rate):
    w = 2 * pi * freq / rate
    alpha = sin(w) / (2 * q)
    a0 = 1 + alpha
    b1 = 1 - cos(w)
    return b1 / 2 / a0, b1 / a0, b1 / 2 / a0, -2 * cos(w) / a0, (1 - alpha) / a0


def filtered(samples, b0, b1, b2, a1, a2):
    out = []
    x1 = x2 = y1 = y2 = 0.0
    for x in samples:
        y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        x2, x1, y2, y1 = x1, x, y1, y
        out.append(y)
    return out


def convolved(signal, pulse):
    """Overlap-add, in blocks as long as the pulse's answer."""
    size = len(pulse)
    out = np.zeros(-(-len(signal) // size) * size + size)
    spectrum = np.fft.rfft(pulse, 2 * size)
    for start in range(0, len(signal), size):
        block = np.fft.rfft(signal[start : start + size], 2 * size)
        out[start : start + 2 * size] += np.fft.irfft(block * spectrum, 2 * size)
    return out[: len(signal)]


def noise(n):
    """The generator's numbers: those of the first 2**k give the next 2**k by one multiplication."""
    factor, offset = 1103515245, 12345
    values = np.array([(factor * 12345 + offset) & 0x7FFFFFFF], dtype=np.int64)
    while len(values) < n:
        values = np.concatenate((values, (factor * values + offset) & 0x7FFFFFFF))
        factor, offset = factor * factor & 0x7FFFFFFF, (factor + 1) * offset & 0x7FFFFFFF
    return values[:n]


def chirp(n, rate):
    t = np.arange(n) / rate
    return np.sin(2 * pi * (50 + 400 * t) * t) + 0.3 * (noise(n) / 0x40000000 - 1)


def rms(xs):
    return (xs @ xs / len(xs)) ** 0.5


rate = 44100
samples = chirp(rate * 60, rate)
pulse = [1.0] + [0.0] * (PULSE - 1)
for f, q in ((800, 0.54), (800, 0.707), (900, 1.31), (1000, 0.9)):
    pulse = filtered(pulse, *lowpass(f, q, rate))
result = convolved(samples, np.array(pulse))
print(f"rms before {rms(samples):.6f} after {rms(result):.6f}")
print(f"peak {result.max():.6f} {result.min():.6f}")

"""Discrete Fourier transform by its definition, with cmath."""

import cmath
import math


def dft(samples):
    n = len(samples)
    spectrum = []
    for k in range(n):
        total = 0j
        for t, x in enumerate(samples):
            total += x * cmath.exp(-2j * cmath.pi * k * t / n)
        spectrum.append(total)
    return spectrum


n = 2100
signal = [
    math.sin(2 * math.pi * 50 * t / n) + 0.5 * math.cos(2 * math.pi * 120 * t / n) for t in range(n)
]
spectrum = dft(signal)
power = [abs(c) ** 2 for c in spectrum]
peaks = sorted(range(n // 2), key=lambda k: -power[k])[:3]
print("peaks at", sorted(peaks[:2]))
print("energy %.8f" % (sum(power) / n), "%.8f" % sum(s * s for s in signal))

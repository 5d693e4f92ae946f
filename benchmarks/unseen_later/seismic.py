"""Discrete Fourier spectrum and a FIR band filter, no libraries but math."""

import math

RATE = 200


def record(n):
    for i in range(n):
        t = i / RATE
        yield (
            math.sin(2 * math.pi * 3 * t)
            + 0.5 * math.sin(2 * math.pi * 17 * t)
            + 0.2 * math.cos(2 * math.pi * 41 * t + 0.3)
        )


def dft(samples):
    n = len(samples)
    spectrum = []
    for k in range(n // 2):
        re = 0.0
        im = 0.0
        for i, s in enumerate(samples):
            angle = 2 * math.pi * k * i / n
            re += s * math.cos(angle)
            im -= s * math.sin(angle)
        spectrum.append(math.sqrt(re * re + im * im) / n)
    return spectrum


def fir(samples, taps):
    out = []
    m = len(taps)
    for i in range(len(samples) - m + 1):
        acc = 0.0
        for j in range(m):
            acc += taps[j] * samples[i + m - 1 - j]
        out.append(acc)
    return out


def lowpass(cutoff, m):
    fc = cutoff / RATE
    taps = []
    for i in range(m):
        k = i - (m - 1) / 2
        if k == 0:
            h = 2 * fc
        else:
            h = math.sin(2 * math.pi * fc * k) / (math.pi * k)
        w = 0.54 - 0.46 * math.cos(2 * math.pi * i / (m - 1))
        taps.append(h * w)
    return taps


samples = list(record(200000))
smooth = fir(samples, lowpass(10, 101))
spec = dft(smooth[:4000])
peak = max(range(len(spec)), key=lambda k: spec[k])
print("peak %.2f Hz, amplitude %.6f" % (peak * RATE / 4000, spec[peak]))
print("power %.6f" % sum(s * s for s in spec))

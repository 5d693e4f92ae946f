"""Tone by vectors; the filters in plain Python, attributes taken out of the loop.

The forward part of a filter is a vector expression; only the recurrence stays a loop.
"""

import math
import sys

import numpy as np


class Biquad:
    def __init__(self, rate, centre, gain_db, q):
        amplitude = 10 ** (gain_db / 40)
        w0 = 2 * math.pi * centre / rate
        alpha = math.sin(w0) / (2 * q)
        a0 = 1 + alpha / amplitude
        self.b0 = (1 + alpha * amplitude) / a0
        self.b1 = -2 * math.cos(w0) / a0
        self.b2 = (1 - alpha * amplitude) / a0
        self.a1 = -2 * math.cos(w0) / a0
        self.a2 = (1 - alpha / amplitude) / a0

    def process(self, samples):
        fed = self.b0 * samples
        fed[1:] += self.b1 * samples[:-1]
        fed[2:] += self.b2 * samples[:-2]
        y1 = y2 = 0.0
        a1, a2 = self.a1, self.a2
        out = fed.tolist()
        for t, f in enumerate(out):
            out[t] = y = f - a1 * y1 - a2 * y2
            y2 = y1
            y1 = y
        return np.array(out)


def synth(seconds, rate):
    t = np.arange(int(seconds * rate))
    tones = enumerate((110.0, 220.0, 443.0, 1760.0))
    return sum(np.sin(2 * math.pi * f * t / rate) / (k + 1) for k, f in tones)


def rms(samples):
    return math.sqrt((samples * samples).sum() / len(samples))


RATE = 44100
seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 46
sound = synth(seconds, RATE)
print("in  rms %.9f peak %.9f" % (rms(sound), np.abs(sound).max()))
bands = [
    (100, 4.0),
    (200, -3.0),
    (400, 2.5),
    (800, -6.0),
    (1600, 1.0),
    (3200, 5.0),
    (6400, -2.0),
    (12800, 3.0),
]
for centre, gain in bands:
    sound = Biquad(RATE, centre, gain, 1.4).process(sound)
print("out rms %.9f peak %.9f" % (rms(sound), np.abs(sound).max()))

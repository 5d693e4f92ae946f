"""Cascade of biquad filters applied to a noisy chirp."""

from math import cos, pi, sin


class Biquad:
    def __init__(self, b0, b1, b2, a1, a2):
        self.b0, self.b1, self.b2 = b0, b1, b2
        self.a1, self.a2 = a1, a2
        self.x1 = self.x2 = 0.0
        self.y1 = self.y2 = 0.0

    @classmethod
    def lowpass(cls, freq, q, rate):
        w = 2 * pi * freq / rate
        alpha = sin(w) / (2 * q)
        a0 = 1 + alpha
        b1 = 1 - cos(w)
        return cls(b1 / 2 / a0, b1 / a0, b1 / 2 / a0, -2 * cos(w) / a0, (1 - alpha) / a0)

    def process(self, x):
        y = (
            self.b0 * x
            + self.b1 * self.x1
            + self.b2 * self.x2
            - self.a1 * self.y1
            - self.a2 * self.y2
        )
        self.x2, self.x1 = self.x1, x
        self.y2, self.y1 = self.y1, y
        return y


class Chain:
    def __init__(self, filters):
        self.filters = filters

    def run(self, samples):
        out = []
        for s in samples:
            for f in self.filters:
                s = f.process(s)
            out.append(s)
        return out


def chirp(n, rate):
    signal = []
    noise = 12345
    for i in range(n):
        t = i / rate
        noise = (1103515245 * noise + 12345) & 0x7FFFFFFF
        signal.append(sin(2 * pi * (50 + 400 * t) * t) + 0.3 * (noise / 0x40000000 - 1))
    return signal


def rms(xs):
    return (sum(x * x for x in xs) / len(xs)) ** 0.5


rate = 44100
samples = chirp(rate * 60, rate)
chain = Chain(
    [Biquad.lowpass(f, q, rate) for f, q in ((800, 0.54), (800, 0.707), (900, 1.31), (1000, 0.9))]
)
filtered = chain.run(samples)
print(f"rms before {rms(samples):.6f} after {rms(filtered):.6f}")
print(f"peak {max(filtered):.6f} {min(filtered):.6f}")

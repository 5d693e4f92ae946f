import math
import sys


class Biquad:
    """Peaking filter (audio EQ cookbook)."""

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
        x1 = x2 = y1 = y2 = 0.0
        out = []
        for x in samples:
            y = self.b0 * x + self.b1 * x1 + self.b2 * x2 - self.a1 * y1 - self.a2 * y2
            out.append(y)
            x2, x1 = x1, x
            y2, y1 = y1, y
        return out


def synth(seconds, rate):
    samples = []
    for t in range(int(seconds * rate)):
        s = 0.0
        for k, f in enumerate((110.0, 220.0, 443.0, 1760.0)):
            s += math.sin(2 * math.pi * f * t / rate) / (k + 1)
        samples.append(s)
    return samples


def rms(samples):
    return math.sqrt(sum(s * s for s in samples) / len(samples))


RATE = 44100
seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 46
sound = synth(seconds, RATE)
print("in  rms %.9f peak %.9f" % (rms(sound), max(abs(s) for s in sound)))
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
print("out rms %.9f peak %.9f" % (rms(sound), max(abs(s) for s in sound)))

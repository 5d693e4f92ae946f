"""Local alignment of two sequences after Smith and Waterman (1981)."""

import random


class Aligner:
    def __init__(self, match=3, mismatch=-3, gap=2):
        self.match = match
        self.mismatch = mismatch
        self.gap = gap

    def score(self, a, b):
        return self.match if a == b else self.mismatch

    def fill(self, s, t):
        self.h = [[0 for _ in range(len(t) + 1)] for _ in range(len(s) + 1)]
        self.best = (0, 0, 0)
        for i in range(1, len(s) + 1):
            for j in range(1, len(t) + 1):
                value = max(
                    0,
                    self.h[i - 1][j - 1] + self.score(s[i - 1], t[j - 1]),
                    self.h[i - 1][j] - self.gap,
                    self.h[i][j - 1] - self.gap,
                )
                self.h[i][j] = value
                if value > self.best[0]:
                    self.best = (value, i, j)

    def traceback(self, s, t):
        _, i, j = self.best
        left, right = [], []
        while i and j and self.h[i][j] > 0:
            here = self.h[i][j]
            if here == self.h[i - 1][j - 1] + self.score(s[i - 1], t[j - 1]):
                i, j = i - 1, j - 1
                left.append(s[i])
                right.append(t[j])
            elif here == self.h[i - 1][j] - self.gap:
                i -= 1
                left.append(s[i])
                right.append("-")
            else:
                j -= 1
                left.append("-")
                right.append(t[j])
        return "".join(reversed(left)), "".join(reversed(right))


def main():
    rng = random.Random(1981)
    s = "".join(rng.choice("ACGT") for _ in range(1600))
    t = "".join(rng.choice("ACGT") for _ in range(900)) + s[200:1200].replace("GA", "G")
    aligner = Aligner()
    aligner.fill(s, t)
    a, b = aligner.traceback(s, t)
    print("score", aligner.best)
    print(a[:60])
    print(b[:60])


main()

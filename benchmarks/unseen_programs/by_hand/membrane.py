"""The same with slices."""

import numpy as np
import sys


class Membrane:
    def __init__(self, n, speed=0.5, damping=0.002):
        self.n = n
        self.c2 = speed**2
        self.damping = damping
        self.now = np.zeros((n, n))
        self.before = np.zeros((n, n))

    def strike(self, row, col, radius):
        i, j = np.ogrid[: self.n, : self.n]
        r2 = (i - row) ** 2 + (j - col) ** 2
        hit = r2 < radius**2
        self.now[hit] += 1.0 - r2[hit] / radius**2
        self.before[:] = self.now

    def advance(self):
        now = self.now
        inner = now[1:-1, 1:-1]
        laplace = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4.0 * inner
        after = np.zeros((self.n, self.n))
        after[1:-1, 1:-1] = (
            (2.0 - self.damping) * inner
            - (1.0 - self.damping) * self.before[1:-1, 1:-1]
            + self.c2 * laplace
        )
        self.before, self.now = now, after


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 176
    skin = Membrane(n)
    skin.strike(n // 3, n // 4, max(3, n // 12))
    recorded = []
    for t in range(120):
        skin.advance()
        recorded.append(float(skin.now[n // 2, n // 2]))
    print("loudest", max(recorded, key=abs))
    print("energy %.8f" % float((skin.now**2).sum()))
    print("samples", [round(v, 6) for v in recorded[::15]])


if __name__ == "__main__":
    main()

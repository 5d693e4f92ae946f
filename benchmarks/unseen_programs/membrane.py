"""A struck membrane: damped wave equation on a square with fixed rim."""

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
        for i in range(self.n):
            for j in range(self.n):
                r2 = (i - row) ** 2 + (j - col) ** 2
                if r2 < radius**2:
                    self.now[i, j] += 1.0 - r2 / radius**2
        self.before[:] = self.now

    def advance(self):
        after = np.zeros((self.n, self.n))
        for i in range(1, self.n - 1):
            for j in range(1, self.n - 1):
                laplace = (
                    self.now[i + 1, j]
                    + self.now[i - 1, j]
                    + self.now[i, j + 1]
                    + self.now[i, j - 1]
                    - 4.0 * self.now[i, j]
                )
                after[i, j] = (
                    (2.0 - self.damping) * self.now[i, j]
                    - (1.0 - self.damping) * self.before[i, j]
                    + self.c2 * laplace
                )
        self.before, self.now = self.now, after


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

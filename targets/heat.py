"""Heat spreading through a square plate, explicit finite differences in a class.

The standard five-point scheme (forward in time, central in space) for the diffusion
equation, with the temperature held fixed along the rim: a hot spot on the left wall, a warm
lid, cold elsewhere. The class keeps the field as an attribute, as simulation codes do.

Usage: python heat.py [cells] [steps]
"""

import argparse

import numpy as np


class HeatPlate:
    """Temperature on an n by n grid of spacing h."""

    def __init__(self, n, alpha=1.0e-4, h=0.01):
        self.n = n
        self.alpha = alpha
        self.h = h
        self.dt = 0.2 * h * h / alpha
        self.u = np.zeros((n, n))
        self.u[0, :] = 40.0
        self.u[n // 3 : 2 * n // 3, 0] = 100.0
        self.time = 0.0

    def step(self):
        r = self.alpha * self.dt / (self.h * self.h)
        new = self.u.copy()
        for i in range(1, self.n - 1):
            for j in range(1, self.n - 1):
                laplacian = (
                    self.u[i - 1, j]
                    + self.u[i + 1, j]
                    + self.u[i, j - 1]
                    + self.u[i, j + 1]
                    - 4.0 * self.u[i, j]
                )
                new[i, j] = self.u[i, j] + r * laplacian
        self.u = new
        self.time += self.dt

    def mean_temperature(self):
        return float(self.u.mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", nargs="?", type=int, default=150)
    parser.add_argument("steps", nargs="?", type=int, default=240)
    args = parser.parse_args()

    plate = HeatPlate(args.cells)
    report_every = max(1, args.steps // 5)
    for k in range(1, args.steps + 1):
        plate.step()
        if k % report_every == 0:
            print(f"t = {plate.time:8.2f} s   mean {plate.mean_temperature():.10f}")
    middle = plate.u[plate.n // 2]
    print("centre line:", " ".join(f"{t:.6f}" for t in middle[:: max(1, plate.n // 8)]))


if __name__ == "__main__":
    main()

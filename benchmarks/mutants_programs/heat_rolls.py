"""Gray-Scott-like step with np.roll, attributes updated in place."""

import numpy as np


class Pattern:
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.u = 0.9 + 0.1 * rng.random((n, n))
        self.v = 0.2 * rng.random((n, n))

    def laplace(self, z):
        return (
            np.roll(z, 1, axis=0)
            + np.roll(z, -1, axis=0)
            + np.roll(z, 1, axis=1)
            + np.roll(z, -1, axis=1)
            - 4 * z
        )

    def run(self, steps):
        for _ in range(steps):
            rate = self.u * self.v * self.v
            self.u += 0.16 * self.laplace(self.u) - rate + 0.035 * (1 - self.u)
            self.v += 0.08 * self.laplace(self.v) + rate - 0.1 * self.v


pattern = Pattern(48, 43)
for k in range(4):
    pattern.run(20)
print(pattern.u.mean(), pattern.v.mean(), pattern.v.max())

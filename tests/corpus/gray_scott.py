"""Gray-Scott reaction-diffusion with np.roll."""

import numpy as np


class GrayScott:
    def __init__(self, n, feed=0.035, kill=0.065, du=0.16, dv=0.08):
        self.feed, self.kill, self.du, self.dv = feed, kill, du, dv
        self.U = np.ones((n, n))
        self.V = np.zeros((n, n))
        c = n // 2
        self.U[c - 8 : c + 8, c - 8 : c + 8] = 0.5
        self.V[c - 8 : c + 8, c - 8 : c + 8] = 0.25
        self.U += 0.02 * np.random.default_rng(0).random((n, n))

    def laplacian(self, Z):
        return (
            np.roll(Z, 1, axis=0)
            + np.roll(Z, -1, axis=0)
            + np.roll(Z, 1, axis=1)
            + np.roll(Z, -1, axis=1)
            - 4 * Z
        )

    def update(self):
        reaction = self.U * self.V * self.V
        self.U += self.du * self.laplacian(self.U) - reaction + self.feed * (1 - self.U)
        self.V += self.dv * self.laplacian(self.V) + reaction - (self.feed + self.kill) * self.V


model = GrayScott(192)
for step in range(1500):
    model.update()
print("%.12f %.12f" % (model.U.mean(), model.V.mean()))
print("%.12f" % model.V.max(), int((model.V > 0.1).sum()))

"""A vibrating string whose three time levels are attributes that are swapped."""

import numpy as np


class String:
    def __init__(self, n, c):
        self.n = n
        self.c = c
        x = np.linspace(0.0, 1.0, n)
        self.now = np.sin(np.pi * x) + 0.3 * np.sin(3 * np.pi * x)
        self.before = self.now.copy()
        self.after = np.zeros(n)

    def step(self):
        for i in range(1, self.n - 1):
            self.after[i] = (
                2.0 * self.now[i]
                - self.before[i]
                + self.c * (self.now[i + 1] - 2.0 * self.now[i] + self.now[i - 1])
            )
        self.before, self.now, self.after = self.now, self.after, self.before


string = String(901, 0.8)
for t in range(15):
    string.step()
print(string.now[::100], string.before[::150])

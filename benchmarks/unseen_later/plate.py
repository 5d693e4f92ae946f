"""Heat equation on a plate, object oriented."""

import numpy as np


class Plate:
    """A square plate with fixed border temperatures."""

    def __init__(self, size, alpha=0.1):
        self.size = size
        self.alpha = alpha
        self.grid = np.zeros((size, size))
        self.time = 0
        self.grid[0, :] = 100.0
        self.grid[-1, :] = 20.0
        self.grid[:, 0] = 50.0

    def laplacian(self, i, j):
        return (
            self.grid[i + 1, j]
            + self.grid[i - 1, j]
            + self.grid[i, j + 1]
            + self.grid[i, j - 1]
            - 4 * self.grid[i, j]
        )

    def step(self):
        new = self.grid.copy()
        for i in range(1, self.size - 1):
            for j in range(1, self.size - 1):
                new[i, j] = self.grid[i, j] + self.alpha * self.laplacian(i, j)
        self.grid = new
        self.time += 1

    def average(self):
        total = 0.0
        for row in self.grid:
            for value in row:
                total += value
        return total / self.size**2


def main():
    plate = Plate(100)
    for t in range(400):
        plate.step()
        if t % 50 == 0:
            print(f"t={plate.time:4d}  mean={plate.average():.6f}")
    print(f"centre {plate.grid[50, 50]:.9f}")


if __name__ == "__main__":
    main()

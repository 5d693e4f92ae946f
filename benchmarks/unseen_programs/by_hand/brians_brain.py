"""The torus with a halo, neighbours by two passes over small integers."""

import random
import sys

import numpy as np

OFF, ON, DYING = 0, 1, 2


class Automaton:
    def __init__(self, size, density=0.2, seed=6):
        self.size = size
        rng = random.Random(seed)
        self.cells = np.array(
            [[ON if rng.random() < density else OFF for _ in range(size)] for _ in range(size)],
            dtype=np.uint8,
        )

    def step(self):
        halo = np.pad(self.cells == ON, 1, mode="wrap").view(np.uint8)
        rows = halo[:-2] + halo[1:-1] + halo[2:]
        around = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
        on = self.cells == ON
        born = (self.cells == OFF) & (around == 2)
        self.cells = born + 2 * on.view(np.uint8)

    def census(self):
        return int((self.cells == ON).sum()), int((self.cells == DYING).sum())


if __name__ == "__main__":
    world = Automaton(int(sys.argv[1]) if len(sys.argv) > 1 else 190)
    for generation in range(161):
        if generation % 40 == 0:
            print("generation", generation, "on %d, dying %d" % world.census())
        world.step()

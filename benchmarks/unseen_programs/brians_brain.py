"""Brian's Brain on a torus: a cell is off, on, or dying."""

import random
import sys

OFF, ON, DYING = 0, 1, 2


class Automaton:
    def __init__(self, size, density=0.2, seed=6):
        self.size = size
        rng = random.Random(seed)
        self.cells = [
            [ON if rng.random() < density else OFF for _ in range(size)] for _ in range(size)
        ]

    def neighbours(self, row, col):
        count = 0
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                if dr == 0 and dc == 0:
                    continue
                if self.cells[(row + dr) % self.size][(col + dc) % self.size] == ON:
                    count += 1
        return count

    def step(self):
        fresh = [[OFF] * self.size for _ in range(self.size)]
        for row in range(self.size):
            for col in range(self.size):
                cell = self.cells[row][col]
                if cell == ON:
                    fresh[row][col] = DYING
                elif cell == OFF and self.neighbours(row, col) == 2:
                    fresh[row][col] = ON
        self.cells = fresh

    def census(self):
        on = sum(row.count(ON) for row in self.cells)
        dying = sum(row.count(DYING) for row in self.cells)
        return on, dying


if __name__ == "__main__":
    world = Automaton(int(sys.argv[1]) if len(sys.argv) > 1 else 190)
    for generation in range(161):
        if generation % 40 == 0:
            print("generation", generation, "on %d, dying %d" % world.census())
        world.step()

"""Langton's ant with several colours (rule string), on a torus of lists."""


class Ant:
    TURNS = {"L": -1, "R": 1}
    STEPS = [(-1, 0), (0, 1), (1, 0), (0, -1)]

    def __init__(self, size, rule):
        self.size = size
        self.rule = rule
        self.grid = [[0] * size for _ in range(size)]
        self.row = self.col = size // 2
        self.heading = 0

    def move(self):
        colour = self.grid[self.row][self.col]
        self.heading = (self.heading + self.TURNS[self.rule[colour]]) % 4
        self.grid[self.row][self.col] = (colour + 1) % len(self.rule)
        dr, dc = self.STEPS[self.heading]
        self.row = (self.row + dr) % self.size
        self.col = (self.col + dc) % self.size

    def run(self, moves):
        for _ in range(moves):
            self.move()


for rule in ("RL", "LLRR", "RLLR"):
    ant = Ant(128, rule)
    ant.run(900_000)
    print(rule, ant.row, ant.col, [sum(r.count(c) for r in ant.grid) for c in range(len(rule))])

"""Life on an endless board: a set of live cells."""

from collections import Counter


def step(alive):
    neighbours = Counter(
        (x + dx, y + dy) for x, y in alive for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy
    )
    return {cell for cell, n in neighbours.items() if n == 3 or (n == 2 and cell in alive)}


ACORN = {(0, 0), (1, 0), (1, 2), (3, 1), (4, 0), (5, 0), (6, 0)}
alive = ACORN
for generation in range(1, 2001):
    alive = step(alive)
    if generation % 300 == 0:
        print(generation, len(alive))
xs = [x for x, _ in alive]
print(min(xs), max(xs), sum(x * 3 + y for x, y in alive))

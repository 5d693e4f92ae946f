"""A generation is one look-up in the rule's eight bits, for all cells at once."""

import numpy as np


def run(number, width, generations):
    rule = np.array([(number >> k) & 1 for k in range(8)], dtype=np.uint8)
    padded = np.zeros(width + 2, dtype=np.uint8)
    cells = padded[1:-1]
    cells[width // 2] = 1
    codes = np.empty(width, dtype=np.uint8)
    ones = 0
    for _ in range(generations):
        ones += np.count_nonzero(cells)
        padded[0], padded[-1] = cells[-1], cells[0]
        np.left_shift(padded[:-2], 1, out=codes)
        codes |= cells
        codes <<= 1
        codes |= padded[2:]
        rule.take(codes, out=cells, mode="clip")
    return cells, ones


for number in (30, 54, 90, 110):
    cells, ones = run(number, 2001, 3000)
    density = ones / (2001 * 3000)
    print("rule", number, "density", round(density, 6), "last", "".join(map(str, cells[990:1010])))

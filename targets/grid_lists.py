"""Wireworld on lists of lists, no array library.

Brian Silverman's cellular automaton of 1987: a cell is empty, wire, an electron's head or its
tail. Heads become tails, tails become wire, and wire becomes a head if one or two of its eight
neighbours are heads. Here: a spiral of wire with a few diodes fed by clocks.

Usage: python grid_lists.py [size] [ticks]
"""

import sys

EMPTY, HEAD, TAIL, WIRE = 0, 1, 2, 3


def build(size):
    """Square rings of wire, one inside the other, joined, each with an electron or two."""
    world = [[EMPTY] * size for _ in range(size)]
    for ring in range(2, size // 2 - 1, 3):
        lo, hi = ring, size - 1 - ring
        for k in range(lo, hi + 1):
            world[lo][k] = WIRE
            world[hi][k] = WIRE
            world[k][lo] = WIRE
            world[k][hi] = WIRE
        middle = (lo + hi) // 2
        world[lo][middle] = HEAD
        world[lo][middle - 1] = TAIL
        if ring % 2:
            world[hi][middle] = HEAD
            world[hi][middle + 1] = TAIL
    for c in range(3, size - 3, 17):
        for r in range(2, size - 2):
            if world[r][c] == EMPTY:
                world[r][c] = WIRE
    return world


def heads_around(world, r, c):
    rows = len(world)
    cols = len(world[0])
    count = 0
    for rr in range(max(0, r - 1), min(rows, r + 2)):
        for cc in range(max(0, c - 1), min(cols, c + 2)):
            if (rr != r or cc != c) and world[rr][cc] == HEAD:
                count += 1
    return count


def tick(world):
    new = []
    for r in range(len(world)):
        row = []
        for c in range(len(world[0])):
            cell = world[r][c]
            if cell == HEAD:
                row.append(TAIL)
            elif cell == TAIL:
                row.append(WIRE)
            elif cell == WIRE:
                heads = heads_around(world, r, c)
                row.append(HEAD if heads == 1 or heads == 2 else WIRE)
            else:
                row.append(EMPTY)
        new.append(row)
    return new


def census(world):
    counts = [0, 0, 0, 0]
    for row in world:
        for cell in row:
            counts[cell] += 1
    return counts


def main(argv):
    size = int(argv[1]) if len(argv) > 1 else 90
    ticks = int(argv[2]) if len(argv) > 2 else 1200
    world = build(size)
    electrons = []
    for _ in range(ticks):
        world = tick(world)
        electrons.append(census(world)[HEAD])
    print("empty, heads, tails, wire:", census(world))
    print("electrons: min", min(electrons), "max", max(electrons), "sum", sum(electrons))
    print("".join(" @~."[cell] for cell in world[len(world) // 3]).rstrip())


if __name__ == "__main__":
    main(sys.argv)

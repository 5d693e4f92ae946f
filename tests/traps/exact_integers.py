"""Integers that no double holds: Python compares and divides them exactly, arrays do not."""

import sys


def above(counts, limit):
    found = 0
    for count in counts:
        if count > limit:
            found += 1
    return found


def shares(parts, wholes):
    result = [0.0] * len(parts)
    for i in range(len(parts)):
        result[i] = parts[i] / wholes[i]
    return result


def stamps(start, n):
    ticks = [0] * n
    for i in range(start, start + n):
        ticks[i - start] = i * 1_000_000
    return ticks


edge = 2**53
counts = [edge + (i % 3) - 1 for i in range(60_000)]
for below in range(4):
    print(above(counts, float(edge)), above(counts, float(edge) - below))
parts = [edge + 2 * i + 1 for i in range(60_000)]
wholes = [3 + i % 7 for i in range(60_000)]
for _ in range(8):
    quotients = shares(parts, wholes)
print(repr(sum(quotients)), [repr(x) for x in quotients[:3]])
for start in (0, 2**40, 2**62) * 10:
    ticks = stamps(start, 60_000)
    print(ticks[0], ticks[-1], type(ticks[0]).__name__, ticks[-1] > sys.maxsize)

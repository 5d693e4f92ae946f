"""Sums on an object and in a global, as far as a division by zero let them come."""

from contextlib import suppress

hits = 0


class Meter:
    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, values):
        for v in values:
            self.count += 1
            self.total += 1.0 / v


def count(values, limit):
    global hits
    for v in values:
        if limit // v > 3:
            hits += 1


def quiet(values):
    s = 0.0
    with suppress(ZeroDivisionError):
        for v in values:
            s += 1 / v
    return s


values = [0.5 + (k % 97) for k in range(80_000)]
meter = Meter()
for _ in range(12):
    meter.add(values)
print(repr(meter.total), meter.count)
broken = [*values[:1000], 0.0, *values[:10]]
try:
    meter.add(broken)
except ZeroDivisionError as error:
    print(error, error.__context__, repr(meter.total), meter.count)
for _ in range(12):
    count(values, 60.0)
try:
    count(broken, 60.0)
except ZeroDivisionError as error:
    print(error, hits)
for _ in range(12):
    total = quiet(values)
print(repr(total), repr(quiet(broken)))

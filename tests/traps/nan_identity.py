"""NaN is in a list, or a key of a dict, only if it is the very object; so are numbers under ``is``."""

from collections import Counter

NAN = float("nan")


def keep(readings, low):
    kept = []
    for reading in readings:
        if reading > low or reading != reading:
            kept.append(reading)
    return kept


def copied(values):
    out = [0.0] * len(values)
    for i in range(len(values)):
        out[i] = values[i]
    return out


def filled(values, missing):
    out = []
    for i in range(len(values)):
        out.append(missing if values[i] != values[i] else values[i] * 2)
    return out


def largest(values):
    top = values[0]
    for value in values:
        if value > top:
            top = value
    return top


data = [NAN if k % 9 == 4 else (k % 23) * 0.5 - 3 for k in range(40_000)]
for low in (0.0, -9.0, NAN) * 8:
    kept = keep(data, low)
    print(len(kept), NAN in kept, kept.count(NAN), len(Counter(kept)))
for _ in range(8):
    same = copied(data)
print(same == data, NAN in same, same.index(NAN))
print(filled(data, NAN).count(NAN), len({*filled(data, -1.0)}))
steps = [k * 0.5 for k in range(60_000)]
for start in range(8):
    print(filled(data[start:], NAN).count(NAN), largest(steps[start:]) is steps[-1])
print(largest(steps) is steps[-1], largest(steps) == steps[-1])

"""The results are lists of Python numbers: True is no 1.0, and json says so."""

import json


def classify(values):
    flags, levels, scaled = [], [], []
    for v in values:
        flags.append(v > 0.5)
        levels.append(int(v * 10))
        scaled.append(v * 2 if v > 0.25 else 0)
    return flags, levels, scaled


values = [(i * 7919 % 10007) / 10007 for i in range(60_000)]
for _ in range(20):
    flags, levels, scaled = classify(values)
print(json.dumps([flags[:5], levels[:5], scaled[:5]]))
print(type(flags[0]), type(levels[0]), sorted({type(s).__name__ for s in scaled}))
print(sum(flags), sum(levels), repr(sum(scaled)))
flags.append(None)
print(len(flags), isinstance(levels, list))

"""Columns of a table as lists, each scaled into [0, 1]."""

import random


def scaled(column):
    low = min(column)
    high = max(column)
    result = [0.0] * len(column)
    for k in range(len(column)):
        result[k] = (column[k] - low) / (high - low)
    return result


random.seed(11)
table = [[random.gauss(0.0, 1.0 + c) for r in range(4000)] for c in range(8)]
for c in range(len(table)):
    table[c] = scaled(table[c])
print([sum(column) for column in table])
print(table[3][:5])

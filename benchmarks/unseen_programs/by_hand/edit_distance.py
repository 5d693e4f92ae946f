"""Rows at once: the chain of insertions is a running minimum of the row less its index."""

import random
import sys

import numpy as np


def mutate(sequence, rate):
    out = []
    for base in sequence:
        roll = random.random()
        if roll < rate:
            continue
        if roll < 2 * rate:
            out.append(random.choice("ACGT"))
        out.append(base)
    return "".join(out)


def levenshtein(a, b):
    codes = np.frombuffer(b.encode(), np.uint8)
    differs = {letter: codes != ord(letter) for letter in "ACGT"}
    index = np.arange(len(b) + 1, dtype=np.int32)
    row = index.copy()
    best = np.empty_like(row)
    for i, letter in enumerate(a, start=1):
        best[0] = i
        np.minimum(row[1:] + 1, row[:-1] + differs[letter], out=best[1:])
        best -= index
        np.minimum.accumulate(best, out=row)
        row += index
    return int(row[-1])


def main():
    length = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    random.seed(3)
    parent = "".join(random.choice("ACGT") for _ in range(length))
    family = [mutate(parent, 0.08) for _ in range(7)]
    total = 0
    pairs = 0
    for i in range(len(family)):
        for j in range(i + 1, len(family)):
            d = levenshtein(family[i], family[j])
            print(f"{i}-{j}: {d}")
            total += d
            pairs += 1
    print("mean distance", total / pairs)


if __name__ == "__main__":
    main()

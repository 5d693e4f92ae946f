"""Average edit distance between mutated copies of a sequence."""

import random
import sys


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
    previous = list(range(len(b) + 1))
    for i, ca in enumerate(a, start=1):
        current = [i]
        for j, cb in enumerate(b, start=1):
            insert = current[j - 1] + 1
            delete = previous[j] + 1
            replace = previous[j - 1] + (ca != cb)
            current.append(min(insert, delete, replace))
        previous = current
    return previous[-1]


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

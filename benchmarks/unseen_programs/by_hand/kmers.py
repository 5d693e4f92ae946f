"""Letters as numbers: k-mers are numbers in base four, counted by bincount."""

import random
import sys

import numpy as np

LETTERS = "ACGT"


def genome(length):
    """What ``choices`` draws, by the same twister in NumPy."""
    state = random.Random(31).getstate()[1]
    twister = np.random.RandomState()
    twister.set_state(("MT19937", np.array(state[:-1], dtype=np.uint32), state[-1]))
    return np.searchsorted(
        (29, 50, 70), twister.random_sample(length) * 100.0, side="right"
    ).astype(np.int8)


def count_kmers(codes, k):
    numbers = np.zeros(len(codes) - k + 1, dtype=np.int64)
    for place in range(k):
        numbers *= 4
        numbers += codes[place : place + len(numbers)]
    return np.bincount(numbers, minlength=4**k)


def spelled(number, k):
    return "".join(LETTERS[number >> 2 * place & 3] for place in reversed(range(k)))


def gc_skew(codes):
    skew = np.cumsum((codes == 2).view(np.int8) - (codes == 1).view(np.int8), dtype=np.int64)
    where = int(skew.argmin())
    lowest = int(skew[where])
    return (lowest, where + 1) if lowest < 0 else (0, 0)


def windows(codes, size):
    count = len(codes) // size
    is_c = codes == 1
    is_g = codes == 2
    pairs = is_c.copy()
    pairs[:-1] &= is_g[1:]
    pairs[-1] = False
    c, g, cpg = (
        part[: count * size].reshape(count, size).sum(axis=1) for part in (is_c, is_g, pairs)
    )
    both = c * g
    return np.where(both > 0, cpg * size / np.maximum(both, 1), 0.0).tolist()


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 6_500_000
    codes = genome(n)
    counts = count_kmers(codes, 6)
    order = np.lexsort((np.arange(counts.size), -counts))[:5].tolist()
    print("distinct 6-mers", np.count_nonzero(counts))
    for number in order:
        print(spelled(number, 6), counts[number])
    print("minimum of the skew %d at %d" % gc_skew(codes))
    ratios = windows(codes, 1000)
    print(
        "CpG islands", sum(r > 1.3 for r in ratios), "mean ratio %.6f" % (sum(ratios) / len(ratios))
    )

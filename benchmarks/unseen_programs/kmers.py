"""k-mer spectrum, GC skew and CpG ratio of a made-up genome."""

import random
import sys
from collections import defaultdict


def genome(length):
    rng = random.Random(31)
    return "".join(rng.choices("ACGT", weights=(29, 21, 20, 30), k=length))


def count_kmers(sequence, k):
    counts = defaultdict(int)
    for i in range(len(sequence) - k + 1):
        counts[sequence[i : i + k]] += 1
    return counts


def gc_skew(sequence):
    skew = 0
    lowest = 0
    where = 0
    for position, base in enumerate(sequence, 1):
        if base == "G":
            skew += 1
        elif base == "C":
            skew -= 1
        if skew < lowest:
            lowest = skew
            where = position
    return lowest, where


def windows(sequence, size):
    ratios = []
    for start in range(0, len(sequence) - size + 1, size):
        c = g = cpg = 0
        for i in range(start, start + size):
            if sequence[i] == "C":
                c += 1
                if i + 1 < len(sequence) and sequence[i + 1] == "G":
                    cpg += 1
            elif sequence[i] == "G":
                g += 1
        ratios.append(cpg * size / (c * g) if c and g else 0.0)
    return ratios


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 6_500_000
    dna = genome(n)
    counts = count_kmers(dna, 6)
    common = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]
    print("distinct 6-mers", len(counts))
    for kmer, times in common:
        print(kmer, times)
    print("minimum of the skew %d at %d" % gc_skew(dna))
    ratios = windows(dna, 1000)
    print(
        "CpG islands", sum(r > 1.3 for r in ratios), "mean ratio %.6f" % (sum(ratios) / len(ratios))
    )

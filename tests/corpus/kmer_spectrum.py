"""How often each k-mer occurs in a made-up genome, and how its bases are distributed."""

import random


class Genome:
    def __init__(self, sequence):
        self.sequence = sequence

    def kmers(self, k):
        counts = {}
        for i in range(len(self.sequence) - k + 1):
            kmer = self.sequence[i : i + k]
            if kmer in counts:
                counts[kmer] += 1
            else:
                counts[kmer] = 1
        return counts

    def bases(self):
        totals = {"A": 0, "C": 0, "G": 0, "T": 0}
        strong = 0
        for base in self.sequence:
            totals[base] += 1
            if base == "C" or base == "G":
                strong += 1
        return totals, strong


def main():
    rng = random.Random(1953)
    genome = Genome("".join(rng.choices("ACGT", weights=(30, 20, 21, 29), k=2_500_000)))
    for k in (3, 6):
        counts = genome.kmers(k)
        top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]
        print(k, len(counts), next(iter(counts)), top)
    totals, strong = genome.bases()
    print(totals, f"{100 * strong / len(genome.sequence):.3f} % GC")


if __name__ == "__main__":
    main()

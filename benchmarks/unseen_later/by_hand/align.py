"""A row at a time: a gap along the row is a running maximum of scores freed of their gaps."""

import numpy as np

MATCH = 1
MISMATCH = -1
GAP = -2


def random_dna(length, seed):
    letters = []
    x = seed
    for _ in range(length):
        x = (x * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        letters.append("ACGT"[x >> 62])
    return "".join(letters)


def scores(seq1, seq2):
    n, m = len(seq1), len(seq2)
    columns = np.frombuffer(seq2.encode(), dtype=np.uint8)
    gaps = GAP * np.arange(m + 1, dtype=np.int32)
    score = np.empty((n + 1, m + 1), dtype=np.int32)
    score[0] = gaps
    score[:, 0] = GAP * np.arange(n + 1)
    steps = {
        letter: np.where(columns == ord(letter), MATCH, MISMATCH).astype(np.int32)
        for letter in set(seq1)
    }
    for i in range(1, n + 1):
        above, row = score[i - 1], score[i]
        np.maximum(above[:-1] + steps[seq1[i - 1]], above[1:] + GAP, out=row[1:])
        row -= gaps
        np.maximum.accumulate(row, out=row)
        row += gaps
    return score


def traceback(score, seq1, seq2):
    top, bottom = [], []
    i, j = len(seq1), len(seq2)
    while i > 0 and j > 0:
        current = score[i, j]
        step = MATCH if seq1[i - 1] == seq2[j - 1] else MISMATCH
        if current == score[i - 1, j - 1] + step:
            i, j = i - 1, j - 1
            top.append(seq1[i])
            bottom.append(seq2[j])
        elif current == score[i - 1, j] + GAP:
            i -= 1
            top.append(seq1[i])
            bottom.append("-")
        else:
            j -= 1
            top.append("-")
            bottom.append(seq2[j])
    top.append(seq1[:i][::-1] + "-" * j)
    bottom.append("-" * i + seq2[:j][::-1])
    return "".join(top)[::-1], "".join(bottom)[::-1]


a = random_dna(3400, 1)
b = a[100:1400] + random_dna(500, 2) + a[1500:]
score = scores(a, b)
x, y = traceback(score, a, b)
same = sum(1 for p, q in zip(x, y, strict=True) if p == q)
print("score", score[-1, -1])
print("length", len(x), "identical", same)
print(x[:60])
print(y[:60])

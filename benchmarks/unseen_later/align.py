"""Needleman-Wunsch global alignment with traceback."""

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


def needleman_wunsch(seq1, seq2):
    n, m = len(seq1), len(seq2)
    score = [[0 for _ in range(m + 1)] for _ in range(n + 1)]
    for i in range(n + 1):
        score[i][0] = GAP * i
    for j in range(m + 1):
        score[0][j] = GAP * j

    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if seq1[i - 1] == seq2[j - 1]:
                diag = score[i - 1][j - 1] + MATCH
            else:
                diag = score[i - 1][j - 1] + MISMATCH
            delete = score[i - 1][j] + GAP
            insert = score[i][j - 1] + GAP
            score[i][j] = max(diag, delete, insert)

    align1 = ""
    align2 = ""
    i, j = n, m
    while i > 0 and j > 0:
        current = score[i][j]
        if seq1[i - 1] == seq2[j - 1]:
            step = MATCH
        else:
            step = MISMATCH
        if current == score[i - 1][j - 1] + step:
            align1 += seq1[i - 1]
            align2 += seq2[j - 1]
            i -= 1
            j -= 1
        elif current == score[i - 1][j] + GAP:
            align1 += seq1[i - 1]
            align2 += "-"
            i -= 1
        else:
            align1 += "-"
            align2 += seq2[j - 1]
            j -= 1
    while i > 0:
        align1 += seq1[i - 1]
        align2 += "-"
        i -= 1
    while j > 0:
        align1 += "-"
        align2 += seq2[j - 1]
        j -= 1
    return score[n][m], align1[::-1], align2[::-1]


a = random_dna(3400, 1)
b = a[100:1400] + random_dna(500, 2) + a[1500:]
s, x, y = needleman_wunsch(a, b)
same = sum(1 for p, q in zip(x, y) if p == q)
print("score", s)
print("length", len(x), "identical", same)
print(x[:60])
print(y[:60])

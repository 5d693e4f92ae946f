"""Levenshtein distance between pairs of words, full table."""

import random
import string


def levenshtein(a, b):
    m, n = len(a), len(b)
    table = [[0] * (n + 1) for _ in range(m + 1)]
    for i in range(m + 1):
        table[i][0] = i
    for j in range(n + 1):
        table[0][j] = j
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i][j] = min(
                table[i - 1][j] + 1,
                table[i][j - 1] + 1,
                table[i - 1][j - 1] + cost,
            )
    return table[m][n]


def mutate(rng, text, times):
    letters = list(text)
    for _ in range(times):
        k = rng.randrange(len(letters))
        letters[k] = rng.choice(string.ascii_lowercase)
    return "".join(letters)


if __name__ == "__main__":
    rng = random.Random(17)
    base = "".join(rng.choice("acgt") for _ in range(1100))
    for times in (0, 5, 80, 400):
        print(times, levenshtein(base, mutate(rng, base, times) + "tail"))

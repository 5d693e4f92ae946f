"""Suggest corrections: optimal string alignment distance against a word list."""

import string


def osa(a, b):
    rows = len(a) + 1
    cols = len(b) + 1
    d = [[0] * cols for _ in range(rows)]
    for i in range(rows):
        d[i][0] = i
    for j in range(cols):
        d[0][j] = j
    for i in range(1, rows):
        for j in range(1, cols):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost)
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1)
    return d[-1][-1]


def words(count):
    out = []
    state = 1
    for _ in range(count):
        word = []
        state = (state * 48271) % 2147483647
        for _ in range(5 + state % 6):
            state = (state * 48271) % 2147483647
            word.append(string.ascii_lowercase[state % 26])
        out.append("".join(word))
    return out


def suggest(word, dictionary):
    best = None
    best_distance = 10**9
    for candidate in dictionary:
        distance = osa(word, candidate)
        if distance < best_distance:
            best = candidate
            best_distance = distance
    return best, best_distance


if __name__ == "__main__":
    dictionary = words(3600)
    queries = [w[1] + w[0] + w[2:-1] + "x" for w in dictionary[100:2300:50]]
    for q in queries[:50]:
        found, dist = suggest(q, dictionary)
        print(q, "->", found, dist)

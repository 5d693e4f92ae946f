"""The table of distances is filled for all candidates at once."""

import string

import numpy as np


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


def letters(dictionary):
    """Letters by position, then word; a word's rest is no letter."""
    width = max(map(len, dictionary))
    padded = "".join(word.ljust(width) for word in dictionary).encode()
    return np.frombuffer(padded, dtype=np.uint8).reshape(-1, width).T.copy()


def distances(word, columns, lengths):
    """Optimal string alignment distance from word to each word of columns."""
    width, count = columns.shape
    older = before = None
    old = np.repeat(np.arange(width + 1, dtype=np.int8)[:, None], count, axis=1)
    for i, letter in enumerate(word.encode(), 1):
        new = np.empty_like(old)
        new[0] = i
        differs = columns != letter
        best = np.minimum(old[1:] + 1, old[:-1] + differs)
        if older is not None:
            swapped = (columns[:-1] == letter) & (columns[1:] == before)
            np.minimum(best[1:], older[:-2] + 1, out=best[1:], where=swapped)
        for j in range(width):
            np.minimum(best[j], new[j] + 1, out=new[j + 1])
        older, old, before = old, new, letter
    return old[lengths, np.arange(count)]


if __name__ == "__main__":
    dictionary = words(3600)
    queries = [w[1] + w[0] + w[2:-1] + "x" for w in dictionary[100:2300:50]]
    columns = letters(dictionary)
    lengths = np.array([len(word) for word in dictionary])
    for q in queries[:50]:
        found = distances(q, columns, lengths)
        best = int(found.argmin())
        print(q, "->", dictionary[best], found[best])

"""How often letters and words occur, counted one after the other."""

import random


def pairs(text):
    counts = {}
    for k in range(len(text) - 1):
        pair = text[k : k + 2]
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def letters(text):
    counts = {}
    for letter in text:
        if letter in counts:
            counts[letter] += 1
        else:
            counts[letter] = 1
    return counts


random.seed(29)
text = "".join(random.choice("etaoin shrdlu") for _ in range(300_000))
print(sorted(pairs(text).items())[:6])
print(list(letters(text).items())[:6])

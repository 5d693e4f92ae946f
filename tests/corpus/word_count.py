"""The most frequent words of a made-up text, without stop words."""

import random

STOP_WORDS = [
    "the", "a", "an", "and", "or", "of", "to", "in", "on", "at", "is", "was", "it", "that",
    "this", "as", "for", "with", "by", "be", "are", "from", "not", "but", "his", "her", "they",
]  # fmt: skip

rng = random.Random(11)
syllables = ["ka", "to", "mi", "ren", "sol", "va", "di", "lu", "pe", "nor"]
vocabulary = STOP_WORDS + [
    "".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(3000)
]
text = []
for _ in range(900_000):
    text.append(vocabulary[int(len(vocabulary) * rng.random() ** 3)])

counts = {}
longest = ""
for word in text:
    if word in STOP_WORDS:
        continue
    if word not in counts:
        counts[word] = 0
    counts[word] += 1
    if len(word) > len(longest):
        longest = word

for word, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:8]:
    print(f"{count:7d} {word}")
print(len(counts), longest)

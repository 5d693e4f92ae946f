"""TF-IDF and the most similar pairs of documents."""

from collections import Counter
from math import log, sqrt


def make_documents(count, length, vocabulary):
    docs = []
    x = 7
    for d in range(count):
        words = []
        for _ in range(length):
            x = (x * 1103515245 + 12345) % 2147483648
            words.append("w%d" % ((x >> 8) % vocabulary * (1 + d % 3) // 2))
        docs.append(" ".join(words))
    return docs


def tokenize(text):
    return [w for w in text.lower().split() if len(w) > 1]


def tf(tokens):
    counts = Counter(tokens)
    n = len(tokens)
    return {w: c / n for w, c in counts.items()}


def idf(corpus):
    result = {}
    n = len(corpus)
    for doc in corpus:
        for w in set(doc):
            result[w] = result.get(w, 0) + 1
    return {w: log(n / c) for w, c in result.items()}


def cosine(a, b):
    dot = 0.0
    for w in a:
        if w in b:
            dot += a[w] * b[w]
    na = sqrt(sum(v * v for v in a.values()))
    nb = sqrt(sum(v * v for v in b.values()))
    return dot / (na * nb) if na and nb else 0.0


docs = make_documents(330, 420, 900)
tokens = [tokenize(d) for d in docs]
weights = idf(tokens)
vectors = []
for t in tokens:
    vectors.append({w: v * weights[w] for w, v in tf(t).items()})
pairs = []
for i in range(len(vectors)):
    for j in range(i + 1, len(vectors)):
        pairs.append((cosine(vectors[i], vectors[j]), i, j))
pairs.sort(reverse=True)
for s, i, j in pairs[:5]:
    print("%.6f %d %d" % (s, i, j))
print("mean %.6f" % (sum(p[0] for p in pairs) / len(pairs)))

"""One row of weights a document: all cosines are one product of matrices."""

from collections import Counter
from math import log

import numpy as np


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


def main():
    counts = [Counter(tokenize(text)) for text in make_documents(330, 420, 900)]
    columns = {w: k for k, w in enumerate(dict.fromkeys(w for c in counts for w in c))}
    weights = np.zeros((len(counts), len(columns)))
    for row, count in zip(weights, counts, strict=True):
        row[[columns[w] for w in count]] = np.array(list(count.values())) / count.total()
    weights *= [log(len(counts) / c) for c in np.count_nonzero(weights, axis=0)]
    norms = np.sqrt((weights * weights).sum(axis=1))
    cosines = (weights @ weights.T) / np.outer(norms, norms)
    i, j = np.triu_indices(len(counts), 1)
    values = cosines[i, j]
    best = np.lexsort((j, i, values))[::-1][:5]
    for k in best:
        print("%.6f %d %d" % (values[k], i[k], j[k]))
    print("mean %.6f" % values.mean())


main()

"""One weighted bincount a round: it adds in the order of the links, as the loop does."""

import random
import sys

import numpy as np


def build_graph(nodes, degree, seed=1):
    random.seed(seed)
    indptr = [0]
    indices = []
    rand, randint = random.random, random.randint
    for _ in range(nodes):
        links = randint(1, 2 * degree)
        indices += [int(nodes * rand() ** 2) for _ in range(links)]
        indptr.append(len(indices))
    return indptr, indices


def pagerank(indptr, indices, damping=0.85, tol=1e-9, max_rounds=100):
    n = len(indptr) - 1
    degrees = np.diff(np.array(indptr))
    targets = np.array(indices)
    rank = np.full(n, 1.0 / n)
    for rounds in range(1, max_rounds + 1):
        shares = np.repeat(damping * rank / degrees, degrees)
        fresh = (1.0 - damping) / n + np.bincount(targets, shares, n)
        change = np.abs(fresh - rank).sum()
        rank = fresh
        if change < tol:
            break
    return rank.tolist(), rounds


if __name__ == "__main__":
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 60000
    indptr, indices = build_graph(nodes, 8)
    rank, rounds = pagerank(indptr, indices)
    best = sorted(range(len(rank)), key=lambda v: -rank[v])[:10]
    print("converged after", rounds, "rounds;", len(indices), "links")
    for v in best:
        print("%6d  %.10f" % (v, rank[v]))

"""PageRank on a random web, adjacency in compressed sparse rows."""

import random
import sys


def build_graph(nodes, degree, seed=1):
    random.seed(seed)
    indptr = [0]
    indices = []
    for node in range(nodes):
        links = random.randint(1, 2 * degree)
        for _ in range(links):
            # prefer small numbers, as popular pages do
            indices.append(int(nodes * random.random() ** 2))
        indptr.append(len(indices))
    return indptr, indices


def pagerank(indptr, indices, damping=0.85, tol=1e-9, max_rounds=100):
    n = len(indptr) - 1
    rank = [1.0 / n] * n
    for rounds in range(1, max_rounds + 1):
        fresh = [(1.0 - damping) / n] * n
        for node in range(n):
            start, end = indptr[node], indptr[node + 1]
            share = damping * rank[node] / (end - start)
            for k in range(start, end):
                fresh[indices[k]] += share
        change = 0.0
        for node in range(n):
            change += abs(fresh[node] - rank[node])
        rank = fresh
        if change < tol:
            break
    return rank, rounds


if __name__ == "__main__":
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 60000
    indptr, indices = build_graph(nodes, 8)
    rank, rounds = pagerank(indptr, indices)
    best = sorted(range(len(rank)), key=lambda v: -rank[v])[:10]
    print("converged after", rounds, "rounds;", len(indices), "links")
    for v in best:
        print("%6d  %.10f" % (v, rank[v]))

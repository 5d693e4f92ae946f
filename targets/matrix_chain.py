"""Powers of a transition matrix, multiplied out with three nested loops.

A random walk on a graph: row i of the matrix holds the probabilities to go from i to every other
node. The distribution after k steps is the k-th power, here as a chain of products from the
definition, and the largest change of a row says how close the walk is to forgetting its start.

Usage: python matrix_chain.py [nodes] [factors]
"""

import sys

import numpy as np


def transition_matrix(n):
    rng = np.random.default_rng(8)
    weights = rng.random((n, n)) ** 3
    return weights / weights.sum(axis=1, keepdims=True)


def multiply(a, b):
    n = a.shape[0]
    m = b.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total
    return c


def chain(step, factors):
    product = step
    for _ in range(factors - 1):
        product = multiply(product, step)
    return product


if __name__ == "__main__":
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    factors = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    step = transition_matrix(nodes)
    walked = chain(step, factors)
    apart = walked.max(axis=0) - walked.min(axis=0)
    print("nodes:", nodes, "factors:", factors)
    print("sum of the first row: %.9f" % walked[0].sum())
    print("most visited node:", int(walked.mean(axis=0).argmax()))
    print("distance from forgetting: %.3e" % apart.max())

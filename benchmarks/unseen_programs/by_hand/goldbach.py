#!/usr/bin/env python3
import sys

import numpy as np

limit = int(sys.argv[1]) if len(sys.argv) > 1 else 22500

is_prime = np.ones(limit + 1, dtype=bool)
is_prime[:2] = False
for p in range(2, int(limit**0.5) + 1):
    if is_prime[p]:
        is_prime[p * p :: p] = False

# A prime added to every prime not below it: each pair is counted once.
primes = np.flatnonzero(is_prime)
counts = np.zeros(limit + 1, dtype=np.int64)
for k, a in enumerate(primes):
    if 2 * a > limit:
        break
    counts[a + primes[k : np.searchsorted(primes, limit - a, side="right")]] += 1
ways = {even: int(counts[even]) for even in range(4, limit + 1, 2)}

assert all(ways.values())
record = 0
for even in ways:
    if ways[even] > record:
        record = ways[even]
        champion = even
print("primes:", int(is_prime.sum()))
print("most ways:", champion, "with", record)
print("total:", sum(ways.values()))

#!/usr/bin/env python3
import sys

limit = int(sys.argv[1]) if len(sys.argv) > 1 else 22500

# sieve of Eratosthenes
is_prime = [True] * (limit + 1)
is_prime[0] = is_prime[1] = False
p = 2
while p * p <= limit:
    if is_prime[p]:
        for multiple in range(p * p, limit + 1, p):
            is_prime[multiple] = False
    p += 1

# in how many ways is an even number the sum of two primes?
ways = {}
for even in range(4, limit + 1, 2):
    count = 0
    for a in range(2, even // 2 + 1):
        if is_prime[a] and is_prime[even - a]:
            count += 1
    ways[even] = count

assert all(ways.values())
record = 0
for even in ways:
    if ways[even] > record:
        record = ways[even]
        champion = even
print("primes:", sum(is_prime))
print("most ways:", champion, "with", record)
print("total:", sum(ways.values()))

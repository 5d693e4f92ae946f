"""The sieve of Eratosthenes on a list of flags, then twin primes."""


def sieve(limit):
    is_prime = [True] * (limit + 1)
    is_prime[0] = is_prime[1] = False
    p = 2
    while p * p <= limit:
        if is_prime[p]:
            for multiple in range(p * p, limit + 1, p):
                is_prime[multiple] = False
        p += 1
    return is_prime


LIMIT = 9_000_000
flags = sieve(LIMIT)
primes = [n for n, prime in enumerate(flags) if prime]
twins = 0
for k in range(1, len(primes)):
    if primes[k] - primes[k - 1] == 2:
        twins += 1
print(len(primes), primes[-1], twins)

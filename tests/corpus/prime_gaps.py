"""The largest gap between consecutive primes, by trial division, with state in globals."""

primes = [2, 3]
largest_gap = 1
gap_after = 2
tests = 0


def is_prime(n):
    global tests
    for p in primes:
        tests += 1
        if p * p > n:
            return True
        if n % p == 0:
            return False
    return True


def extend(limit):
    global largest_gap, gap_after
    n = primes[-1] + 2
    while n < limit:
        if is_prime(n):
            gap = n - primes[-1]
            if gap > largest_gap:
                largest_gap = gap
                gap_after = primes[-1]
            primes.append(n)
        n += 2


for limit in (1000, 20_000, 1_300_000):
    extend(limit)
    print(limit, len(primes), largest_gap, gap_after, tests)

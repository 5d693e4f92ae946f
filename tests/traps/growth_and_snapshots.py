"""Lists that are made longer by making new ones: some are kept, shared, or walked along."""


def trail(n, keep):
    path = []
    history = []
    for i in range(n):
        path = path + [i * i % 7]
        if keep and i % 900 == 0:
            history.append(path)
    return path, history


def echo(n):
    words = ["a"]
    alias = words
    for i in range(n):
        words = words + [str(i % 10)]
    return len(words), len(alias), words is alias


def sieve(limit):
    primes = [2]
    for n in range(3, limit, 2):
        for p in primes:
            if p * p > n:
                primes = primes + [n]
                break
            if n % p == 0:
                break
    return primes


def until_error(items):
    seen = []
    try:
        for item in items:
            seen = seen + [1 / item]
    except ZeroDivisionError:
        pass
    return seen


def default(n, acc=[]):
    for i in range(n):
        acc = acc + [i]
    return acc


print([len(part) for part in trail(3000, True)[1]], len(trail(7000, False)[0]))
print(echo(7000))
print(sum(sieve(9000)))
print(len(until_error([3] * 3000 + [0] + [4] * 3000)))
print(len(default(5000)), len(default(4000)), default.__defaults__)

"""A linear congruential generator without the modulus, then with it: ints that outgrow 64 bits."""


def checksum(values):
    h = 17
    for v in values:
        h = h * 31 + v
        if h > 10**30:
            h = h // 7919
    return h


def lcg(seed, n):
    out = 0
    x = seed
    for _ in range(n):
        x = (6364136223846793005 * x + 1442695040888963407) % 2**64
        out ^= x
    return out


print(checksum([i * i % 1009 for i in range(2_000_000)]))
print(lcg(42, 2_000_000))

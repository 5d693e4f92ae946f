"""Hashes, shifts and generators that pass through 63, 64 and more bits."""

M64 = 2**64 - 1


def fnv(data):
    h = 14695981039346656037
    for b in data:
        h = ((h ^ b) * 1099511628211) & M64
    return h


def djb(data):
    h = 5381
    for b in data:
        h = (h * 33 + b) & 0xFFFFFFFF
    return h


def poly(data, base, mod):
    h = 0
    for b in data:
        h = (h * base + b) % mod
    return h


def xorshift(seed, n):
    x, total = seed, 0
    for _ in range(n):
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        total += x
    return x, total


def checksum(data):
    a, b = 1, 0
    for byte in data:
        a = (a + byte) % 65521
        b = (b + a) % 65521
    return b << 16 | a


for seed in range(8):
    print(xorshift(12345 + seed, 80_000))
data = [k * 7919 % 251 for k in range(50_000)]
for start in range(6):
    print(fnv(data[start:10_000]), djb(data[start:]), checksum(data[start:]))
    print(poly(data[start:], 257, 1_000_003), poly(data[start:], 2**31, 2**31 - 1))
print(checksum([2**62, 2**63, 2**70, -1]), poly(data[:500], 10**12, 10**15))
print(poly(data[:9], -3, -7), djb([-5, 2**70]), djb([True, False]), poly([2.5], 3, 7))
print(xorshift(2**33, 5), xorshift(-1, 5), xorshift(0, 5))

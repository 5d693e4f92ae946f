"""Checksums of byte arrays: additive and xorshift, masked to 32 bits."""

import numpy as np


def checksum(data, seed):
    a, b = 1, 0
    h = seed
    for k in range(len(data)):
        byte = int(data[k])
        a = (a + byte) % 65521
        b = (b + a) % 65521
        h ^= byte
        h = (h ^ (h << 13)) & 0xFFFFFFFF
        h ^= h >> 17
        h = (h ^ (h << 5)) & 0xFFFFFFFF
    return (b << 16) | a, h


rng = np.random.default_rng(103)
for block in range(5):
    data = rng.integers(0, 256, 6000, dtype=np.uint8)
    print(checksum(data, 2463534242 + block))

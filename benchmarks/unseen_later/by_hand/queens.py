"""All boards of a row at once: what is attacked, as three masks of bits."""

import numpy as np


def queens(n):
    columns = rising = falling = np.zeros(1, dtype=np.int32)
    for _ in range(n):
        free = ~(columns | rising | falling)
        parts = []
        for c in range(n):
            bit = 1 << c
            chosen = np.flatnonzero(free & bit)
            parts.append(
                (
                    columns[chosen] | bit,
                    (rising[chosen] | bit) << 1,
                    (falling[chosen] | bit) >> 1,
                )
            )
        columns, rising, falling = (np.concatenate(kind) for kind in zip(*parts, strict=True))
    return columns.size


for n in (9, 10, 11, 12):
    print(n, "queens:", queens(n))

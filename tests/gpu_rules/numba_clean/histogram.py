"""Atomic counts over chunks that are on the device from the start."""

import numpy as np
from numba import cuda


@cuda.jit
def count(values, bins):
    start = cuda.grid(1)
    for i in range(start, values.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, int(values[i] * bins.size), 1)


def main():
    rng = np.random.default_rng(0)
    values = cuda.to_device(rng.random(1_000_000))
    bins = cuda.to_device(np.zeros(64, dtype=np.int64))
    for _ in range(10):
        count[128, 128](values, bins)
    print(bins.copy_to_host()[:3])


if __name__ == "__main__":
    main()

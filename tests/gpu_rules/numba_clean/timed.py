"""Times of a kernel: here waiting is the point."""

import time

import numpy as np
from numba import cuda


@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


def main():
    x = cuda.to_device(np.ones(1 << 20))
    best = 1.0
    for _ in range(10):
        start = time.perf_counter()
        scale[4096, 256](x, 1.0)
        cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    print(best < 1.0, x.copy_to_host().sum())


if __name__ == "__main__":
    main()

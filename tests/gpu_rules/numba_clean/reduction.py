"""A dot product with shared memory; partial sums come back once."""

import numpy as np
from numba import cuda, float64

THREADS = 256


@cuda.jit
def partial_dots(x, y, out):
    shared = cuda.shared.array(THREADS, float64)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    total = 0.0
    for k in range(i, x.size, cuda.gridsize(1)):
        total += x[k] * y[k]
    shared[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = shared[0]


def main():
    x = cuda.to_device(np.linspace(0, 1, 1_000_000))
    out = cuda.device_array(64)
    total = 0.0
    for _ in range(5):
        partial_dots[64, THREADS](x, x, out)
        total = out.copy_to_host().sum()
    print(round(total, 3))


if __name__ == "__main__":
    main()

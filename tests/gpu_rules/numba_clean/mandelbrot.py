"""One launch on a device array, coalesced, with large blocks."""

import numpy as np
from numba import cuda


@cuda.jit
def escape(out, limit):
    x, y = cuda.grid(2)
    rows, columns = out.shape
    if x >= columns or y >= rows:
        return
    c = complex(-2.0 + 3.0 * x / columns, -1.5 + 3.0 * y / rows)
    z = 0j
    for count in range(limit):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4.0:
            out[y, x] = count
            return
    out[y, x] = limit


def main():
    out = cuda.device_array((1024, 1024), dtype=np.int32)
    for limit in (50, 100, 200):
        escape[(32, 128), (32, 8)](out, limit)
    print(out.copy_to_host().sum())


if __name__ == "__main__":
    main()

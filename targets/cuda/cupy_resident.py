"""Game of Life that stays on the device: fused kernel, two buffers, one copy at the end."""

import argparse

import cupy as cp
import numpy as np

STEP = cp.RawKernel(
    r"""
extern "C" __global__ void life(const unsigned char* old, unsigned char* next, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    int left = x == 0 ? n - 1 : x - 1, right = x == n - 1 ? 0 : x + 1;
    int up = (y == 0 ? n - 1 : y - 1) * n, down = (y == n - 1 ? 0 : y + 1) * n, row = y * n;
    int count = old[up + left] + old[up + x] + old[up + right] + old[row + left]
              + old[row + right] + old[down + left] + old[down + x] + old[down + right];
    next[row + x] = count == 3 || (count == 2 && old[row + x]);
}
""",
    "life",
)


def simulate(size, steps, seed=7):
    rng = np.random.default_rng(seed)
    old = cp.asarray((rng.random((size, size)) < 0.3).astype(np.uint8))
    new = cp.empty_like(old)
    populations = cp.empty(steps, dtype=cp.int64)
    block = (32, 8)
    grid = ((size + 31) // 32, (size + 7) // 8)
    for index in range(steps):
        STEP(grid, block, (old, new, np.int32(size)))
        old, new = new, old
        cp.sum(old, dtype=cp.int64, out=populations[index])
    return cp.asnumpy(old), cp.asnumpy(populations)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4000, help="rows and columns of the grid")
    parser.add_argument("--steps", type=int, default=2000, help="generations")
    options = parser.parse_args()
    grid, populations = simulate(options.size, options.steps)
    print("alive at the end:", int(grid.sum()))
    print("most:", populations.max(), "least:", populations.min())


if __name__ == "__main__":
    main()

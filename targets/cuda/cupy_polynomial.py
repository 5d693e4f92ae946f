"""A polynomial with any number of terms at many points: from memory-bound to compute-bound.

The teaching example of the roofline model. One kernel evaluates a polynomial by Horner's
rule: with k terms it does 2 k floating-point operations for the 8 bytes that it moves for each
point, so that its arithmetic intensity is k / 4 and can be turned up at will.
"""

import argparse

import cupy as cp
import numpy as np

BLOCK = 256
SOURCE = r"""
extern "C" __global__ void polynomial(const float* x, float* y, int n, int terms) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float at = x[i], total = 1.0f;
    #pragma unroll 8
    for (int k = 0; k < terms; ++k)
        total = fmaf(total, at, 0.5f);
    y[i] = total;
}
"""
polynomial = cp.RawKernel(SOURCE, "polynomial")


def evaluate(x, y, terms):
    blocks = (x.size + BLOCK - 1) // BLOCK
    polynomial((blocks,), (BLOCK,), (x, y, np.int32(x.size), np.int32(terms)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=50_000_000, help="points")
    parser.add_argument("--steps", type=int, default=20, help="evaluations of each polynomial")
    parser.add_argument("--terms", default="2,10,100,1000", help="terms, separated by commas")
    options = parser.parse_args()
    x = cp.linspace(-0.9, 0.9, options.size, dtype=cp.float32)
    y = cp.empty_like(x)
    for terms in map(int, options.terms.split(",")):
        for _ in range(options.steps):
            evaluate(x, y, terms)
        print(f"{terms} terms: mean {float(y.mean()):.6f}, at the last point {float(y[-1]):.6f}")


if __name__ == "__main__":
    main()

"""Signal pipeline that copies its window, every trace and every result over the bus."""

import sys

import cupy as cp
import numpy as np


def window(length):
    return np.hanning(length).astype(np.float32)


def process(traces, weights):
    results = []
    energies = []
    for trace in traces:
        x = cp.asarray(trace)
        w = cp.asarray(weights)
        y = x * w
        y = y - cp.mean(y)
        z = cp.sqrt(y * y + 1.0) * 0.5 + cp.abs(y) * 0.25 - cp.sin(y) * 0.1
        results.append(cp.asnumpy(z))
        energies.append(float(cp.sum(z * z)))
    return np.stack(results), energies


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    length = int(sys.argv[2]) if len(sys.argv) > 2 else 250_000
    rng = np.random.default_rng(3)
    base = rng.standard_normal((50, length), dtype=np.float32)
    traces = [base[i % 50] for i in range(count)]
    results, energies = process(traces, window(length))
    print("shape", results.shape, "first", round(float(results[0, :5].sum()), 4))
    print("energy", round(sum(energies), 1))


if __name__ == "__main__":
    main()

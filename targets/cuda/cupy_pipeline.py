"""Multitaper spectra that copy the tapers, every trace and every result over the bus."""

import argparse

import cupy as cp
import numpy as np


def sine_tapers(count, length):
    n = np.arange(1, length + 1)
    k = np.arange(1, count + 1)[:, None]
    return (np.sqrt(2 / (length + 1)) * np.sin(np.pi * k * n / (length + 1))).astype(np.float32)


def process(traces, tapers, bands):
    spectra = []
    energies = []
    for trace in traces:
        x = cp.asarray(trace)
        w = cp.asarray(tapers)
        y = w * (x - cp.mean(x))
        y = cp.sqrt(y * y + 1.0) * 0.5 + cp.abs(y) * 0.25 - cp.sin(y) * 0.1
        power = cp.mean(y.reshape(len(tapers), bands, -1), axis=(0, 2))
        spectra.append(cp.asnumpy(power))
        energies.append(float(cp.sum(power * power)))
    return np.stack(spectra), energies


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000, help="traces")
    parser.add_argument("--size", type=int, default=250_000, help="samples in a trace")
    options = parser.parse_args()
    rng = np.random.default_rng(3)
    base = rng.standard_normal((50, options.size), dtype=np.float32)
    traces = [base[i % 50] for i in range(options.steps)]
    spectra, energies = process(traces, sine_tapers(7, options.size), 500)
    print("shape", spectra.shape, "first", round(float(spectra[0, :5].sum()), 4))
    print("energy", round(sum(energies), 1))


if __name__ == "__main__":
    main()

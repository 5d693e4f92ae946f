"""Ray statistics of a random medium, in NumPy as it should be written.

A Gaussian random field is made by filtering white noise in Fourier space, travel times of
straight rays are cumulative sums along one axis, and their structure function is taken over all
lags at once. All the time is spent in compiled code on whole arrays; there is nothing to gain.

Usage: python already_fast.py [size] [realisations]
"""

from __future__ import annotations

import sys

import numpy as np


def random_field(rng: np.random.Generator, size: int, correlation: float) -> np.ndarray:
    """Gaussian field of unit variance with a Gaussian spectrum."""
    k = np.fft.fftfreq(size)
    kx, ky = np.meshgrid(k, k, indexing="ij", sparse=True)
    spectrum = np.exp(-((kx**2 + ky**2) * (np.pi * correlation) ** 2))
    noise = np.fft.fft2(rng.standard_normal((size, size)))
    field = np.fft.ifft2(noise * spectrum).real
    return (field - field.mean()) / field.std()


def travel_times(field: np.ndarray, strength: float) -> np.ndarray:
    slowness = 1.0 + strength * field
    return np.cumsum(slowness, axis=1)


def structure_function(times: np.ndarray, lags: np.ndarray) -> np.ndarray:
    last = times[:, -1]
    return np.array([np.mean((last[lag:] - last[:-lag]) ** 2) for lag in lags])


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    realisations = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    rng = np.random.default_rng(11)
    lags = 2 ** np.arange(7)
    total = np.zeros(lags.size)
    for _ in range(realisations):
        times = travel_times(random_field(rng, size, correlation=12.0), strength=0.02)
        total += structure_function(times, lags)
    for lag, value in zip(lags, total / realisations, strict=True):
        print(f"lag {lag:4d}  structure {value:.8f}")


if __name__ == "__main__":
    main()

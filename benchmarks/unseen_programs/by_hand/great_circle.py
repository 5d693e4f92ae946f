"""Rows of the matrix as vectors, angles turned to radians once."""

import math
import random
import sys
from dataclasses import dataclass

import numpy as np

RADIUS = 6371.0


@dataclass
class Station:
    name: str
    lat: float
    lon: float


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rng = random.Random(17)
    stations = [
        Station(f"S{k:04d}", rng.uniform(-60, 70), rng.uniform(-180, 180)) for k in range(n)
    ]
    lat = np.radians([s.lat for s in stations])
    lon = np.radians([s.lon for s in stations])
    cosines = np.cos(lat)
    closest = math.inf
    means = np.empty(n)
    for i in range(n):
        a = np.sin((lat - lat[i]) / 2) ** 2
        a += cosines[i] * cosines * np.sin((lon - lon[i]) / 2) ** 2
        row = 2 * RADIUS * np.arcsin(np.sqrt(a))
        means[i] = row.sum() / (n - 1)
        if i + 1 < n:
            j = i + 1 + int(row[i + 1 :].argmin())
            if row[j] < closest:
                closest = row[j]
                pair = stations[i].name, stations[j].name
    remote = int(means.argmax())
    print(f"closest pair {pair[0]} {pair[1]}: {closest:.4f} km")
    print(f"most remote {stations[remote].name}: {means[remote]:.4f} km on average")


if __name__ == "__main__":
    main()

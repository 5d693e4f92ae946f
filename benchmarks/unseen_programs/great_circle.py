"""Travel distances between weather stations: nearest neighbour and mean of each station."""

import math
import random
import sys
from dataclasses import dataclass

RADIUS = 6371.0


@dataclass
class Station:
    name: str
    lat: float
    lon: float


def haversine(lat1, lon1, lat2, lon2):
    lat1, lon1, lat2, lon2 = map(math.radians, (lat1, lon1, lat2, lon2))
    dlat = lat2 - lat1
    dlon = lon2 - lon1
    a = math.sin(dlat / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin(dlon / 2) ** 2
    return 2 * RADIUS * math.asin(math.sqrt(a))


def distance_matrix(stations):
    n = len(stations)
    matrix = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if i != j:
                matrix[i][j] = haversine(
                    stations[i].lat, stations[i].lon, stations[j].lat, stations[j].lon
                )
    return matrix


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rng = random.Random(17)
    stations = [
        Station(f"S{k:04d}", rng.uniform(-60, 70), rng.uniform(-180, 180)) for k in range(n)
    ]
    matrix = distance_matrix(stations)
    closest = math.inf
    for i in range(n):
        for j in range(i + 1, n):
            if matrix[i][j] < closest:
                closest = matrix[i][j]
                pair = stations[i].name, stations[j].name
    means = [sum(row) / (n - 1) for row in matrix]
    remote = max(range(n), key=means.__getitem__)
    print(f"closest pair {pair[0]} {pair[1]}: {closest:.4f} km")
    print(f"most remote {stations[remote].name}: {means[remote]:.4f} km on average")


if __name__ == "__main__":
    main()

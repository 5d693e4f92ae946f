"""All shortest paths in a random road network (lists of lists, infinity for no road)."""

from random import Random

INF = float("inf")


def random_network(n, roads, seed=3):
    r = Random(seed)
    d = [[INF] * n for _ in range(n)]
    for i in range(n):
        d[i][i] = 0
    for _ in range(roads):
        a, b = r.randrange(n), r.randrange(n)
        length = r.uniform(1, 20)
        if a != b and length < d[a][b]:
            d[a][b] = d[b][a] = length
    return d


def shortest_paths(dist):
    n = len(dist)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = dist[i][k] + dist[k][j]
                if through < dist[i][j]:
                    dist[i][j] = through
    return dist


network = shortest_paths(random_network(300, 1200))
finite = [x for row in network for x in row if x < INF]
print("reachable pairs", len(finite))
print("diameter %.6f" % max(finite))
print("mean %.9f" % (sum(finite) / len(finite)))

INF = float("inf")
V = 380


def make_graph():
    dist = [[INF] * V for _ in range(V)]
    seed = 99
    for i in range(V):
        dist[i][i] = 0
        for _ in range(6):
            seed = (seed * 1664525 + 1013904223) % 4294967296
            j = seed % V
            seed = (seed * 1664525 + 1013904223) % 4294967296
            w = seed % 90 + 10
            if j != i:
                dist[i][j] = min(dist[i][j], w)
    return dist


def floydWarshall(graph):
    dist = [row[:] for row in graph]
    for k in range(V):
        for i in range(V):
            for j in range(V):
                if dist[i][k] + dist[k][j] < dist[i][j]:
                    dist[i][j] = dist[i][k] + dist[k][j]
    return dist


def printSolution(dist):
    total = 0
    longest = 0
    unreachable = 0
    for i in range(V):
        for j in range(V):
            if dist[i][j] == INF:
                unreachable += 1
            else:
                total += dist[i][j]
                if dist[i][j] > longest:
                    longest = dist[i][j]
    print("sum of shortest paths:", total)
    print("diameter:", longest)
    print("unreachable:", unreachable)
    print("first row:", dist[0][:10])


graph = make_graph()
printSolution(floydWarshall(graph))

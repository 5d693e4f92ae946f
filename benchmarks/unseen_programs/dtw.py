import math
import sys

INF = float("inf")


def signal(n, speed, phase):
    return [math.sin(speed * k / n + phase) + 0.3 * math.cos(3.1 * speed * k / n) for k in range(n)]


def dtw_matrix(x, y, window):
    n, m = len(x), len(y)
    D = [[INF] * (m + 1) for _ in range(n + 1)]
    D[0][0] = 0.0
    for i in range(1, n + 1):
        lo = max(1, i - window)
        hi = min(m, i + window)
        for j in range(lo, hi + 1):
            cost = abs(x[i - 1] - y[j - 1])
            D[i][j] = cost + min(D[i - 1][j], D[i][j - 1], D[i - 1][j - 1])
    return D


def path_length(D):
    i, j = len(D) - 1, len(D[0]) - 1
    steps = 0
    while i > 0 and j > 0:
        best = min(D[i - 1][j - 1], D[i - 1][j], D[i][j - 1])
        if best == D[i - 1][j - 1]:
            i, j = i - 1, j - 1
        elif best == D[i - 1][j]:
            i -= 1
        else:
            j -= 1
        steps += 1
    return steps


n = int(sys.argv[1]) if len(sys.argv) > 1 else 2600
reference = signal(n, 24.0, 0.0)
for phase in (0.4, 0.9, 1.3):
    D = dtw_matrix(reference, signal(n + 40, 22.0, phase), n // 2)
    print("phase %.1f  distance %.6f  path %d" % (phase, D[-1][-1], path_length(D)))

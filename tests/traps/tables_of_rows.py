"""Dynamic programming over lists of lists: rows shared, ragged, swapped, of other numbers."""


def paths(grid):
    for i in range(1, len(grid)):
        for j in range(1, len(grid[0])):
            grid[i][j] = (grid[i - 1][j] + grid[i][j - 1]) % 1_000_007
    return grid[-1][-1]


def edit(a, b):
    previous = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        current = [i] + [0] * len(b)
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            current[j] = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost)
        previous = current
    return previous[-1]


def relax(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i][k] + d[k][j] < d[i][j]:
                    d[i][j] = d[i][k] + d[k][j]
    return d[0]


n = 250
print(
    paths([[1] * n for _ in range(n)]), paths([[1] * n] * n), paths([[1.0] * 9 for _ in range(9)])
)
try:
    print(paths([[1, 1, 1], [1], [1, 1, 1]]))
except IndexError as error:
    print(error)
one = [k * 7 % 11 for k in range(n)]
print(edit(one, one[::-1]), edit("kitten", "sitting"), edit([], [1]), edit((1, 2.0), (True, 2)))
big = 10**30
graph = [[(i * 37 + j * 11) % 50 + 1 for j in range(60)] for i in range(60)]
print(relax(graph)[:5], relax([[0, big], [big, 0]]), relax([[0.0, float("nan")], [1.5, 0.0]]))
shared = [3, 1]
print(relax([shared, shared]), relax([[0, 1.5], [1, 0]]))

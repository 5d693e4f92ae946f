"""Two products of matrices one after the other: the second one reads what the first one made."""


def chained(a, b, c, n):
    first = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                first[i][j] += a[i][k] * b[k][j]
    second = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                second[i][j] += first[i][k] * c[k][j]
    return first, second


def table(n, shift):
    return [[(i * 7 + j * shift) % 11 / 7.0 - 1.0 for j in range(n)] for i in range(n)]


for shift in (3, 5, 9):
    first, second = chained(table(60, shift), table(60, shift + 1), table(60, 4), 60)
    print(shift, first[2][:3], second[-1][:3], sum(map(sum, second)))

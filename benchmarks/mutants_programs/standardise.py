"""Passes over one table in place: its total, the deviations from it, and their squares."""


def standardise(rows, scale):
    n, m = len(rows), len(rows[0])
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += rows[i][j]
    mean = 0.00001 * total
    for i in range(n):
        for j in range(m):
            rows[i][j] = (rows[i][j] - mean) * scale
    squares = 0.0
    for i in range(n):
        for j in range(m):
            squares += rows[i][j] * rows[i][j]
    return mean, squares


for step in range(3):
    rows = [[(i * 13 + j * 29 + step) % 101 / 7.0 for j in range(300)] for i in range(300)]
    print(step, standardise(rows, 0.5 + step), rows[3][:2], rows[-1][-1])

"""How many ways n queens stand on a board, by backtracking."""


def solve(n, row, columns, diagonals, antidiagonals):
    if row == n:
        return 1
    count = 0
    for col in range(n):
        if columns[col] or diagonals[row + col] or antidiagonals[row - col + n - 1]:
            continue
        columns[col] = diagonals[row + col] = antidiagonals[row - col + n - 1] = True
        count += solve(n, row + 1, columns, diagonals, antidiagonals)
        columns[col] = diagonals[row + col] = antidiagonals[row - col + n - 1] = False
    return count


for size in range(4, 13):
    print(size, solve(size, 0, [False] * size, [False] * (2 * size), [False] * (2 * size)))

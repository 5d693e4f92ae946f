"""Diffusion on a list of lists, the rim held fixed."""


def diffuse(grid, rate):
    rows = len(grid)
    cols = len(grid[0])
    new = [row[:] for row in grid]
    for i in range(1, rows - 1):
        for j in range(1, cols - 1):
            around = grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]
            new[i][j] = (1.0 - 4.0 * rate) * grid[i][j] + rate * around
    return new


grid = [[((7 * i + 13 * j) % 11) / 11.0 for j in range(40)] for i in range(35)]
for t in range(12):
    grid = diffuse(grid, 0.15)
print(grid[5][5], grid[17][20], sum(map(sum, grid)))

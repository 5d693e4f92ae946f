"""[[0] * n] * n holds one row n times."""

n = 2000
board = [[0] * n] * n
for i in range(n):
    for j in range(n):
        board[i][j] = board[i][j] + i * 3 + j
total = 0
for row in board:
    for value in row:
        total += value
print(board[0][:6], board[n - 1][n - 1], total)

"""Connect four by alpha-beta on a list board."""

ROWS, COLS = 6, 7
board = [[0] * COLS for _ in range(ROWS)]
height = [0] * COLS
nodes = 0


def wins(r, c, who):
    for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
        n = 1
        for sgn in (1, -1):
            rr, cc = r + sgn * dr, c + sgn * dc
            while 0 <= rr < ROWS and 0 <= cc < COLS and board[rr][cc] == who:
                n += 1
                rr += sgn * dr
                cc += sgn * dc
        if n >= 4:
            return True
    return False


def evaluate():
    s = 0
    for r in range(ROWS):
        for c in range(COLS):
            if board[r][c]:
                w = 3 - abs(c - 3) + (2 if r in (2, 3) else 0)
                s += w if board[r][c] == 1 else -w
    return s


def search(depth, alpha, beta, who):
    global nodes
    nodes += 1
    if depth == 0:
        return evaluate() * (1 if who == 1 else -1)
    best = -(10**6)
    for c in (3, 2, 4, 1, 5, 0, 6):
        r = height[c]
        if r >= ROWS:
            continue
        board[r][c] = who
        height[c] += 1
        if wins(r, c, who):
            v = 10000 + depth
        else:
            v = -search(depth - 1, -beta, -alpha, 3 - who)
        board[r][c] = 0
        height[c] -= 1
        if v > best:
            best = v
        if best > alpha:
            alpha = best
        if alpha >= beta:
            break
    return best


for d in range(1, 11):
    nodes = 0
    v = search(d, -(10**6), 10**6, 1)
    print(d, v, nodes)

"""The field has a border that repeats its edge; three buffers take turns."""

import numpy as np


def drop(u, cx, cy, size):
    for x in range(cx - size, cx + size + 1):
        for y in range(cy - size, cy + size + 1):
            r2 = (x - cx) ** 2 + (y - cy) ** 2
            if r2 <= size * size:
                u[x + 1, y + 1] = 1.0 - r2 / (size * size)


def mirror(field):
    field[0], field[-1] = field[1], field[-2]
    field[:, 0], field[:, -1] = field[:, 1], field[:, -2]


def advance(prev, cur, nxt, c2, damping):
    mirror(cur)
    middle = cur[1:-1, 1:-1]
    lap = cur[:-2, 1:-1] + cur[2:, 1:-1] + cur[1:-1, :-2] + cur[1:-1, 2:] - 4 * middle
    nxt[1:-1, 1:-1] = (2 * middle - prev[1:-1, 1:-1] + c2 * lap) * damping


def main():
    nx, ny = 130, 120
    prev = np.zeros((nx + 2, ny + 2))
    drop(prev, 40, 50, 8)
    cur = prev.copy()
    spare = np.zeros_like(prev)
    for step in range(720):
        advance(prev, cur, spare, 0.2, 0.999)
        prev, cur, spare = cur, spare, prev
        if step % 90 == 0:
            change = (cur - prev)[1:-1, 1:-1]
            print(step, "%.8f" % (change * change).sum())
    print("probe %.10f" % cur[101, 61])


main()

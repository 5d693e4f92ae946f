"""2-D wave equation with reflecting edges, ripple from a drop."""


def new_field(nx, ny):
    return [[0.0] * ny for _ in range(nx)]


def drop(u, cx, cy, size):
    for x in range(cx - size, cx + size + 1):
        for y in range(cy - size, cy + size + 1):
            r2 = (x - cx) ** 2 + (y - cy) ** 2
            if r2 <= size * size:
                u[x][y] = 1.0 - r2 / (size * size)


def advance(prev, cur, c2, damping):
    nx = len(cur)
    ny = len(cur[0])
    nxt = new_field(nx, ny)
    for x in range(nx):
        for y in range(ny):
            left = cur[x - 1][y] if x > 0 else cur[x][y]
            right = cur[x + 1][y] if x < nx - 1 else cur[x][y]
            down = cur[x][y - 1] if y > 0 else cur[x][y]
            up = cur[x][y + 1] if y < ny - 1 else cur[x][y]
            lap = left + right + down + up - 4 * cur[x][y]
            nxt[x][y] = (2 * cur[x][y] - prev[x][y] + c2 * lap) * damping
    return nxt


def energy(prev, cur):
    e = 0.0
    for row_p, row_c in zip(prev, cur):
        for p, c in zip(row_p, row_c):
            e += (c - p) ** 2
    return e


def main():
    nx, ny = 130, 120
    prev = new_field(nx, ny)
    drop(prev, 40, 50, 8)
    cur = [row[:] for row in prev]
    for step in range(720):
        prev, cur = cur, advance(prev, cur, 0.2, 0.999)
        if step % 90 == 0:
            print(step, "%.8f" % energy(prev, cur))
    print("probe %.10f" % cur[100][60])


main()

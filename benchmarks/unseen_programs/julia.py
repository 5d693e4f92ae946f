import sys

WIDTH = int(sys.argv[1]) if len(sys.argv) > 1 else 1150
HEIGHT = WIDTH * 3 // 4
MAX_ITER = 200
C = complex(-0.7269, 0.1889)


def escape(z, c, limit):
    for n in range(limit):
        if abs(z) > 2.0:
            return n
        z = z * z + c
    return limit


def render(width, height):
    rows = []
    for py in range(height):
        row = []
        y = -1.2 + 2.4 * py / height
        for px in range(width):
            x = -1.6 + 3.2 * px / width
            row.append(escape(complex(x, y), C, MAX_ITER))
        rows.append(row)
    return rows


image = render(WIDTH, HEIGHT)
total = sum(sum(row) for row in image)
inside = sum(row.count(MAX_ITER) for row in image)
print("iterations", total)
print("inside", inside)
shades = " .:-=+*#%@"
for row in image[:: max(1, HEIGHT // 20)]:
    print("".join(shades[v * 9 // MAX_ITER] for v in row[:: max(1, WIDTH // 60)]))

"""Right triangles with whole sides, and the perimeter with most of them."""


def triangles(limit):
    found = []
    for a in range(1, limit):
        for b in range(a, limit):
            c = int((a * a + b * b) ** 0.5)
            if a + b + c > limit:
                break
            if c * c == a * a + b * b:
                found.append((a, b, c, a * b / 2))
    return found


def main():
    shapes = triangles(14000)
    counts = {}
    for a, b, c, area in shapes:
        counts[a + b + c] = counts.get(a + b + c, 0) + 1
    best = max(counts, key=counts.get)
    print(len(shapes), best, counts[best], max(area for *_, area in shapes))


main()

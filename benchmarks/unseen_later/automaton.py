# One-dimensional cellular automata (Wolfram rules), periodic boundary


def make_rule(number):
    return {
        (a, b, c): (number >> (4 * a + 2 * b + c)) & 1
        for a in (0, 1)
        for b in (0, 1)
        for c in (0, 1)
    }


def evolve(cells, rule):
    n = len(cells)
    new = []
    for i in range(n):
        left = cells[(i - 1) % n]
        centre = cells[i]
        right = cells[(i + 1) % n]
        new.append(rule[(left, centre, right)])
    return new


def run(number, width, generations):
    rule = make_rule(number)
    cells = [0] * width
    cells[width // 2] = 1
    ones = 0
    for _ in range(generations):
        ones += sum(cells)
        cells = evolve(cells, rule)
    return cells, ones


for number in (30, 54, 90, 110):
    cells, ones = run(number, 2001, 3000)
    density = ones / (2001 * 3000)
    print("rule", number, "density", round(density, 6), "last", "".join(map(str, cells[990:1010])))

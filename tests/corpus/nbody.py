"""Gravity between a handful of bodies, leapfrog, dictionaries and lists."""


def bodies():
    data = []
    for k in range(9):
        data.append(
            {
                "mass": 1.0 + (k * 37 % 11) / 10,
                "pos": [(k * 13 % 7) - 3.0, (k * 29 % 9) - 4.0, (k * 5 % 3) - 1.0],
                "vel": [0.0, 0.1 * (k % 3 - 1), 0.05 * (k % 2)],
            }
        )
    return data


def energy(system):
    e = 0.0
    for i, b in enumerate(system):
        e += 0.5 * b["mass"] * sum(v * v for v in b["vel"])
        for c in system[i + 1 :]:
            d2 = sum((p - q) ** 2 for p, q in zip(b["pos"], c["pos"])) + 0.01
            e -= b["mass"] * c["mass"] / d2**0.5
    return e


def advance(system, dt):
    for i in range(len(system)):
        for j in range(i + 1, len(system)):
            b, c = system[i], system[j]
            dx = b["pos"][0] - c["pos"][0]
            dy = b["pos"][1] - c["pos"][1]
            dz = b["pos"][2] - c["pos"][2]
            d2 = dx * dx + dy * dy + dz * dz + 0.01
            mag = dt / (d2 * d2**0.5)
            for axis, d in enumerate((dx, dy, dz)):
                b["vel"][axis] -= d * c["mass"] * mag
                c["vel"][axis] += d * b["mass"] * mag
    for b in system:
        for axis in range(3):
            b["pos"][axis] += dt * b["vel"][axis]


system = bodies()
print("%.12f" % energy(system))
for _ in range(40_000):
    advance(system, 0.001)
print("%.12f" % energy(system))
print(["%.9f" % x for x in system[4]["pos"]])

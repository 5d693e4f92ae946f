# Monte-Carlo volume of a torus section and its centre of mass
import random

random.seed(2024)


def inside(x, y, z):
    r = (x * x + y * y) ** 0.5 - 3.0
    return z * z + r * r <= 1.0


def sample(n):
    hits = 0
    sx = sy = sz = 0.0
    for _ in range(n):
        x = random.uniform(1, 4)
        y = random.uniform(-3, 4)
        z = random.uniform(-1, 1)
        if inside(x, y, z):
            hits += 1
            sx += x
            sy += y
            sz += z
    return hits, sx, sy, sz


n = 5000000
box = 3 * 7 * 2
hits, sx, sy, sz = sample(n)
vol = box * hits / n
print("volume %.5f" % vol)
print("centre %.5f %.5f %.5f" % (sx / hits, sy / hits, sz / hits))

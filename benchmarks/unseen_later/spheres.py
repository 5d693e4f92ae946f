"""A tiny ray tracer: spheres, one light, shadows."""

import math


class Vec:
    __slots__ = ("x", "y", "z")

    def __init__(self, x, y, z):
        self.x = x
        self.y = y
        self.z = z

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y, self.z + o.z)

    def __sub__(self, o):
        return Vec(self.x - o.x, self.y - o.y, self.z - o.z)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k, self.z * k)

    def dot(self, o):
        return self.x * o.x + self.y * o.y + self.z * o.z

    def unit(self):
        return self * (1.0 / math.sqrt(self.dot(self)))


class Sphere:
    def __init__(self, centre, radius, colour):
        self.centre = centre
        self.radius = radius
        self.colour = colour

    def hit(self, origin, direction):
        oc = origin - self.centre
        b = oc.dot(direction)
        c = oc.dot(oc) - self.radius * self.radius
        disc = b * b - c
        if disc < 0:
            return None
        t = -b - math.sqrt(disc)
        return t if t > 1e-4 else None


def closest(spheres, origin, direction):
    best_t = None
    best = None
    for s in spheres:
        t = s.hit(origin, direction)
        if t is not None and (best_t is None or t < best_t):
            best_t = t
            best = s
    return best_t, best


def shade(spheres, origin, direction, light):
    t, s = closest(spheres, origin, direction)
    if s is None:
        return 0.1 + 0.2 * (direction.y + 1)
    p = origin + direction * t
    n = (p - s.centre).unit()
    to_light = (light - p).unit()
    value = 0.1
    if closest(spheres, p, to_light)[1] is None:
        value += max(0.0, n.dot(to_light))
    return value * s.colour


def render(w, h):
    spheres = [
        Sphere(Vec(-1.2 + 0.8 * i, -0.3 + 0.3 * (i % 2), 4 + 0.5 * i), 0.6, 0.5 + 0.1 * i)
        for i in range(4)
    ]
    light = Vec(5.0, 5.0, -2.0)
    eye = Vec(0.0, 0.0, -1.0)
    image = []
    for y in range(h):
        line = []
        for x in range(w):
            d = Vec((x - w / 2) / w * 2, -(y - h / 2) / w * 2, 1.8).unit()
            line.append(int(255 * min(1.0, shade(spheres, eye, d, light))))
        image.append(line)
    return image


img = render(1100, 825)
print(sum(sum(line) for line in img), max(max(line) for line in img))
print(img[400][300:310])

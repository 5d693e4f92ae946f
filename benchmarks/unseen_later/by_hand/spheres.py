"""All rays at once: directions, distances and lights as arrays."""

import numpy as np

CENTRES = [(-1.2 + 0.8 * i, -0.3 + 0.3 * (i % 2), 4 + 0.5 * i) for i in range(4)]
COLOURS = np.array([0.5 + 0.1 * i for i in range(4)])
RADIUS = 0.6
LIGHT = (5.0, 5.0, -2.0)


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def minus(a, b):
    return [p - q for p, q in zip(a, b, strict=True)]


def unit(v):
    scale = 1.0 / np.sqrt(dot(v, v))
    return [c * scale for c in v]


def hits(centre, origin, direction):
    """Distance along each ray, infinite where the sphere is missed."""
    oc = minus(origin, centre)
    b = dot(oc, direction)
    disc = b * b - (dot(oc, oc) - RADIUS * RADIUS)
    t = -b - np.sqrt(np.maximum(disc, 0.0))
    return np.where((disc >= 0) & (t > 1e-4), t, np.inf)


def render(w, h):
    x = (np.arange(w) - w / 2) / w * 2
    y = -(np.arange(h)[:, None] - h / 2) / w * 2
    direction = unit([x, y, 1.8])
    eye = (0.0, 0.0, -1.0)
    reach = np.stack([hits(centre, eye, direction) for centre in CENTRES])
    nearest = reach.argmin(axis=0)
    t = reach.min(axis=0)
    image = 0.1 + 0.2 * (direction[1] + 1)
    struck = np.isfinite(t)
    which = nearest[struck]
    place = [e + d[struck] * t[struck] for e, d in zip(eye, direction, strict=True)]
    normal = unit(minus(place, np.array(CENTRES)[which].T))
    to_light = unit(minus(LIGHT, place))
    lit = np.ones(which.size, dtype=bool)
    for centre in CENTRES:
        lit &= np.isinf(hits(centre, place, to_light))
    value = 0.1 + np.where(lit, np.maximum(0.0, dot(normal, to_light)), 0.0)
    image[struck] = value * COLOURS[which]
    return (255 * np.minimum(1.0, image)).astype(np.int64)


img = render(1100, 825)
print(img.sum(), img.max())
print(img[400, 300:310].tolist())

"""The torus as a grid with a halo; both fields in one array."""

import numpy as np

SIZE = 80


def wrap(field):
    field[:, 0], field[:, -1] = field[:, -2], field[:, 1]
    field[:, :, 0], field[:, :, -1] = field[:, :, -2], field[:, :, 1]


def step(field, rates, feed, kill, dt):
    wrap(field)
    middle = field[:, 1:-1, 1:-1]
    lap = field[:, :-2, 1:-1] + field[:, 2:, 1:-1] + field[:, 1:-1, :-2] + field[:, 1:-1, 2:]
    lap -= 4 * middle
    lap *= rates
    u, v = middle
    uvv = u * v * v
    lap[0] += feed * (1 - u) - uvv
    lap[1] += uvv - (feed + kill) * v
    lap *= dt
    middle += lap


field = np.zeros((2, SIZE + 2, SIZE + 2))
u, v = field[:, 1:-1, 1:-1]
u[:] = 1.0
u[30:46, 34:50] = 0.5
v[30:46, 34:50] = 0.25 + 0.001 * (np.arange(30, 46)[:, None] - np.arange(34, 50))
rates = np.array([0.16, 0.08])[:, None, None]
for _ in range(420):
    step(field, rates, 0.035, 0.065, 1.0)
print("u %.8f %.8f" % (u.min(), u.max()))
print("v %.8f" % v.mean())

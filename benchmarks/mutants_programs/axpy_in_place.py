"""Updates positions and velocities in place, with walls."""

import numpy as np


def move(x, v, force, dt):
    for i in range(len(x)):
        v[i] += dt * force[i]
        x[i] += dt * v[i]
        if x[i] < 0.0:
            x[i] = -x[i]
            v[i] = -v[i]
        if x[i] > 1.0:
            x[i] = 2.0 - x[i]
            v[i] = -v[i]


rng = np.random.default_rng(17)
x, v = rng.random(3000), rng.normal(size=3000)
for t in range(12):
    move(x, v, np.sin(6.0 * x), 0.01)
print(x.sum(), v.sum(), x[:3], v[-3:])

"""Random walk, autoregression and a circle by dots: draws one by one."""

import random
import sys

import numpy as np

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 12
np.random.seed(seed)
random.seed(seed)
N = 800000
pos = np.zeros(2)
visits = np.zeros((41, 41), dtype=int)
x = y = 20
for step in range(N):
    d = np.random.randint(0, 4)
    if d == 0:
        x = (x + 1) % 41
    elif d == 1:
        x = (x - 1) % 41
    elif d == 2:
        y = (y + 1) % 41
    else:
        y = (y - 1) % 41
    visits[x, y] += 1
walk = np.empty(N)
v = 0.0
for i in range(N):
    v = 0.99 * v + np.random.normal()
    walk[i] = v
hits = 0
for i in range(N):
    if random.random() ** 2 + random.random() ** 2 < 1:
        hits += 1
print(visits.max(), visits.min(), x, y)
print(walk.mean(), walk.std(), 4 * hits / N)
print(np.random.rand(), random.random())

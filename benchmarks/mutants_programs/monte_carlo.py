"""Random walk and rejection sampling with the standard library's generator."""

import random


def walk(steps, p):
    x = 0
    farthest = 0
    total = 0.0
    for _ in range(steps):
        if random.random() < p:
            x += 1
        else:
            x -= 1
        total += random.uniform(-1.0, 1.0) * x
        if abs(x) > farthest:
            farthest = abs(x)
    return x, farthest, total


random.seed(37)
for k in range(6):
    print(walk(4000, 0.48))
print(random.random())

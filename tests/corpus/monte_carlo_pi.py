"""Pi by throwing darts, with the standard library's generator."""

import random


def estimate(darts):
    inside = 0
    for _ in range(darts):
        x = random.random()
        y = random.random()
        if x * x + y * y <= 1.0:
            inside += 1
    return 4.0 * inside / darts


random.seed(2718)
for k in range(1, 6):
    print(k, estimate(2_000_000))
print("next draw:", random.random())

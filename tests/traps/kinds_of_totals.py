"""The type of a total depends on what was added: int, float, numpy.float64. It is printed."""

import numpy as np


def bill(prices, discounts, cheap):
    total = 0
    for i in range(len(prices)):
        if prices[i] > cheap:
            total += prices[i] - discounts[i]
    return total


def best(scores, floor):
    top = floor
    for score in scores:
        top = max(top, score)
    return top


def capped(values, cap):
    total = 0
    for value in values:
        total += min(cap, value)
    return total


def say(*values):
    print(*[f"{type(value).__name__} {value!r}" for value in values])


rng = np.random.default_rng(2)
prices, discounts = rng.random(20_000) * 9.0, rng.random(20_000)
for start in range(8):
    say(bill(prices[start:], discounts[start:], 3.0), best(prices[start:], 0))
    say(capped(prices[start:], 5))
say(bill(prices, discounts, 3.0), bill(prices, discounts, 99.0))
say(bill(prices.tolist(), discounts.tolist(), 3.0), bill([], [], 3.0))
whole = rng.integers(1, 9, 20_000)
say(bill(whole, whole // 2, 3), bill(whole.astype(np.uint8), (whole // 2).astype(np.uint8), 3))
say(best(prices, 0), best(prices, 10), best(prices.tolist(), 0.0), best(whole.tolist(), 0.5))
say(capped(prices, 5), capped(prices, 0), capped(whole.tolist(), 4.5), capped(whole.tolist(), 9.5))
say(capped([], 1), capped([True, True], 3))

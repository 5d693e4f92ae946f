"""Halves, huge floats and NaN on their way to integers, and functions outside their domain."""

import math


def cents(values):
    total = 0
    for v in values:
        total += round(v) - int(v) + math.floor(v)
    return total


def waves(values):
    s = 0.0
    for v in values:
        s += math.sqrt(v) * math.exp(-v) + math.log(v + 1) + math.sin(v)
    return s


def powers(values):
    s = 0.0
    for v in values:
        s += v**2 + v**-1 + v**0.5
    return s


def attempt(function, values):
    try:
        print(function.__name__, repr(function(values)))
    except (ValueError, OverflowError, ZeroDivisionError, TypeError) as error:
        print(function.__name__, type(error).__name__, error, error.args)


many = [k / 4 + 0.25 for k in range(40_000)]
for function in (cents, waves, powers):
    for _ in range(10):
        attempt(function, many if function is not waves else many[:2000] * 20)
    for odd in (
        0.5,
        1.5,
        2.5,
        -0.5,
        0.0,
        -0.0,
        -1.0,
        1e17,
        1e200,
        1e308,
        math.inf,
        math.nan,
        2,
        True,
    ):
        attempt(function, [1.5, odd])

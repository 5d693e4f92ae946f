"""Exact numbers that are no machine numbers."""

from decimal import Decimal, getcontext
from fractions import Fraction


def harmonic(n, one):
    total = one * 0
    for k in range(1, n + 1):
        total += one / k
    return total


def horner(coefficients, x):
    y = 0
    for c in coefficients:
        y = y * x + c
    return y


getcontext().prec = 40
print(harmonic(1500, Fraction(1)).numerator % 10**12)
print(harmonic(300_000, Decimal(1)))
for n in range(80_000, 80_012):
    print(repr(harmonic(n, 1.0)))
print(horner([Fraction(1, k) for k in range(1, 300)], Fraction(2, 3)).denominator % 10**9)
print(repr(horner([1.0 / k for k in range(1, 20_000)], 0.999)))

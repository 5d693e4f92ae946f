"""Bifurcation diagram of the logistic map, as a density on a grid."""

import math

R_MIN, R_MAX = 2.8, 4.0
COLS, ROWS = 1200, 400


def lyapunov(r, x, n):
    total = 0.0
    for _ in range(n):
        x = r * x * (1 - x)
        total += math.log(abs(r - 2 * r * x) + 1e-12)
    return total / n


def column(r, warmup, samples):
    x = 0.5
    counts = [0] * ROWS
    for _ in range(warmup):
        x = r * x * (1 - x)
    for _ in range(samples):
        x = r * x * (1 - x)
        counts[min(int(x * ROWS), ROWS - 1)] += 1
    return counts


def main():
    picture = []
    exponents = []
    for c in range(COLS):
        r = R_MIN + (R_MAX - R_MIN) * c / COLS
        picture.append(column(r, 3000, 9000))
        exponents.append(lyapunov(r, 0.3, 6000))
    filled = sum(1 for col in picture for n in col if n)
    chaotic = sum(1 for e in exponents if e > 0)
    print("filled cells:", filled)
    print("chaotic columns:", chaotic)
    print("max exponent: %.5f" % max(exponents))
    print("fullest:", max(max(col) for col in picture))


if __name__ == "__main__":
    main()

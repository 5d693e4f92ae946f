"""A state of four numbers is four numbers: plain floats, sines and cosines taken once."""

from math import cos, sin

import numpy as np

G = 9.81
L1 = 1.0
L2 = 0.8
M1 = 1.0
M2 = 0.6


def derivs(th1, w1, th2, w2):
    delta = th2 - th1
    s, c = sin(delta), cos(delta)
    s1, s2 = sin(th1), sin(th2)
    den1 = (M1 + M2) * L1 - M2 * L1 * c**2
    den2 = (L2 / L1) * den1
    first, second = w1 * w1, w2 * w2
    dw1 = (
        M2 * L1 * first * s * c + M2 * G * s2 * c + M2 * L2 * second * s - (M1 + M2) * G * s1
    ) / den1
    dw2 = (
        -M2 * L2 * second * s * c
        + (M1 + M2) * G * s1 * c
        - (M1 + M2) * L1 * first * s
        - (M1 + M2) * G * s2
    ) / den2
    return dw1, dw2


def simulate(start, h, steps):
    trajectory = [start]
    a, u, b, v = start
    half = h / 2
    sixth = h / 6
    for _ in range(steps):
        p1, q1 = derivs(a, u, b, v)
        u2, v2 = u + half * p1, v + half * q1
        p2, q2 = derivs(a + half * u, u2, b + half * v, v2)
        u3, v3 = u + half * p2, v + half * q2
        p3, q3 = derivs(a + half * u2, u3, b + half * v2, v3)
        u4, v4 = u + h * p3, v + h * q3
        p4, q4 = derivs(a + h * u3, u4, b + h * v3, v4)
        a += sixth * (u + 2 * u2 + 2 * u3 + u4)
        b += sixth * (v + 2 * v2 + 2 * v3 + v4)
        u += sixth * (p1 + 2 * p2 + 2 * p3 + p4)
        v += sixth * (q1 + 2 * q2 + 2 * q3 + q4)
        trajectory.append((a, u, b, v))
    return np.array(trajectory)


def main():
    path = simulate((0.6, 0.0, 0.4, 0.1), 0.001, 75000)
    print("final", np.round(path[-1], 6))
    print("range th1", round(path[:, 0].min(), 6), round(path[:, 0].max(), 6))
    print("range th2", round(path[:, 2].min(), 6), round(path[:, 2].max(), 6))


main()

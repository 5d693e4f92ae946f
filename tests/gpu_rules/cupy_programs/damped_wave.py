"""A damped wave in float32: long element-wise expressions in a function and in the loop."""

import sys

import cupy as cp


def force(u, k):
    stretch = u * k
    return stretch * stretch * 0.01 - stretch * 0.5 + cp.tanh(u) * 0.1


def wave(size, steps):
    u = cp.sin(cp.linspace(0.0, 20.0, size, dtype=cp.float32))
    v = cp.zeros_like(u)
    dt = 0.01
    for _ in range(steps):
        lap = cp.roll(u, 1) + cp.roll(u, -1)
        pull = force(u, 1.5)
        v = (v + lap * dt - 2.0 * dt * u + pull * dt) * 0.999
        u = u + v * dt
    return u, v


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    u, v = wave(size, steps)
    print(round(float(cp.abs(u).sum()), 0), u.dtype, v.dtype)

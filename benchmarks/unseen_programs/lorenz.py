import sys

import numpy as np


def lorenz(state, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def rk4_step(f, state, dt):
    k1 = f(state)
    k2 = f(state + 0.5 * dt * k1)
    k3 = f(state + 0.5 * dt * k2)
    k4 = f(state + dt * k3)
    return state + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)


def integrate(start, dt, steps):
    trajectory = np.empty((steps + 1, 3))
    trajectory[0] = start
    for i in range(steps):
        trajectory[i + 1] = rk4_step(lorenz, trajectory[i], dt)
    return trajectory


if __name__ == "__main__":
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 310000
    orbit = integrate([1.0, 1.0, 1.0], 0.002, steps)
    crossings = 0
    for i in range(1, len(orbit)):
        if orbit[i - 1, 2] < 27.0 <= orbit[i, 2]:
            crossings += 1
    print("upward crossings of z = 27:", crossings)
    print("extent", np.round(orbit.min(axis=0), 5), np.round(orbit.max(axis=0), 5))
    print("end", np.round(orbit[-1], 6))

"""Double pendulum with RK4, state in small NumPy arrays."""

import numpy as np

G = 9.81
L1 = 1.0
L2 = 0.8
M1 = 1.0
M2 = 0.6


def derivs(state):
    th1, w1, th2, w2 = state
    delta = th2 - th1
    den1 = (M1 + M2) * L1 - M2 * L1 * np.cos(delta) ** 2
    den2 = (L2 / L1) * den1
    dw1 = (
        M2 * L1 * w1 * w1 * np.sin(delta) * np.cos(delta)
        + M2 * G * np.sin(th2) * np.cos(delta)
        + M2 * L2 * w2 * w2 * np.sin(delta)
        - (M1 + M2) * G * np.sin(th1)
    ) / den1
    dw2 = (
        -M2 * L2 * w2 * w2 * np.sin(delta) * np.cos(delta)
        + (M1 + M2) * G * np.sin(th1) * np.cos(delta)
        - (M1 + M2) * L1 * w1 * w1 * np.sin(delta)
        - (M1 + M2) * G * np.sin(th2)
    ) / den2
    return np.array([w1, dw1, w2, dw2])


def rk4(state, h):
    k1 = derivs(state)
    k2 = derivs(state + h / 2 * k1)
    k3 = derivs(state + h / 2 * k2)
    k4 = derivs(state + h * k3)
    return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def simulate(start, h, steps):
    trajectory = np.zeros((steps + 1, 4))
    trajectory[0] = start
    state = start
    for n in range(steps):
        state = rk4(state, h)
        trajectory[n + 1] = state
    return trajectory


def main():
    start = np.array([0.6, 0.0, 0.4, 0.1])
    path = simulate(start, 0.001, 75000)
    print("final", np.round(path[-1], 6))
    print("range th1", round(path[:, 0].min(), 6), round(path[:, 0].max(), 6))
    print("range th2", round(path[:, 2].min(), 6), round(path[:, 2].max(), 6))


main()

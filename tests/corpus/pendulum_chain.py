"""A damped pendulum chain; all is global."""

from math import *

N = 60
dt = 0.002
g = 9.81
k = 40.0
damp = 0.05
th = [0.0] * N
om = [0.0] * N
th[0] = 1.2
E_hist = []
t = 0.0
step = 0
while t < 75.0:
    acc = []
    for i in range(N):
        a = -g * sin(th[i]) - damp * om[i]
        if i > 0:
            a += k * (th[i - 1] - th[i])
        if i < N - 1:
            a += k * (th[i + 1] - th[i])
        acc.append(a)
    for i in range(N):
        om[i] += acc[i] * dt
        th[i] += om[i] * dt
    if step % 100 == 0:
        E = 0.0
        for i in range(N):
            E += 0.5 * om[i] ** 2 + g * (1 - cos(th[i]))
        E_hist.append(E)
    t += dt
    step += 1
print("steps", step, "t", t)
print("last energy %.12f" % E_hist[-1])
print("max energy", max(E_hist))
print(th[:5])

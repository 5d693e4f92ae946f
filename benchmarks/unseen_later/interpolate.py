"""Natural cubic spline, evaluated at many points."""

from math import exp, sin


def spline_coefficients(x, y):
    n = len(x) - 1
    h = [x[i + 1] - x[i] for i in range(n)]
    alpha = [0.0] * (n + 1)
    for i in range(1, n):
        alpha[i] = 3 / h[i] * (y[i + 1] - y[i]) - 3 / h[i - 1] * (y[i] - y[i - 1])
    l = [1.0] * (n + 1)
    mu = [0.0] * (n + 1)
    z = [0.0] * (n + 1)
    for i in range(1, n):
        l[i] = 2 * (x[i + 1] - x[i - 1]) - h[i - 1] * mu[i - 1]
        mu[i] = h[i] / l[i]
        z[i] = (alpha[i] - h[i - 1] * z[i - 1]) / l[i]
    b = [0.0] * n
    c = [0.0] * (n + 1)
    d = [0.0] * n
    for j in range(n - 1, -1, -1):
        c[j] = z[j] - mu[j] * c[j + 1]
        b[j] = (y[j + 1] - y[j]) / h[j] - h[j] * (c[j + 1] + 2 * c[j]) / 3
        d[j] = (c[j + 1] - c[j]) / (3 * h[j])
    return b, c, d


def evaluate(x, y, b, c, d, t):
    lo, hi = 0, len(x) - 1
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if x[mid] <= t:
            lo = mid
        else:
            hi = mid
    dt = t - x[lo]
    return y[lo] + b[lo] * dt + c[lo] * dt**2 + d[lo] * dt**3


def f(t):
    return sin(t) * exp(-t / 20.0)


xs = [i * 0.05 + 0.01 * (i % 3) for i in range(1201)]
ys = [f(t) for t in xs]
b, c, d = spline_coefficients(xs, ys)

N = 2600000
a, e = xs[0], xs[-1]
worst = 0.0
integral = 0.0
for k in range(N):
    t = a + (e - a) * k / N
    v = evaluate(xs, ys, b, c, d, t)
    integral += v * (e - a) / N
    err = abs(v - f(t))
    if err > worst:
        worst = err
print("integral %.8f" % integral)
print("worst error %.3e" % worst)

"""Autocorrelation and cross-correlation of two daily series, many lags."""


def series(n, a, b, m):
    vals = []
    s = a
    for t in range(n):
        s = (s * b + 7919) % m
        vals.append((t % 365) / 365.0 + s / m + 0.5 * ((t // 7) % 2))
    return vals


def mean(xs):
    return sum(xs) / len(xs)


def autocorrelation(xs, max_lag):
    n = len(xs)
    mu = mean(xs)
    var = sum((x - mu) ** 2 for x in xs)
    result = []
    for lag in range(max_lag + 1):
        acc = 0.0
        for t in range(n - lag):
            acc += (xs[t] - mu) * (xs[t + lag] - mu)
        result.append(acc / var)
    return result


def crosscorrelation(xs, ys, max_lag):
    n = len(xs)
    mx, my = mean(xs), mean(ys)
    sx = sum((x - mx) ** 2 for x in xs) ** 0.5
    sy = sum((y - my) ** 2 for y in ys) ** 0.5
    return [
        sum((xs[t] - mx) * (ys[t + lag] - my) for t in range(n - lag)) / (sx * sy)
        for lag in range(max_lag + 1)
    ]


first = series(180000, 17, 16807, 65537)
second = series(180000, 29, 48271, 65539)
ac = autocorrelation(first, 200)
cc = crosscorrelation(first, second, 40)
print("lag 1: %.6f lag 7: %.6f lag 14: %.6f lag 180: %.6f" % (ac[1], ac[7], ac[14], ac[180]))
best = max(range(1, len(ac)), key=ac.__getitem__)
print("strongest lag", best)
print("cross: %.6f at %d" % (max(cc), cc.index(max(cc))))

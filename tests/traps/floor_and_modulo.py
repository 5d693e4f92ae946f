"""// and % of negative numbers, round() to even, int() towards zero."""


def fold(n, step, period):
    total = quotients = 0
    for k in range(-n, n):
        v = k * step
        total += v % period
        quotients += v // period
        total -= (-v) % -period
    return total, quotients


def rounding(n):
    a = b = c = 0
    for k in range(-n, n):
        x = k * 0.5
        a += round(x) * (k % 7)
        b += int(x) * (k % 5)
        c += x // 1
    return a, b, repr(c)


for step in range(3, 9):
    print(fold(60_000, step, 7), rounding(60_000 + step))
print(fold(10, -3, -7), rounding(5), round(2.675, 2), round(-0.5), round(1e300) % 10**6)

# classify numbers into deficient, perfect and abundant


def divisor_sum(n):
    total = 1
    d = 2
    while d * d <= n:
        if n % d == 0:
            total += d
            if d != n // d:
                total += n // d
        d += 1
    return total


limit = 260000
perfect = []
abundant = 0
deficient = 1
best_ratio = 0
best = 0

for n in range(2, limit):
    s = divisor_sum(n)
    if s == n:
        perfect.append(n)
    elif s > n:
        abundant += 1
    else:
        deficient += 1
    if s / n > best_ratio:
        best_ratio = s / n
        best = n

print("perfect:", perfect)
print("abundant:", abundant, "deficient:", deficient)
print("richest:", best, round(best_ratio, 6))

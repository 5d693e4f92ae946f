"""Lengths of Collatz chains by a while loop."""


def longest(limit):
    best = 0
    start = 0
    for n in range(1, limit):
        steps = 0
        k = n
        while k != 1:
            if k % 2 == 0:
                k = k // 2
            else:
                k = 3 * k + 1
            steps += 1
        if steps > best:
            best = steps
            start = n
    return start, best


for limit in (300, 500, 700, 900):
    print(limit, longest(limit))

"""Names that a loop may leave unbound, ``else`` of loops, and a name that an inner loop sets late."""

import numpy as np


def corner(n, m):
    for i in range(n):
        for j in range(m):
            k = i * j % 7
    return i, j, k


def first_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            found = x[i]
            break
    else:
        i = -1
    return i, found


def running(x):
    for i in range(len(x)):
        if x[i] > 0.5:
            seen = x[i]
        x[i] = seen * 0.5
    return x


def attempt(function, *args):
    try:
        print(function.__name__, function(*args))
    except (UnboundLocalError, IndexError) as error:
        print(function.__name__, type(error).__name__, error)


x = np.linspace(0, 1, 300_000)
attempt(corner, 700, 700)
attempt(corner, 0, 3)
attempt(corner, 3, 0)
attempt(first_above, x, 0.9)
attempt(first_above, x, 1.5)
attempt(first_above, x[:0], 0.5)
attempt(first_above, x.tolist(), 0.999)
y = x[::-1].copy()
attempt(running, y)
attempt(running, x[:5].copy())
print(y[-3:])
for row in range(40):
    for column in range(5_000):
        late = row ^ column
print(row, column, late)

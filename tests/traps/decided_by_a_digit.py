"""Comparisons that hang on the last digit of exp and tanh: np.exp may round otherwise."""

import math

import numpy as np


def ties(values, table):
    same = 0
    for i in range(len(values)):
        if math.exp(values[i]) == table[i]:
            same += 1
    return same


def steps(values, out):
    for i in range(len(values)):
        out[i] = math.floor(math.tanh(values[i]) * 1e16)


def mandel(plane, out):
    height, width = plane.shape
    for y in range(height):
        for x in range(width):
            z = plane[y, x]
            z = z * z + plane[y, x]
            z = z * z + plane[y, x]
            out[y, x] = 1 if abs(z) > 2.0 else 0


rng = np.random.default_rng(13)
values = rng.random(40_000) * 5.0
table = np.array([math.exp(value) for value in values])
for start in range(5):
    print(ties(values[start:], table[start:]))
out = np.zeros(40_000, dtype=np.int64)
for _ in range(5):
    steps(values, out)
print(int(out.sum() % 1_000_003), out[:4].tolist())
plane = (rng.random((200, 250)) * 3.0 - 2.0) + 1j * (rng.random((200, 250)) * 2.0 - 1.0)
plane[:, 0] = 1.0
image = np.zeros((200, 250), dtype=np.uint8)
mandel(plane, image)
print(int(image.sum()))

"""Layers as matrices; the samples stay one after the other, as each changes the weights."""

import random

import numpy as np


def train(data, w1, w2, epochs, rate):
    inputs = [np.array(x + [1.0]) for x, _ in data]
    targets = [np.array(y) for _, y in data]
    hidden = np.ones(len(w1) + 1)
    first = hidden[:-1]
    for epoch in range(epochs):
        loss = 0.0
        for x, y in zip(inputs, targets, strict=True):
            first[:] = 1.0 / (1.0 + np.exp(-(w1 @ x)))
            out = 1.0 / (1.0 + np.exp(-(w2 @ hidden)))
            off = out - y
            loss += off @ off
            deltas = -off * out * (1 - out)
            hidden_deltas = (deltas @ w2)[:-1] * first * (1 - first)
            w2 += (rate * deltas)[:, None] * hidden
            w1 += (rate * hidden_deltas)[:, None] * x
        if epoch % 40 == 0:
            print("epoch", epoch, "loss %.8f" % loss)
    print("final %.8f" % loss)


def make_data(n, dim):
    data = []
    for _ in range(n):
        bits = [float(random.randint(0, 1)) for _ in range(dim)]
        data.append((bits, [float(sum(bits[:4]) % 2), float(sum(bits) > dim / 2)]))
    return data


def weights(rows, columns):
    return np.array([[random.uniform(-1, 1) for _ in range(columns)] for _ in range(rows)])


def main():
    random.seed(3)
    data = make_data(200, 16)
    w1 = weights(24, 17)
    w2 = weights(2, 25)
    train(data, w1, w2, 220, 0.5)


if __name__ == "__main__":
    main()

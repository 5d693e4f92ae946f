"""Feed-forward network with one hidden layer trained by plain loops (XOR-like task)."""

import math
import random


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


class Network:
    def __init__(self, n_in, n_hidden, n_out):
        self.n_in, self.n_hidden, self.n_out = n_in, n_hidden, n_out
        self.w1 = [[random.uniform(-1, 1) for _ in range(n_in + 1)] for _ in range(n_hidden)]
        self.w2 = [[random.uniform(-1, 1) for _ in range(n_hidden + 1)] for _ in range(n_out)]

    def forward(self, inputs):
        self.inputs = inputs + [1.0]
        self.hidden = []
        for j in range(self.n_hidden):
            total = 0.0
            for i in range(self.n_in + 1):
                total += self.w1[j][i] * self.inputs[i]
            self.hidden.append(sigmoid(total))
        self.hidden.append(1.0)
        self.outputs = []
        for k in range(self.n_out):
            total = 0.0
            for j in range(self.n_hidden + 1):
                total += self.w2[k][j] * self.hidden[j]
            self.outputs.append(sigmoid(total))
        return self.outputs

    def backward(self, targets, rate):
        deltas = []
        for k in range(self.n_out):
            o = self.outputs[k]
            deltas.append((targets[k] - o) * o * (1 - o))
        hidden_deltas = []
        for j in range(self.n_hidden):
            error = 0.0
            for k in range(self.n_out):
                error += deltas[k] * self.w2[k][j]
            h = self.hidden[j]
            hidden_deltas.append(error * h * (1 - h))
        for k in range(self.n_out):
            for j in range(self.n_hidden + 1):
                self.w2[k][j] += rate * deltas[k] * self.hidden[j]
        for j in range(self.n_hidden):
            for i in range(self.n_in + 1):
                self.w1[j][i] += rate * hidden_deltas[j] * self.inputs[i]


def make_data(n, dim):
    data = []
    for _ in range(n):
        bits = [float(random.randint(0, 1)) for _ in range(dim)]
        data.append((bits, [float(sum(bits[:4]) % 2), float(sum(bits) > dim / 2)]))
    return data


def main():
    random.seed(3)
    data = make_data(200, 16)
    net = Network(16, 24, 2)
    for epoch in range(220):
        loss = 0.0
        for x, y in data:
            out = net.forward(x)
            loss += sum((a - b) ** 2 for a, b in zip(out, y))
            net.backward(y, 0.5)
        if epoch % 40 == 0:
            print("epoch", epoch, "loss %.8f" % loss)
    print("final %.8f" % loss)


if __name__ == "__main__":
    main()

"""Numbers with their own arithmetic, and a list that counts how often it is read."""


class Mod7(int):
    def __add__(self, other):
        return Mod7((int(self) + int(other)) % 7)

    __radd__ = __add__

    def __mul__(self, other):
        return Mod7(int(self) * int(other) % 7)


class Counting(list):
    reads = 0

    def __getitem__(self, index):
        Counting.reads += 1
        return super().__getitem__(index)


def convolve(x, y):
    out = [x[0] * 0] * (len(x) + len(y) - 1)
    for i in range(len(x)):
        for j in range(len(y)):
            out[i + j] = out[i + j] + x[i] * y[j]
    return out


for n in range(600, 604):
    plain = convolve(list(range(n)), list(range(400)))
print(plain[250], sum(plain), type(plain[3]).__name__)
rings = convolve([Mod7(k) for k in range(300)], [Mod7(3 * k) for k in range(200)])
print(rings[:10], sum(int(r) for r in rings), type(rings[40]).__name__)
counted = convolve(Counting(range(500)), Counting(range(200)))
print(counted[150], Counting.reads)

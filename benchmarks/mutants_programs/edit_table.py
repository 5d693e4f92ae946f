"""Edit distance by a table of lists."""


def distance(a, b):
    previous = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        current = [i] + [0] * len(b)
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            current[j] = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost)
        previous = current
    return previous[-1]


def codes(seed, length):
    out = []
    for k in range(length):
        seed = (seed * 1103515245 + 12345) % 2147483648
        out.append(seed >> 16 & 3)
    return out


for k in range(5):
    print(distance(codes(k, 90), codes(k + 3, 80)))

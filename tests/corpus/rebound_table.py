"""A table that is read by a hot function and replaced between its calls."""

SCALE = 1.0
TABLE = [0.0] * 2000
MODE = "linear"


def refill():
    global TABLE
    TABLE = [SCALE * i for i in range(2000)]


def apply(xs):
    s = 0.0
    for x in xs:
        k = int(x)
        f = x - k
        if MODE == "linear":
            s += TABLE[k] * (1 - f) + TABLE[k + 1] * f
        else:
            s += TABLE[k]
    return s


xs = [(i * 7.31) % 1998 for i in range(500000)]
tot = []
for rnd in range(20):
    SCALE = 1.0 + rnd / 7
    refill()
    if rnd == 15:
        MODE = "nearest"
    tot.append(apply(xs))
print(tot[0], tot[14], tot[15], tot[-1])
TABLE = None
try:
    apply(xs)
except TypeError as e:
    print("TypeError", e)

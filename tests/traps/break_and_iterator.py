"""An iterator used on after a loop that ends early; and for .. else."""


def triangle_numbers():
    n, t = 1, 1
    while True:
        yield t
        n += 1
        t += n


def next_multiple(stream, k):
    for t in stream:
        if t % k == 0:
            break
    return t


stream = triangle_numbers()
found = []
for k in range(2, 4000):
    found.append(next_multiple(stream, k))
print(found[:8], found[-1], next(stream))

values = iter(range(9_000_000))
seen = 0
for v in values:
    seen += v
    if seen > 20_000_000_000_000:
        break
else:
    print("never")
print(v, seen, next(values), sum(1 for _ in values))

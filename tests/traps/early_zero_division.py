"""A mean over nothing in the middle of a table: the rows in front of it are filled, not the rest."""


def row_means(rows, limit, means):
    for i in range(len(rows)):
        total = 0.0
        count = 0
        for value in rows[i]:
            if value > limit:
                total += value
                count += 1
        means[i] = total / count


def spread(low, high, out):
    for i in range(len(out)):
        out[i] = low[i] + 1.0
        out[i] = 1.0 / (high[i] - low[i])


rows = [[((i * 31 + j * 17) % 97) / 97.0 for j in range(200)] for i in range(300)]
means = [0.0] * len(rows)
for limit in (0.25, 0.5, 0.75):
    row_means(rows, limit, means)
    print(repr(sum(means)), means[0], means[-1])
rows[70] = [0.0] * 200
means = [-1.0] * len(rows)
try:
    row_means(rows, 0.5, means)
except ZeroDivisionError as error:
    print(error, means[69], means[70], means[-1])

low = [float(i % 50) for i in range(60_000)]
high = [value + 2.0 for value in low]
out = [0.0] * len(low)
for _ in range(30):
    spread(low, high, out)
print(sum(out))
high[10] = low[10]
out = [0.0] * len(low)
try:
    spread(low, high, out)
except ZeroDivisionError as error:
    print(error, out[9:12])

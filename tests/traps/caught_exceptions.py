"""The loop lives by its exceptions: a bad record is counted, a zero stops the row."""

records = []
for i in range(1_200_000):
    records.append((i % 97, i % 13, "x" if i % 1009 == 0 else i % 7))

ratio_sum = 0.0
bad = zero = 0
for a, b, c in records:
    try:
        ratio_sum += a / b + c
    except ZeroDivisionError:
        zero += 1
    except TypeError as error:
        bad += 1
        if bad < 3:
            print(error)
print(repr(ratio_sum), bad, zero)


def row_ratios(rows):
    done = 0
    for row in rows:
        try:
            for k in range(len(row)):
                row[k] = 60 / row[k]
                done += 1
        except ZeroDivisionError:
            row.append(-1)
    return done


rows = [[(i * j) % 11 + (j % 5) for j in range(20)] for i in range(100_000)]
print(row_ratios(rows), rows[0], rows[12], sum(len(r) for r in rows))

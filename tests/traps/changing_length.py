"""The list grows and shrinks under the loop that walks along it."""


def sift(numbers):
    i = 0
    while i < len(numbers):
        v = numbers[i]
        if v % 3 == 0 and v > 9:
            numbers.append(v // 3)
            numbers[i] = v - 1
        elif v % 5 == 0:
            numbers.pop()
        i += 1
    return numbers


queue = list(range(1, 1_500_000))
result = sift(queue)
print(len(result), sum(result), result[:12], result is queue)

for x in (items := [3, 1, 2]):
    if len(items) < 12:
        items.append(x + 1)
print(items)

import sys

limit = int(sys.argv[1]) if len(sys.argv) > 1 else 620000


def collatz_length(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


longest = 0
start = 1
histogram = [0] * 600
for i in range(1, limit):
    length = collatz_length(i)
    histogram[length] += 1
    if length > longest:
        longest = length
        start = i

print("Longest chain below", limit, "starts at", start, "and takes", longest, "steps")
print("most frequent length", max(range(600), key=lambda k: histogram[k]))
mean = sum(k * c for k, c in enumerate(histogram)) / (limit - 1)
print("mean length", round(mean, 6))

# Which start below N has the longest Collatz chain?
N = 400000
best_start, best_length = 1, 1
highest = 1
for start in range(1, N):
    n = start
    length = 1
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
            if n > highest:
                highest = n
        length = length + 1
    if length > best_length:
        best_start, best_length = start, length
    if start == 120000:
        print("so far:", best_start, best_length)
        if N > 120001:
            N = 120001
            break
print(best_start, best_length, highest)

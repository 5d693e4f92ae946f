# N-Queens count (bit free, arrays) and magic coin change table
N = 9
count = 0
cols = [False] * N
diag1 = [False] * (2 * N - 1)
diag2 = [False] * (2 * N - 1)


def place(row):
    global count
    if row == N:
        count += 1
        return
    for c in range(N):
        if cols[c] or diag1[row + c] or diag2[row - c + N - 1]:
            continue
        cols[c] = diag1[row + c] = diag2[row - c + N - 1] = True
        place(row + 1)
        cols[c] = diag1[row + c] = diag2[row - c + N - 1] = False


for N in (9, 10, 11, 12):
    count = 0
    cols = [False] * N
    diag1 = [False] * (2 * N - 1)
    diag2 = [False] * (2 * N - 1)
    place(0)
    print(N, "queens:", count)

"""Knapsack with its choice, longest increasing subsequence, ways to pay."""


def knapsack(weights, values, cap):
    n = len(weights)
    dp = [[0 for _ in range(cap + 1)] for _ in range(n + 1)]
    for i in range(1, n + 1):
        for w in range(cap + 1):
            dp[i][w] = dp[i - 1][w]
            if weights[i - 1] <= w:
                cand = dp[i - 1][w - weights[i - 1]] + values[i - 1]
                if cand > dp[i][w]:
                    dp[i][w] = cand
    chosen = []
    w = cap
    for i in range(n, 0, -1):
        if dp[i][w] != dp[i - 1][w]:
            chosen.append(i - 1)
            w -= weights[i - 1]
    return dp[n][cap], chosen[::-1]


def lis(a):
    best = [1] * len(a)
    prev = [-1] * len(a)
    for i in range(len(a)):
        for j in range(i):
            if a[j] < a[i] and best[j] + 1 > best[i]:
                best[i] = best[j] + 1
                prev[i] = j
    k = best.index(max(best))
    seq = []
    while k >= 0:
        seq.append(a[k])
        k = prev[k]
    return seq[::-1]


def coins(cs, amount):
    ways = [0] * (amount + 1)
    ways[0] = 1
    for c in cs:
        for a in range(c, amount + 1):
            ways[a] += ways[a - c]
    return ways[amount]


ws = [(i * 37) % 91 + 5 for i in range(120)]
vs = [(i * 53) % 97 + 3 for i in range(120)]
v, ch = knapsack(ws, vs, 60000)
print(v, ch[:10], len(ch))
print(lis([(i * 7919) % 10007 for i in range(4500)])[:8])
print(coins([1, 2, 5, 10, 20, 50, 100, 200], 100000))

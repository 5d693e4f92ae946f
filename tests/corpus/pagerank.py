"""PageRank over sparse rows in plain lists."""

import random

random.seed(77)
n = 8000
links = {u: [random.randrange(n) for _ in range(random.randint(0, 12))] for u in range(n)}
indptr = [0]
indices = []
out = [0] * n
inc = [[] for _ in range(n)]
for u, vs in links.items():
    out[u] = len(vs)
    for v in vs:
        inc[v].append(u)
for v in range(n):
    indices.extend(inc[v])
    indptr.append(len(indices))
rank = [1.0 / n] * n
for it in range(150):
    nxt = [0.0] * n
    dang = 0.0
    for u in range(n):
        if out[u] == 0:
            dang += rank[u]
    for v in range(n):
        s = 0.0
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            s += rank[u] / out[u]
        nxt[v] = 0.15 / n + 0.85 * (s + dang / n)
    delta = sum(abs(a - b) for a, b in zip(nxt, rank))
    rank = nxt
print("delta", delta)
top = sorted(range(n), key=lambda v: -rank[v])[:5]
print([(t, rank[t]) for t in top])

"""Newton fractal for z^3-1 with complex scalars, ascii output."""

import cmath
import sys


def newton(z, itmax):
    for k in range(itmax):
        d = 3 * z * z
        if d == 0:
            return -1, k
        dz = (z * z * z - 1) / d
        z -= dz
        if abs(dz) < 1e-9:
            break
    else:
        return -1, itmax
    roots = (1, cmath.exp(2j * cmath.pi / 3), cmath.exp(-2j * cmath.pi / 3))
    for i in range(3):
        if abs(z - roots[i]) < 1e-6:
            return i, k
    return -1, k


w = int(sys.argv[1]) if len(sys.argv) > 1 else 700
h = w * 2 // 3
counts = [0] * 4
total = 0
rows = []
for r in range(h):
    line = ""
    for c in range(w):
        z = complex(-2 + 4 * c / w, -1.5 + 3 * r / h)
        root, k = newton(z, 50)
        counts[root] += 1
        total += k
        line += "abc."[root]
    rows.append(line)
print(counts, total)
for line in rows[:: h // 10]:
    print(line[:70])

"""Compile a numeric loop nest with ``numba.njit``.

Why it is slow: every iteration runs Python bytecode, and each number it touches is a new object; a
compiled loop needs about a nanosecond for the same step.
Why it may differ: Python ints have no limit, NumPy scalars keep their width, and Python raises
where compiled code goes on; each of these is proved not to happen, tested before the loops run, or
computed by a checked function. Where the compiled loops raise, the loop runs again in Python. Loops
whose iterations are proved independent may run in another order, along rows of the arrays; each
element still gets its terms in the order it had, so that no bit changes.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.numba_cpu import emit

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
def sweep(u, tolerance):
    n = len(u)
    change = 0.0
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            old = u[i, j]
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
            change = max(change, abs(u[i, j] - old))
    return change < tolerance
""",
        inputs="args = (rng.random((9, 9)), 0.1)",
        function="sweep",
        contains=("njit(cache=True)",),
    ),
    Rewrites(
        before="""\
def distance(a, b):
    d = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            if i == 0 or j == 0:
                d[i][j] = i + j
            else:
                cost = 0 if a[i - 1] == b[j - 1] else 1
                d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost)
    return d[-1][-1]
""",
        inputs="args = (rng.integers(0, 4, 12).tolist(), rng.integers(0, 4, 9).tolist())",
        function="distance",
        contains=(".tolist()",),
    ),
    Rewrites(
        before="""\
def longest(limit):
    best = 0
    for start in range(1, limit):
        n, count = start, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        best = max(best, count)
    return best
""",
        inputs="args = (30,)",
        function="longest",
        contains=("raise OverflowError", "_longest_loops_in_python(limit"),
    ),
    Rewrites(
        before="""\
def scan(text):
    state = "outside"
    marks = []
    depth = 0
    for ch in text:
        if state == "outside" and ch == "(":
            state = "inside"
        elif state == "inside":
            if ch == ")":
                state = "outside"
            elif ch.isalpha():
                marks.append(chr(ord(ch) ^ 32))
            depth += 1
    return state, depth, "".join(marks)
""",
        inputs="args = ('what (is) here (counts',)",
        function="scan",
        contains=("text.isascii()", "marks.extend(map(chr, new_marks))"),
    ),
    Ignores(
        before="""\
def draws(x, n):
    total = 0
    for _ in range(n):
        x = (6364136223846793005 * x + 1442695040888963407) % 2**64
        total += x // 2**60
    return total
""",
        because="products of 64-bit numbers outgrow 64 bits at once",
        inputs="args = (42, 20)",
        function="draws",
        reason="may outgrow 64 bits",
    ),
    Ignores(
        before="""\
def halve(values):
    for i in range(len(values)):
        values[i] = values[i] / 2
    return values
""",
        because="ints of a list become floats one by one, and arrays hold one type",
        inputs="args = ([1, 2, 3],)",
        function="halve",
        reason="holds int and is given float",
    ),
    Ignores(
        before="""\
def kinds(text):
    found = []
    for ch in text:
        found.append("digit" if ch.isdigit() else ch)
    return found
""",
        because="compiled code has numbers for single characters, not for words in a list",
        inputs="args = ('a1b22',)",
        function="kinds",
        reason="other text than one character",
    ),
    Ignores(
        before="""\
def last_two(row, values):
    for v in values:
        new = [v, row[0]]
        row = new
    return row
""",
        because="the caller has the list too, and sees whether it is the one that comes back",
        inputs="args = ([1.0, 2.0], [4.0, 3.0])",
        function="last_two",
        reason="may have another name",
    ),
    Ignores(
        before="""\
def report(a):
    for i in range(len(a)):
        print(i, a[i])
""",
        because="printing is an effect of every iteration",
        inputs="args = (rng.random(5),)",
        function="report",
    ),
)


@rule(needs={"numba"}, cases=CASES)
def loops_to_njit(region: Region) -> Match | Refusal | None:
    """Outline the loop nest and compile it."""
    return emit(region, parallel=False)

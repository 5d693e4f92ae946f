"""Where Python's numbers, exceptions and types are not NumPy's: rewritten alike, or refused.

Each case is observed on harmless arguments and then run on arguments chosen to tell the two
apart; what a caught exception leaves behind is compared as well.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Basis, Exactness, Match, Refusal
from gpuadvise.patch import apply_edits

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import assert_same, region_for, run
from numpy_cases import Case, Cases, reason, rewritten

HEAD = "import math\nimport numpy as np\n\n\n"
rng = np.random.default_rng(0)
F, G = rng.random(300), rng.random(300)
I = rng.integers(0, 50, 300)  # noqa: E741
NAN, INF = F.copy(), F.copy()
NAN[7], INF[9] = np.nan, np.inf
LF, LI = F.tolist(), I.tolist()
U8 = np.zeros(300, np.uint8)
OUT = np.zeros(300)
INTS = np.zeros(300, np.int64)
LATE = np.array([5] * 150 + [1000] + [0] * 149)
M = rng.random((60, 30))

CASES = Cases()


def add(name: str, body: str, observed: tuple[object, ...], *others: tuple[object, ...]) -> None:
    CASES.add(name, HEAD + body, observed, others)


add(
    "int of a clamped NaN raises",
    "def k(x, out):\n    for i in range(len(x)):\n"
    "        out[i] = int(min(max(x[i], 0.0), 255.0))\n",
    (F * 100, U8), (NAN, U8), (INF, U8),
)  # fmt: skip
add(
    "int of a sine of infinity raises",
    "def k(x, out):\n    for i in range(len(x)):\n        out[i] = int(np.sin(x[i]) * 10)\n",
    (F * 100, INTS), (NAN, INTS), (INF, INTS),
)  # fmt: skip
add(
    "an index that starts at 2**60",
    "def k(out, start):\n    for i in range(start, start + len(out)):\n"
    "        out[i - start] = i * 1000\n",
    (INTS, 5), (INTS, 2**60), (INTS[:3], 2**53 - 1), (INTS, 2**29),
)  # fmt: skip
add(
    "a scalar beyond 64 bits in where",
    "def k(x, big, out):\n    for i in range(len(x)):\n"
    "        out[i] = x[i] if x[i] < big else big\n",
    (I, 20, INTS), (I, 2**63, INTS), (I, 2**70, INTS), (I, -(2**70), INTS),
)  # fmt: skip
add(
    "a scalar beyond 64 bits in min",
    "def k(x, big, out):\n    for i in range(len(x)):\n        out[i] = min(x[i], big)\n",
    (I, 20, INTS), (I, 2**63, INTS), (I, 2**70, INTS),
)  # fmt: skip
add(
    "an integer against a float, exactly",
    "def k(x, t):\n    n = 0\n    for v in x:\n        if v > t:\n            n += 1\n"
    "    return n\n",
    ([2**40 + j for j in range(300)], 2.0**40 + 7),
    ([2**53 + 1] * 300, 2.0**53), ([2**59 + 1] * 300, float(2**59)), ([2**64] * 3, 2.0**64),
)  # fmt: skip
add(
    "integers divided exactly",
    "def k(a, b):\n    out = [0.0] * len(a)\n    for i in range(len(a)):\n"
    "        out[i] = a[i] / b[i]\n    return out\n",
    ([2**52 + j for j in range(300)], [3 + j for j in range(300)]),
    ([2**59 + j * 2 + 1 for j in range(300)], [3 + j for j in range(300)]), (LI, LI),
)  # fmt: skip
add(
    "a counter that starts at 2**62",
    "def k(x, base):\n    out = [0] * x.shape[0]\n    for i in range(x.shape[0]):\n"
    "        s = base\n        for j in range(x.shape[1]):\n            s += 3\n"
    "        out[i] = s\n    return out\n",
    (M, 5), (M, 2**62), (M, 2**63 - 5), (M, 2**64),
)  # fmt: skip
add(
    "an index out of range in the middle, after another store",
    "def k(a, idx, out, flag):\n    for i in range(len(idx)):\n        flag[i] = 1.0\n"
    "        out[i] = a[idx[i]] * 2.0\n",
    (F, rng.integers(0, 300, 300), OUT, OUT.copy()),
    (F, LATE, OUT, OUT.copy()), (F, -LATE, OUT, OUT.copy()), (F, I * 0 - 5, OUT, OUT.copy()),
)  # fmt: skip
add(
    "an index out of range in lists",
    "def k(a, idx, out):\n    for i in range(len(idx)):\n        out[i] = a[idx[i]] * 2.0\n",
    (LF, LI, [0.0] * 300), (LF, LATE.tolist(), [0.0] * 300), (LF[:40], LI, [0.0] * 300),
)  # fmt: skip
add(
    "a mean over nothing, into an array of our own",
    "def k(a):\n    out = np.zeros(a.shape[0])\n    for i in range(a.shape[0]):\n"
    "        s = 0.0\n        c = 0\n        for j in range(a.shape[1]):\n"
    "            if a[i, j] > 0:\n                s += a[i, j]\n                c += 1\n"
    "        out[i] = s / c\n    return out\n",
    (M,), (-M,), (np.repeat([[1.0], [-1.0]], 30, axis=1),),
)  # fmt: skip
add(
    "an element that nobody reads",
    "def k(a, b):\n    for i in range(len(a)):\n        t = b[i + 1]\n        a[i] = a[i] * 2.0\n",
    (F, rng.random(301)), (F, G), (F[:0], G[:0]), (F[:1], G[:2]),
)  # fmt: skip
add(
    "a quotient that is used where it is fine",
    "def k(a, b, out):\n    for i in range(len(a)):\n        t = 1.0 / b[i]\n"
    "        if b[i] != 0.0:\n            out[i] = a[i] * t\n        else:\n"
    "            out[i] = -1.0\n",
    (LF, LF, [0.0] * 300), (LF, [0.0, *LF[1:]], [0.0] * 300), ([], [], []),
)  # fmt: skip
add(
    "a scalar divisor that no iteration meets",
    "def k(a, s):\n    for i in range(len(a)):\n        v = 1.0 / s\n        a[i] = a[i] + 1.0\n",
    (F, 2.0), (F, 0.0), (F[:0], 0.0),
)  # fmt: skip
add(
    "sums under a condition on a scalar",
    "def k(a, b, mode):\n    total = 0.0\n    s = 0\n    for i in range(len(a)):\n"
    "        if mode == 3:\n            total += a[i]\n            s += b[i]\n"
    "    return total, s\n",
    (F, I, 3), (F, I, 2), (F[:0], I, 3),
)  # fmt: skip
add(
    "a sum under a condition on one of two indices",
    "def k(a, b):\n    total = 0.0\n    for i in range(a.shape[0]):\n"
    "        for j in range(a.shape[1]):\n            if b[j] > 0.5:\n"
    "                total += a[i, j]\n    return total\n",
    (M, F[:30]), (M[:, :3], F[:3]), (M, F[:30] * 0.0),
)  # fmt: skip
add(
    "the larger of a Python zero and an element divides",
    "def k(a, out):\n    for i in range(len(a)):\n        out[i] = 1.0 / max(0.0, a[i])\n",
    (F, OUT), (F - 2.0, OUT), (F * 0.0, OUT),
)  # fmt: skip
add(
    "a number as a truth value",
    "def k(a, b, mode, out):\n    for i in range(len(a)):\n"
    "        if a[i] > 0.3 and (b[i] > 0.5 and mode):\n            out[i] = 1.0\n"
    "        else:\n            out[i] = 2.0\n",
    (F, G, 2, OUT), (F, G, 0, OUT), (F, G, 4, OUT), (F, G, True, OUT), (F, G, 0.5, OUT),
)  # fmt: skip
add(
    "a second if sees the store of the first",
    "def k(a, b):\n    out = np.zeros(len(a))\n    for i in range(len(a)):\n"
    "        if a[i] > 0.5:\n            out[i] += a[i]\n"
    "        if b[i] > 0.5:\n            out[i] += b[i]\n    return out\n",
    (F, G), (G, F), (F[:0], G),
)  # fmt: skip
add(
    "downwards over nothing",
    "def k(a, r, n):\n    for i in range(2, n - 1):\n        r[n - 1 - i] = a[i] * 2.0\n",
    (F, G, 300), (F[:2], G[:2], 2), (F[:3], G[:3], 3), (F[:4], G[:4], 4), (F, G, 0), (F, G, -3),
)  # fmt: skip
add(
    "a buffer of negative extent",
    "def k(a):\n    h, w = a.shape\n    out = np.zeros((h, w))\n    for y in range(1, h - 1):\n"
    "        for x in range(1, w - 1):\n            q = 0.0\n"
    "            for d in range(w):\n                q += a[y, d]\n"
    "            out[y, x] = q\n    return out\n",
    (M,), (M[:1],), (M[:, :1],), (M[:2, :2],), (M[:0],), (M[:3, :3],),
)  # fmt: skip
add(
    "into a transposed slice",
    "def k(a, b):\n    s = 0.0\n    for i in range(b.shape[1]):\n"
    "        for j in range(b.shape[0] - 1):\n            a[j + 1, i] += b[j, i]\n"
    "            s += b[j, i]\n    return s\n",
    (M, M + 1.0), (M[:2], M[:2]), (M, M[:5, :7]), (M[:1], M[:1]),
)  # fmt: skip
add(
    "an integer quotient that nobody reads",
    "def k(a, s):\n    for i in range(len(a)):\n        v = 7 // s\n        a[i] = a[i] + 1.0\n",
    (F, 2), (F, 0), (F[:0], 0),
)  # fmt: skip
add(
    "bounds that are no integers",
    "def k(a, n):\n    s = 0.0\n    for i in range(1, n):\n        s += 0.5 * i\n"
    "    return s + a\n",
    (1.0, 300), (1.0, 300.0), (1.0, np.int64(300)), (1.0, True), (1.0, -4), (1.0, 1),
)  # fmt: skip
add(
    "the type of the largest",
    "def k(a):\n    best = -1e9\n    for i in range(len(a)):\n        if int(a[i]) > best:\n"
    "            best = int(a[i])\n    return best\n",
    (F * 100,), (F * 0,), (F[:1],),
)  # fmt: skip
add(
    "bytes and a scalar that is none",
    "def k(a, v, out):\n    for i in range(len(a)):\n        out[i] = a[i] + v\n",
    (I.astype(np.uint8), 3, INTS), (I.astype(np.uint8), 256, INTS), (I.astype(np.uint8), -1, INTS),
)  # fmt: skip
add(
    "remainders of floats",
    "def k(a, m):\n    out = [0.0] * len(a)\n    for i in range(len(a)):\n"
    "        out[i] = a[i] % m - a[i] // m\n    return out\n",
    (((F - 0.5) * 10).tolist(), 3.0), ([-1.0, 1.0, 0.0, -0.0] * 9, math.inf),
    ([-1.0, 1.0, 0.0, -0.0] * 9, -math.inf), ([1.0, -0.0] * 9, 0.0), (INF.tolist(), -0.7),
)  # fmt: skip
add(
    "squares that overflow",
    "def k(a):\n    out = [0.0] * len(a)\n    for i in range(len(a)):\n"
    "        out[i] = a[i] ** 2\n    return out\n",
    (LF,), ([1e200] * 3,), ([1e-200] * 3,), ([math.inf, 1.0],), ([math.nan, -2.0],),
)  # fmt: skip
add(
    "reciprocals of denormals",
    "def k(a):\n    out = [0.0] * len(a)\n    for i in range(len(a)):\n"
    "        out[i] = a[i] ** -1\n    return out\n",
    ([v + 1 for v in LF],), ([5e-324] * 3,), ([0.0] * 3,), ([-0.25, math.inf],),
)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_rewrite_does_what_the_loop_does(name: str) -> None:
    case = CASES[name]
    match, after = rewritten(case)
    assert match.safe
    tolerance = 0.0 if match.exactness is Exactness.BITS else 1e-14
    for args in (case.observed, *case.others):
        old, new = run(case.text, "k", args), run(after, "k", args)
        assert_same(old, new, tolerance=tolerance, compare_warnings=False)


STORAGE = {
    "read-only, nothing to store": (
        "def k(a):\n    for i in range(len(a)):\n        if a[i] > 0.9:\n            a[i] = 0.9\n",
        (F,),
        ("a = rng.random(9) * 0.5; a.flags.writeable = False; args = (a,)",
         "a = rng.random(9) + 0.5; a.flags.writeable = False; args = (a,)"),
    ),
    "read-only, after another store": (
        "def k(a, b, c):\n    for i in range(len(a)):\n        b[i] = a[i] + 1.0\n"
        "        c[i] += a[i]\n",
        (F, G, OUT),
        ("a, b, c = rng.random((3, 9)); c.flags.writeable = False; args = (a, b, c)",
         "a, b, c = (x.copy() for x in rng.random((3, 9))); c.flags.writeable = False\n"
         "args = (a, b, c)"),
    ),
    "elements on top of each other": (
        "def k(a, w):\n    for i in range(a.shape[0]):\n        for j in range(a.shape[1]):\n"
        "            w[i, j] += a[i, j]\n",
        (M, M.copy()),
        ("args = (rng.random((7, 5)), np.lib.stride_tricks.sliding_window_view("
         "np.zeros(11), 5, writeable=True))",
         "args = (rng.random((7, 5)), np.zeros((7, 10))[:, ::2])"),
    ),
    "stretched elements, not contiguous when observed": (
        "def k(a, w):\n    for i in range(len(a)):\n        w[i] += a[i]\n",
        (F, np.zeros(600)[::2]),
        ("args = (rng.random(7), np.lib.stride_tricks.as_strided(np.zeros(1), (7,), (0,)))",
         "args = (rng.random(7), np.zeros(14)[::2])", "args = (rng.random(7), np.zeros(7)[::-1])"),
    ),
    "rows of lists that are one": (
        "def k(g, h):\n    for i in range(len(g)):\n        for j in range(len(g[0])):\n"
        "            g[i][j] = h[i][j] * 2.0\n",
        (M.tolist(), M.tolist()),
        ("r = [1.0, 2.0]; args = ([list(r), list(r)], [r, r])",
         "r = [1.0, 2.0]; args = ([r, list(r)], [list(r), r])",
         "g = [[1.0, 2.0], [3.0, 4.0]]; args = (g, g)", "r = [1.0]; args = ([r, r], [[2.0]] * 2)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STORAGE)
def test_storage_that_only_the_run_knows(name: str) -> None:
    text, observed, inputs = STORAGE[name]
    match, after = rewritten(Case(HEAD + text, observed, ()))
    assert match.safe
    for given in inputs:
        old, new = run(HEAD + text, "k", inputs=given), run(after, "k", inputs=given)
        assert_same(old, new, compare_warnings=False)


REFUSED = {
    "a mean over nothing leaves half an array": (
        "def k(a, out):\n    for i in range(len(a)):\n        s = 0.0\n        c = 0\n"
        "        for j in range(len(a[i])):\n            if a[i][j] > 0:\n"
        "                s += a[i][j]\n                c += 1\n        out[i] = s / c\n",
        (M.tolist(), np.zeros(60)),
        "a divisor may be zero",
    ),
    "a sum of one type or another": (
        "def k(a, s):\n    total = 0.0\n    for i in range(len(a)):\n"
        "        total += s if s != 2.0 else a[i]\n    return total\n",
        (F, 1.5),
        "depending on the data",
    ),
    "a total of integers or floats": (
        "def k(a):\n    total = 0\n    for i in range(len(a)):\n"
        "        total += min(i, a[i])\n    return total\n",
        (LF,),
        "depending on the data",
    ),
    "quotients of integers that no double holds": (
        "def k(a, b):\n    out = [0.0] * len(a)\n    for i in range(len(a)):\n"
        "        out[i] = a[i] / b[i]\n    return out\n",
        ([2**57 + 2 * j + 1 for j in range(300)], [3 + j for j in range(300)]),
        "exact double",
    ),
    "comparisons of integers that no double holds": (
        "def k(x, t):\n    n = 0\n    for v in x:\n        if v > t:\n            n += 1\n"
        "    return n\n",
        ([2**53 + j % 3 for j in range(300)], 2.0**53),
        "exact double",
    ),
    "an integer zero has no sign": (
        "def k(a, out):\n    for i in range(len(a)):\n        s = 0\n"
        "        if a[i] > 0.5:\n            s = a[i]\n        out[i] = -s\n",
        (F, OUT),
        "negative zero",
    ),
    "nor has the larger of 0 and a float": (
        "def k(a, out):\n    for i in range(len(a)):\n        out[i] = max(0, a[i]) * -2\n",
        (LF, OUT),
        "negative zero",
    ),
    "nothing is computed": (
        "def k(a):\n    for i in range(len(a)):\n        t = a[i] * 2.0\n",
        (F,),
        "nothing that the loop computes",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_reason(name: str) -> None:
    text, observed, words = REFUSED[name]
    assert words in reason(HEAD + text, *observed)


def test_a_decision_on_a_last_digit_is_assumed() -> None:
    """``math.exp`` and ``np.exp`` may round otherwise, and a comparison shows it."""
    compared = (
        "def k(a, t):\n    n = 0\n    for i in range(len(a)):\n"
        "        if math.exp(a[i]) > t:\n            n += 1\n    return n\n"
    )
    match = emit(region_for(HEAD + compared, "k", (F, 1.5)))
    assert isinstance(match, Match) and not match.safe
    assert [c.basis for c in match.ledger if "last digit" in c.text] == [Basis.ASSUMED]
    stored = "def k(a, out):\n    for i in range(len(a)):\n        out[i] = math.exp(a[i]) * 2.0\n"
    match = emit(region_for(HEAD + stored, "k", (F, OUT)))
    assert isinstance(match, Match) and match.safe and match.exactness is Exactness.LAST_DIGIT


def test_no_rewrite_claims_that_warnings_stay() -> None:
    text = "def k(a, b):\n    for i in range(len(a)):\n        a[i] = a[i] / b[i]\n"
    match = emit(region_for(HEAD + text, "k", (F, G)))
    assert isinstance(match, Match)
    assert any("warnings" in sentence for sentence in match.differences)
    assert not any("warning" in c.text for c in match.ledger)


def test_empty_branches_of_the_text() -> None:
    """What is left of an ``if`` without effect still asks its condition."""
    text = (
        "def k(a, b):\n    for i in range(len(a)):\n        if b[i + 1] > 0.5:\n"
        "            t = 1.0\n        a[i] = 2.0 * a[i]\n"
    )
    region = region_for(HEAD + text, "k", (F, rng.random(301)))
    match = emit(region)
    if isinstance(match, Refusal):
        return
    after = apply_edits(region.source, match.edits).decode()
    for args in ((F, rng.random(301)), (F, G), (F[:0], G[:0])):
        assert_same(run(HEAD + text, "k", args), run(after, "k", args))


def test_what_a_loop_leaves_behind_is_not_its_start() -> None:
    """A hand-written argmin: nobody reads ``best`` in the loop that sets it."""
    text = (
        "def k(points, centers):\n    labels = np.zeros(len(points), dtype=int)\n"
        "    for i in range(len(points)):\n        best = -1\n        least = 1e18\n"
        "        for c in range(len(centers)):\n            d = 0.0\n"
        "            for j in range(points.shape[1]):\n"
        "                d += (points[i, j] - centers[c, j]) ** 2\n"
        "            if d < least:\n                least = d\n                best = c\n"
        "        labels[i] = best\n    return labels\n"
    )
    args = (rng.random((50, 3)), rng.random((8, 3)))
    region = region_for(HEAD + text, "k", args)
    match = emit(region)
    after = HEAD + text
    if isinstance(match, Match):
        after = apply_edits(region.source, match.edits).decode()
    found = run(after, "k", args)
    assert_same(run(HEAD + text, "k", args), found)
    assert len(set(found.result.tolist())) > 1


def test_a_narrowed_copy_holds_what_the_array_does():
    """In bytes 256 is 0: that the numbers are that small is asked where they are only compared."""
    text = """
def k(b, c):
    total = 0
    for i in range(1, len(b)):
        if b[i] == 2 or b[i - 1] == 1 or b[i] == c or b[i - 1] == 0:
            total += 1
    return total
"""
    small = np.arange(200) % 3
    match = emit(region_for(text, "k", (small, 1)))
    assert isinstance(match, Match)
    after = apply_edits(region_for(text, "k", (small, 1)).source, match.edits).decode()
    for numbers in (small, small * 256, small - 257, small[:0], small[:1]):
        assert_same(run(text, "k", (numbers, 1)), run(after, "k", (numbers, 1)))

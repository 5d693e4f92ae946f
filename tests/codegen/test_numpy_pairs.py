"""Sums over pairs: all terms at once, rows added in order, each pair from both sides."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Exactness, Match
from gpuadvise.patch import apply_edits

HEAD = "import math\n\nimport numpy as np\n\n\n"
rng = np.random.default_rng(4)
N = 24
XS, YS, MS = (rng.normal(0.0, 2.0, N).tolist() for _ in range(3))
POINTS = rng.normal(0.0, 2.0, (N, 3)).tolist()
NAN, INF = float("nan"), float("inf")
ODD_POINTS = (
    ([], []),
    ([1.0], [[0.0, 1.0, 2.0]]),
    ([1.0, 2.0], [[0.0, 1.0, 2.0], [1.0, -0.5, 0.0]]),
    ([1.0, 2.0, 3.0], [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [1.0, 0.0, -0.0]]),
    ([1.0, 2.0, 3.0], [[0.0, 1.0, 2.0], [0.0, NAN, 2.0], [1.0, 0.0, -0.0]]),
    ([1.0, INF, 3.0], [[0.0, 1.0, 2.0], [0.0, 3.0, 2.0], [1.0, 0.0, -0.0]]),
    ([1.0, 2.0, 3.0], [[1e200, 1.0, 2.0], [0.0, 3.0, 2.0], [1.0, 0.0, -0.0]]),
    ([1.0, -0.0, 0.0], [[-0.0, 0.0, 2.0], [0.0, -0.0, 2.0], [1.0, 0.0, -0.0]]),
    ([1, 2, 3], [[0, 1, 2], [4, 3, 2], [1, 0, 5]]),
    ([1.0, 2.0], [[0.0, 1.0, 2.0], [0.0, 3.0]]),
    ([1.0, 2.0], [[0.0, 1.0, 2.0], [0.0, 3.0, 2.0], [1.0, 0.0, 1.0]]),
)


@dataclass(frozen=True)
class Case:
    """A function ``k``, and what it is called with."""

    text: str
    args: tuple[object, ...]
    others: tuple[tuple[object, ...], ...]
    contains: tuple[str, ...]


CASES = {
    "third law": Case(
        """\
def k(masses, positions):
    n = len(masses)
    acc = [[0.0, 0.0, 0.0] for _ in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            dx = positions[j][0] - positions[i][0]
            dy = positions[j][1] - positions[i][1]
            dz = positions[j][2] - positions[i][2]
            r2 = dx * dx + dy * dy + dz * dz
            inv = 0.5 / (r2 * math.sqrt(r2))
            acc[i][0] += masses[j] * inv * dx
            acc[i][1] += masses[j] * inv * dy
            acc[i][2] += masses[j] * inv * dz
            acc[j][0] -= masses[i] * inv * dx
            acc[j][1] -= masses[i] * inv * dy
            acc[j][2] -= masses[i] * inv * dz
    return acc
""",
        (MS, POINTS),
        ODD_POINTS,
        ("np.add.reduce(terms, initial=-0.0)", "np.where(mask, r2 * np.sqrt(r2), 1.0)"),
    ),
    "all others": Case(
        """\
def k(masses, positions):
    n = len(masses)
    result = []
    for i in range(n):
        ax = ay = 0.0
        for j in range(n):
            if j == i:
                continue
            dx = positions[j][0] - positions[i][0]
            dy = positions[j][1] - positions[i][1]
            r = math.sqrt(dx * dx + dy * dy)
            ax += masses[j] * dx / (r * r * r)
            ay -= masses[j] * dy / r
        positions[i][2] = ax - ay
    return positions
""",
        (MS, POINTS),
        ODD_POINTS,
        ("np.add.reduce(terms, initial=0.0)", "np.subtract.reduce(terms)"),
    ),
    "cut off": Case(
        """\
def k(xs, ys, size):
    fx = [0.0] * len(xs)
    fy = [0.0] * len(xs)
    for i in range(len(xs) - 1):
        xi = xs[i]
        for j in range(i + 1, len(xs)):
            dx = xi - xs[j]
            dx = dx - size * round(dx / size)
            dy = ys[i] - ys[j]
            r2 = dx**2 + dy**2
            if r2 < 4.0:
                near = 1.0 / r2
                f = near**3 * (near**3 - 0.5)
                fx[i] += f * dx
                fy[i] += f * dy
                fx[j] -= f * dx
                fy[j] -= f * dy
    return fx, fy
""",
        (XS, YS, 7.5),
        (
            ([], [], 7.5),
            ([1.0], [2.0], 7.5),
            ([1.0, 1.0], [2.0, 2.0], 7.5),
            ([1.0, 2.0], [2.0, 2.5], 0.0),
            ([1.0, 2.0, 1.5], [2.0, 2.5, NAN], 7.5),
            ([1.0, 2.0, 1.5], [2.0], 7.5),
        ),
        ("np.add.reduce(terms, initial=-0.0)",),
    ),
    "lower pairs": Case(
        """\
def k(x, q):
    f = np.zeros(len(x))
    for i in range(1, len(x)):
        for j in range(i):
            gap = x[i] - x[j]
            push = q[i] * q[j] * gap / (abs(gap) + 0.25)
            f[j] -= push
            f[i] += push
    return f
""",
        (np.array(XS), np.array(MS)),
        (
            (np.zeros(0), np.zeros(0)),
            (np.ones(1), np.ones(1)),
            (np.array([1.0, 1.0, -0.0]), np.array([0.0, -0.0, 2.0])),
            (np.array(XS)[::-2], np.array(MS)[::-2]),
            (np.arange(6), np.arange(6)),
            (np.arange(6.0, dtype=np.float32), np.arange(6.0, dtype=np.float32)),
            (np.array([1.0, NAN, 2.0]), np.array([1.0, 1.0, 2.0])),
        ),
        ("np.add.reduce(terms, initial=-0.0)",),
    ),
}

CASES["potential"] = Case(
    """\
def k(masses, xs):
    total = 0.0
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            total -= masses[i] * masses[j] / abs(xs[i] - xs[j])
    return total
""",
    (MS * 5, rng.normal(0.0, 2.0, 5 * N).tolist()),
    (
        ([], []),
        ([1.0], [2.0]),
        ([1.0, 2.0], [2.0, 2.0]),
        ([1.0, 2.0, 3.0], [2.0, 1.0, 1e-320]),
        ([1.0, 2.0, NAN], [2.0, 1.0, 0.0]),
        ([1.0, 2.0], [2.0, 1.0, 0.0]),
    ),
    ("np.subtract.accumulate(", "except FloatingPointError:"),
)


def rewritten(text: str, args: tuple[object, ...]) -> tuple[str, Match]:
    """The new text, and the match."""
    region = region_for(HEAD + text, "k", args)
    match = emit(region)
    assert isinstance(match, Match), match
    return apply_edits(region.source, match.edits).decode(), match


@pytest.mark.parametrize("name", CASES)
def test_bit_for_bit(name: str) -> None:
    """Digits, signs of zeros and exceptions; also with two of one place, and of one alone."""
    case = CASES[name]
    after, match = rewritten(case.text, case.args)
    assert match.safe and match.exactness is Exactness.BITS
    for wanted in case.contains:
        assert wanted in after, after
    for args in (case.args, *case.others):
        old, new = run(HEAD + case.text, "k", args), run(after, "k", args)
        assert_same(old, new, compare_warnings=False)


@pytest.mark.parametrize(
    "body",
    [
        # no mirror image: the other one gets another term
        "f[i] += q[i] * gap\n            f[j] -= q[i] * gap",
        "f[i] += gap\n            f[j] += gap",
        "f[i] += math.sin(gap + 1.0)\n            f[j] -= math.sin(gap + 1.0)",
        # two terms that come in another order from the other side
        "f[i] += gap\n            f[i] += q[j]\n            f[j] += q[i]\n            f[j] -= gap",
        # what is added to is read
        "f[i] += f[j] * gap\n            f[j] -= f[i] * gap",
        # one side only
        "f[i] += gap",
        # divided by what may be zero of either sign
        "f[i] += q[i] * q[j] / gap\n            f[j] += q[i] * q[j] / -gap",
    ],
)
def test_terms_that_are_no_mirror_images(body: str) -> None:
    text = f"""\
def k(x, q):
    f = [0.0] * len(x)
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            gap = x[i] - x[j]
            {body}
    return f
"""
    region = region_for(HEAD + text, "k", (XS, MS))
    match = emit(region)
    if not isinstance(match, Match):
        return
    after = apply_edits(region.source, match.edits).decode()
    for args in ((XS, MS), ([1.0, 1.0, 2.0], [0.5, 0.25, -0.0])):
        old, new = run(HEAD + text, "k", args), run(after, "k", args)
        assert_same(old, new, compare_warnings=False)
    assert "range(len(x)" in after and ".reduce(" not in after


def test_sums_that_begin_at_minus_zero() -> None:
    """``-0.0 + (x - x)`` is 0.0, and ``-0.0 - (x - x)`` is -0.0: only zeros may be before."""
    text = """\
def k(x, f):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            gap = x[i] - x[j]
            f[i] += gap
            f[j] -= gap
    return f
"""
    region = region_for(HEAD + text, "k", (XS, [0.0] * N))
    match = emit(region)
    after = HEAD + text
    if isinstance(match, Match):
        after = apply_edits(region.source, match.edits).decode()
    for args in ((XS, [0.0] * N), ([1.0, 1.0, 1.0], [-0.0, -0.0, -0.0])):
        assert_same(run(HEAD + text, "k", args), run(after, "k", args))


def test_rows_are_added_in_order() -> None:
    """What the rewrites of such loops rest on: a matrix is reduced row by row."""
    for rows, columns in ((1, 2), (2, 2), (3, 2), (1000, 2), (30000, 2), (129, 8), (700, 300)):
        terms = rng.normal(0.0, 1.0, (rows, columns)) * np.exp(
            rng.normal(0.0, 5.0, (rows, columns))
        )
        added, taken = np.zeros(columns), terms[0].copy()
        for number, row in enumerate(terms):
            added = added + row
            taken = taken - row if number else taken
        assert np.add.reduce(terms, initial=0.0).tolist() == added.tolist()
        # -0.0 and nothing else is left by -0.0 and -0.0
        assert np.signbit(np.add.reduce(-0.0 * np.abs(terms), initial=-0.0)).all()
        assert np.subtract.reduce(terms).tolist() == taken.tolist()


def test_sums_that_stay_minus_zero() -> None:
    text = """\
def k(x):
    out = [0.0] * len(x)
    for i in range(len(x)):
        s = x[i]
        for j in range(len(x)):
            s += x[j] * abs(x[i])
        out[i] = s
    return out
"""
    after, _ = rewritten(text, (XS,))
    assert ".reduce(" in after
    for args in ((XS,), ([-0.0, -0.0, -0.0],), ([0.0, -0.0, 0.0],)):
        assert_same(run(HEAD + text, "k", args), run(after, "k", args))


@pytest.mark.parametrize("seed", range(40))
def test_random_pairs(seed: int) -> None:
    """Terms of all kinds; those that are mirror images are found, and none else is called one."""
    draw = random.Random(seed)
    parts = ["gap", "(x[i] + x[j])", "q[i] * q[j]", "abs(gap)", "gap * gap", "round(gap)", "s"]
    parts += ["q[i]", "q[j]", "(x[j] - x[i])", "-gap", "gap**2", "gap**3", "0.5", "(gap > 0.0)"]

    def term() -> str:
        return draw.choice((" * ", " + ", " - ")).join(draw.sample(parts, draw.randint(1, 3)))

    one = term()
    turned = one.replace("[i]", "[k]").replace("[j]", "[i]").replace("[k]", "[j]")
    other = draw.choice((one, turned, turned, term()))
    signs = draw.choice(("+-", "-+", "++"))
    text = f"""\
def k(x, q, s):
    f = [0.0] * len(x)
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            gap = x[i] - x[j]
            if {draw.choice(("True", "gap * gap < 4.0", "abs(gap) < 1.5", "q[i] < q[j]"))}:
                f[i] {signs[0]}= {one}
                f[j] {signs[1]}= {other}
    return f
"""
    region = region_for(HEAD + text, "k", (XS, MS, 0.25))
    match = emit(region)
    if not isinstance(match, Match):
        return
    after = apply_edits(region.source, match.edits).decode()
    tied = [draw.choice((0.0, -0.0, 1.0, 0.5)) for _ in range(9)]
    for args in ((XS, MS, 0.25), (tied, tied[::-1], -0.0), ([2.0], [1.0], 1.0), ([], [], 0.0)):
        old, new = run(HEAD + text, "k", args), run(after, "k", args)
        assert_same(old, new, compare_warnings=False)


@pytest.mark.parametrize(
    "value",
    ["1.0 / x[i]", "(x[i] - 1.0) / (x[i] * x[i])", "x[i] ** 3", "x[i] ** -2", "0.5 ** q[i]"],
)
def test_what_a_condition_leaves_out_raises_nothing(value: str) -> None:
    """One is divided by there, and one raised to the power; all else raises as it did."""
    text = f"""\
def k(x, q):
    out = [0.0] * len(x)
    for i in range(len(x)):
        y = x[i] + 0.0 * q[i]
        if y > 0.0:
            out[i] = ({value.replace("x[i]", "y")}) + q[i]
    return out
"""
    after, match = rewritten(text, (XS * 20, MS * 20))
    assert match.safe
    few = [0.0, -0.0, -1.5, 2.0, 1e-5]
    for args in (
        (XS * 20, MS * 20),
        (few, few),
        ([1e-200], [1.0]),
        ([1e300], [-1e300]),
        ([NAN], [1.0]),
    ):
        old, new = run(HEAD + text, "k", args), run(after, "k", args)
        assert_same(old, new, compare_warnings=False)
    ones = run(after.replace("if not stored:", "if False:"), "k", (few, few))
    assert ones.result == run(HEAD + text, "k", (few, few)).result


def test_one_column_is_added_in_order_too() -> None:
    """NumPy adds a single column in pairs: the loop itself runs for it."""
    text = """\
def k(x, q):
    out = [0.0] * len(x)
    for i in range(len(x)):
        s = 0.25
        for j in range(len(q)):
            s += q[j] * abs(x[i] - q[j])
        out[i] = s
    return out
"""
    many = rng.normal(0.0, 1.0, 3000).tolist()
    after, _ = rewritten(text, (XS, MS))
    assert ".reduce(" in after
    for args in ((XS, MS), (XS[:1], many), (XS[:2], many), ([], many), (XS, [])):
        assert_same(run(HEAD + text, "k", args), run(after, "k", args))

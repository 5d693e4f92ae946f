"""Sums of products as products of arrays: equal up to rounding, on the data and on other data."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest
from harness import assert_same, region_for, run
from numpy_cases import ROUNDING, perturbed
from numpy_cases import check_products as check

from gpuadvise.cases import chain_for
from gpuadvise.codegen.numpy_backend import emit_products
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

rng = np.random.default_rng(7)


def match_of(text, args):
    region = region_for(text, "k", args)
    return region, emit_products(region)


MATMUL = """
def k(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for m in range(b.shape[0]):
                c[i, j] += a[i, m] * b[m, j]
"""
A, B = rng.random((41, 37)), rng.random((37, 43))


@pytest.mark.parametrize("order", list(permutations("ijm")))
def test_all_orders_of_a_matrix_product(order):
    bounds = {"i": "a.shape[0]", "j": "b.shape[1]", "m": "b.shape[0]"}
    lines = ["def k(a, b, c):"]
    for depth, name in enumerate(order, 1):
        lines.append("    " * depth + f"for {name} in range({bounds[name]}):")
    lines.append("    " * 4 + "c[i, j] += 2.5 * a[i, m] * b[m, j]\n")
    after = check("\n".join(lines), (A, B, rng.random((41, 43))))
    assert " @ " in after


def test_transposes_are_read_as_they_lie():
    text = """
def k(x, y, out):
    n, d = x.shape
    for p in range(n):
        for q in range(len(y)):
            acc = 0.0
            for t in range(d):
                acc += x[p][t] * y[q][t]
            out[p][q] = acc
"""
    after = check(text, (A, rng.random((29, 37)), np.zeros((41, 29))))
    assert ".T" in after
    assert "acc" not in after.partition("else:")[0].partition("out[:]")[2]


def test_two_sums_of_one_loop_become_two_products():
    text = """
def k(a, p, r):
    n, m = a.shape
    s = np.zeros(m)
    q = np.zeros(n)
    for i in range(n):
        for j in range(m):
            s[j] += r[i] * a[i, j]
            q[i] += a[i, j] * p[j]
    return s, q
"""
    after = check("import numpy as np\n" + text, (A, rng.random(37), rng.random(41)))
    assert "r @ a" in after
    assert "a @ p" in after


def test_a_quadratic_form():
    text = """
def k(x, a):
    total = 0.0
    for i in range(len(x)):
        row = 0.0
        for j in range(len(x)):
            row += a[i, j] * x[j]
        total += x[i] * row
    return total
"""
    after = check(text, (rng.random(37), rng.random((37, 37))))
    assert "@" in after.partition("else:")[0]


def test_three_factors_and_a_divisor():
    text = """
def k(a, b, w, c, scale):
    for i in range(len(a)):
        for j in range(len(c[0])):
            for t in range(len(w)):
                c[i, j] += a[i, t] * w[t] * b[t, j] / scale
"""
    after = check(text, (A, B, rng.random(37), np.zeros((41, 43)), 3.0))
    assert "@" in after


def test_a_double_sum_is_one_product():
    text = """
def k(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * b[i, j]
    return total
"""
    assert "np.vdot(a, b" in check(text, (A, rng.random(A.shape)))


def test_a_tensor_contraction():
    text = """
def k(t, m, out):
    for a in range(t.shape[0]):
        for b in range(t.shape[1]):
            for c in range(m.shape[1]):
                s = 0.0
                for d in range(m.shape[0]):
                    s += t[a, b, d] * m[d, c]
                out[a, b, c] = s
"""
    after = check(text, (rng.random((5, 6, 31)), rng.random((31, 33)), np.zeros((5, 6, 33))))
    assert " @ m" in after


def test_rows_multiplied_in_pairs_need_no_temporary():
    text = """
def k(a, b, out):
    for i in range(len(a)):
        for j in range(a.shape[1]):
            out[i] += a[i, j] * b[i, j]
"""
    assert "einsum" in check(text, (A, rng.random(A.shape), np.zeros(41)))


def test_squared_differences_are_computed_once():
    text = """
def k(x, centre):
    total = 0.0
    for v, c in zip(x, centre):
        d = v - c
        total += d * d
    return total
"""
    assert "((x - centre)**2).sum()" in check(text, (rng.random(300), rng.random(300)))


def test_lists_stay_lists_and_floats_floats():
    text = """
def k(a, x):
    y = [0.0] * len(a)
    for i in range(len(a)):
        for j in range(len(x)):
            y[i] += a[i][j] * x[j]
    return y
"""
    check(text, (A.tolist(), rng.random(37).tolist()))


def test_a_dot_product_of_lists_is_a_python_float():
    text = """
def k(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s
"""
    after = check(text, (rng.random(300).tolist(), rng.random(300).tolist()), ([], []))
    assert "float(" in after


def test_no_terms_leave_pythons_zero():
    text = """
def k(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s
"""
    check(text, (rng.random(300), rng.random(300)), (np.zeros(0), np.zeros(0)))


def test_a_triangle_is_one_product():
    text = """
def k(a, b):
    m, n = b.shape
    for i in range(m):
        for j in range(n):
            for t in range(i + 1, m):
                b[i, j] += a[t, i] * b[t, j]
            b[i, j] *= 0.5
    return b
"""
    after = check(text, (rng.random((37, 37)), B.copy()))
    assert "b += np.triu(a.T, 1) @ b\n" in after


def test_substitution_keeps_its_order():
    text = """
def k(low, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        s = 0.0
        for j in range(i):
            s += low[i, j] * x[j]
        x[i] = (b[i] - s) / low[i, i]
    return x
"""
    low = np.tril(rng.random((50, 50))) + 50 * np.eye(50)
    region, match = match_of("import numpy as np\n" + text, (low, rng.random(50)))
    assert isinstance(match, Match)
    after = apply_edits(region.source, match.edits).decode()
    assert "@ x[:i]" in after
    old = run("import numpy as np\n" + text, "k", (low, np.ones(50)))
    assert_same(old, run(after, "k", (low, np.ones(50))), tolerance=ROUNDING)


REFUSED = {
    "a partial sum is stored": """
def k(x, out):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        out[i] = s
""",
    "the loop overwrites what it adds": """
def k(x, out):
    for i in range(len(x)):
        for j in range(len(x)):
            x[j] += x[i] * out[i]
""",
    "a sum decides": """
def k(x, out):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * out[i]
        if s > 10.0:
            s = 0.0
    return s
""",
    "a factor changes on the way": """
def k(x, out):
    s = 0.0
    t = 1.0
    for i in range(len(x)):
        s += x[i] * t
        t += out[i]
    return s
""",
    "integers": """
def k(x, out):
    s = 0
    for i in range(len(x)):
        s += i * i
    return s
""",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_is_no_sum_is_left_alone(text):
    _, match = match_of(text, (rng.random(300), rng.random(300)))
    assert match is None or isinstance(match, Refusal)


def test_a_decision_on_a_sum_is_not_safe():
    text = """
def k(a, x, out):
    for i in range(len(a)):
        s = 0.0
        for j in range(len(x)):
            s += a[i, j] * x[j]
        out[i] = 1.0 if s > 9.0 else 0.0
"""
    _, match = match_of(text, (A, rng.random(37), np.zeros(41)))
    assert match is None or isinstance(match, Refusal) or not match.safe


# ---------------------------------------------------------------- random sums
SIZES = {"i": 9, "j": 11, "k": 8, "l": 10}


def random_sum(seed):
    """A nest over some of i, j, k, l that adds up a product of up to three arrays."""
    choice = random.Random(seed)
    names = choice.sample("ijkl", choice.randint(1, 3))
    operands = [
        "".join(choice.sample(names, choice.randint(1, len(names))))
        for _ in range(choice.randint(1, 3))
    ]
    used = [n for n in names if any(n in o for o in operands)]
    kept = [n for n in used if choice.random() < 0.5]
    if len(kept) == len(used):
        kept = kept[:-1]
    choice.shuffle(kept)
    choice.shuffle(used)
    target = f"out[{', '.join(kept)}]" if kept else "s"
    factors = [f"x{n}[{', '.join(o)}]" for n, o in enumerate(operands)]
    if choice.random() < 0.4:
        factors.insert(choice.randint(0, len(factors)), "scale")
    term = " * ".join(factors)
    if choice.random() < 0.3:
        term = f"{term} {choice.choice('+-')} {choice.choice(factors)}"
    lines = ["def k(out, scale, " + ", ".join(f"x{n}" for n in range(len(operands))) + "):"]
    lines += [] if kept else ["    s = 1.5"]
    for depth, name in enumerate(used, 1):
        low = choice.choice(["0", "0", "1"])
        earlier = [e for e in used[: depth - 1] if SIZES[e] <= SIZES[name]]
        high = f"{earlier[0]} + 1" if earlier and choice.random() < 0.25 else str(SIZES[name])
        lines.append("    " * depth + f"for {name} in range({low}, {high}):")
    op = choice.choice(["+=", "+=", "-="])
    lines += [
        "    " * (len(used) + 1) + f"{target} {op} {term}",
        f"    return {'out' if kept else 's'}",
    ]
    data = np.random.default_rng(seed)
    arrays = [data.random([SIZES[n] + data.integers(0, 2) for n in o]) for o in operands]
    out = data.random([SIZES[n] for n in kept]) if kept else np.zeros(1)
    return "\n".join(lines) + "\n", (out, 0.75, *arrays)


def test_random_sums_of_products():
    written = 0
    for seed in range(100):
        text, args = random_sum(seed)
        region, match = match_of(text, args)
        if match is None or isinstance(match, Refusal):
            continue
        written += 1
        after = apply_edits(region.source, match.edits).decode()
        for data in (args, *perturbed(args)):
            single = any(isinstance(a, np.ndarray) and a.dtype == np.float32 for a in data)
            with np.errstate(all="ignore"):
                old, new = run(text, "k", data), run(after, "k", data)
            try:
                assert_same(
                    old, new, tolerance=1e-4 if single else ROUNDING, compare_warnings=False
                )
            except AssertionError as problem:
                raise AssertionError(f"seed {seed}: {problem}\n{after}") from None
    assert written > 30


TRIANGLES = {
    "lower": """
def k(a, c):
    for i in range(len(a)):
        for j in range(i + 1):
            c[i, j] *= 0.5
        for t in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += 1.5 * a[i, t] * a[j, t]
""",
    "upper, mirrored": """
def k(a, c):
    n = len(a)
    for i in range(n):
        for j in range(i, n):
            s = 0.0
            for t in range(a.shape[1]):
                s += a[i, t] * a[j, t]
            c[i, j] = s
            c[j, i] = s
""",
    "strictly upper, with a diagonal": """
def k(a, c):
    n = len(a)
    for i in range(n - 1):
        c[i, i] = 1.0
        for j in range(i + 1, n):
            c[i, j] = 0.0
            for t in range(a.shape[1]):
                c[i, j] += a[i, t] * a[j, t]
            c[j, i] = c[i, j]
""",
    "a band": """
def k(a, c):
    n = len(a)
    for i in range(2, n - 2):
        for j in range(i - 2, i + 3):
            for t in range(a.shape[1]):
                c[i, j] += a[i, t] * a[j, t]
""",
}


@pytest.mark.parametrize("text", TRIANGLES.values(), ids=TRIANGLES)
def test_triangles_leave_the_other_elements_alone(text):
    rows = rng.random((40, 33))
    c = rng.random((40, 40))
    holes = c.copy()
    holes[5, 30] = holes[30, 5] = np.nan
    check(text, (rows, c), (rows, holes), (rows[:0], c), (rows[:1], c), (rows, c[:20].copy()))


def test_a_window_is_bounded_by_the_ends_of_its_loops() -> None:
    """No array of all places is made to see that none leaves the other array."""
    text = """\
import numpy as np

def k(x, half):
    out = np.zeros(len(x))
    for i in range(half, len(x) - half):
        total = 0.0
        for m in range(-half, half + 1):
            total += x[i + m]
        out[i] = total
    return out
"""
    x = np.random.default_rng(3).random(400)
    after = check(text, (x, 4), (x, 0), (x[:9], 4), (x[:8], 4), (x[:3], 4), (x, -1))
    assert ".min()" not in after and ".sum(axis=1)" in after


def test_a_sum_with_no_terms_leaves_pythons_number() -> None:
    """Seen as NumPy's number from the third entry on; the loop for i = 0 leaves Python's."""
    text = """
def k(b, x, y, m):
    s = 0.25
    for i in range(m):
        for j in range(i):
            s += 0.5 * b[i, i] * b[i, j]
            y[j] += 0.5 * x[j] * b[i, j]
    return s
"""
    b, x = rng.random((30, 30)), rng.random(30)
    region = chain_for(text, "k", (b, x, x + 1.0, 30))[1]
    match = emit_products(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    for m in (30, 2, 1, 0):
        args = (b, x, x + 1.0, m)
        assert_same(run(text, "k", args), run(after, "k", args), tolerance=ROUNDING)

"""What iterations compute for themselves, as lanes of arrays that leave one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from harness import assert_same, chain_for, first_match, region_for, run
from lane_programs import LaneProgram, arguments

from gpuadvise.codegen.lanes import emit_lanes
from gpuadvise.codegen.lanes.bounds import Bounds
from gpuadvise.codegen.restated.as_lanes import emit_lanes_restated
from gpuadvise.loopnest.ir import PY_INT, Binary, Const, Var
from gpuadvise.model import Basis, Exactness, Match, Refusal
from gpuadvise.patch import apply_edits
from gpuadvise.verify.claims import broken_step

FALLS_BACK = "except (ArithmeticError, IndexError):"
SEEDS = tuple(range(30))
"""Few; some hundred were run by hand."""


def rewritten(text: str, function: str | None, args: tuple[Any, ...]) -> tuple[str, Match]:
    """The new text and the answer."""
    found = first_match(emit_lanes_restated, chain_for(text, function, args))
    assert len(found) == 2 and isinstance(found[1], Match), f"left alone: {found}"
    data = apply_edits(found[0].source, found[1].edits)
    assert broken_step(found[0].source, data, found[1]) is None
    return data.decode(), found[1]


def by_arrays(text: str) -> str:
    """The text without the way back to the user's own loop."""
    assert FALLS_BACK in text
    return text.replace(FALLS_BACK, "except ():")


def refusal(text: str, function: str, args: tuple[Any, ...]) -> str:
    answers = [emit_lanes(region) for region in chain_for(text, function, args)]
    assert not any(isinstance(a, Match) for a in answers)
    return " ".join(a.reason for a in answers if isinstance(a, Refusal))


BISECTION = """\
import math


def price(s, k, sigma):
    d = (math.sqrt(s / k) - 1.0) / sigma
    return s * d - k * d * d * sigma


def implied(s, k, target):
    lo = 0.001
    hi = 5.0
    for _ in range(200):
        mid = 0.5 * (lo + hi)
        if price(s, k, mid) > target:
            lo = mid
        else:
            hi = mid
        if hi - lo < 1e-9:
            break
    return 0.5 * (lo + hi)


def surface(spots, strikes, targets):
    out = []
    for i in range(len(spots)):
        out.append(implied(spots[i], strikes[i], targets[i]))
    return out
"""
COPRIME = """\
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def coprime(n):
    count = 0
    for a in range(1, n):
        for b in range(1, n):
            if gcd(a, b) == 1:
                count += 1
    return count
"""
DIGITS = """\
def armstrong(limit):
    found = []
    for n in range(limit):
        total = 0
        m = n
        while m > 0:
            d = m % 10
            total += d * d * d
            m //= 10
        if total == n:
            found.append(n)
    return found
"""
COMPLEX = """\
def mandelbrot(h, w, most):
    out = []
    for i in range(h):
        row = []
        for j in range(w):
            c = complex(-2.0 + 3.0 * j / w, -1.5 + 3.0 * i / h)
            z = 0j
            n = 0
            while abs(z) <= 2 and n < most:
                z = z ** 2 + c
                n += 1
            row.append(n)
        out.append(row)
    return out
"""
BASINS = """\
def basin(x, y):
    z = complex(x, y)
    for k in range(40):
        if abs(z) < 1e-9:
            return -1
        dz = (z * z * z - 1) / (3 * z * z)
        z = z - dz
        if abs(dz) < 1e-8:
            break
    if abs(z - 1) < 1e-3:
        return 0
    if z.imag > 0:
        return 1
    return 2


def picture(n):
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            row.append(basin(-2.1 + 4.0 * j / n, -2.0 + 4.0 * i / n))
        rows.append(row)
    return rows
"""
ALIQUOT = """\
def aliquot(limit):
    sums = [0] * limit
    for n in range(1, limit):
        s = 0
        for d in range(1, n):
            if n % d == 0:
                s += d
        sums[n] = s
    return sums
"""
SCRIPT = """\
N = 700
best = 0
where = 0
for n in range(2, N):
    k = n
    steps = 0
    while k != 1:
        if k % 2:
            k = 3 * k + 1
        else:
            k //= 2
        steps += 1
    if steps > best:
        best = steps
        where = n
print(best, where)
"""
METHOD = """\
class Fractal:
    def __init__(self, n, most, cx, cy):
        self.n = n
        self.most = most
        self.cx = cx
        self.cy = cy
        self.image = [[0] * n for _ in range(n)]

    def iterate(self, x, y):
        \"\"\"How long it stays.\"\"\"
        k = 0
        while x * x + y * y < 4.0:
            if k >= self.most:
                break
            x, y = x * x - y * y + self.cx, 2.0 * x * y + self.cy
            k += 1
        return k

    def draw(self):
        n = self.n
        most, cx, cy = self.most, self.cx, self.cy
        for i in range(n):
            for j in range(n):
                k = 0
                x, y = 3.0 * j / n - 1.5, 3.0 * i / n - 1.5
                while x * x + y * y < 4.0 and k < most:
                    x, y = x * x - y * y + cx, 2.0 * x * y + cy
                    k += 1
                self.image[i][j] = k
        return self.image


def go(fractal):
    return fractal.draw()
"""
PRIMES = """\
def is_prime(n):
    if n < 2:
        return False
    if n % 2 == 0:
        return n == 2
    d = 3
    while d * d <= n:
        if n % d == 0:
            return False
        d += 2
    return True


def primes(limit):
    return_list = []
    for n in range(limit):
        if is_prime(n):
            return_list.append(n)
    return return_list
"""
ARRAY = """\
import numpy as np


def times(starts, r, tol):
    n = len(starts)
    t = np.zeros(n)
    for i in range(n):
        x = starts[i]
        k = 0
        while abs(x - 0.5) > tol and k < 300:
            x = r * x * (1.0 - x)
            k += 1
        t[i] = k + x
    return t
"""
SEARCH = """\
def find(table, x):
    lo = 0
    hi = len(table)
    while lo < hi:
        mid = (lo + hi) // 2
        if table[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def places(table, xs):
    out = []
    for x in xs:
        out.append(find(table, x))
    return out
"""
GENERATOR = """\
def walk(seed, most):
    s = seed
    x = 0
    t = 0
    while x < 5 and t < most:
        s = (1103515245 * s + 12345) % 2147483648
        if s > 1073741824:
            x += 1
        else:
            x -= 1
        t += 1
    return t, x


def hits(n):
    total = 0
    high = 0
    for seed in range(n):
        t, x = walk(seed, 100)
        total += t
        high = max(high, x)
    return total, high
"""
HAPPY = """\
def happy(n):
    seen = 0
    while n != 1 and n != 4:
        s = 0
        while n:
            d = n % 10
            s += d * d
            n = n // 10
        n = s
        seen += 1
    return n == 1, seen


def count(limit):
    k = 0
    for i in range(1, limit):
        ok, steps = happy(i)
        if ok:
            k += steps
    return k
"""
ORDERS = """\
def orders(limit, base):
    found = []
    for n in range(3, limit):
        if n % 2 == 0 or n % 5 == 0:
            continue
        r = base % n
        k = 1
        while r != 1 and k < n:
            r = r * base % n
            k += 1
        found.append(k)
    return found
"""
PENDULUM = """\
import math


def period(theta, dt, most):
    omega = 0.0
    t = 0.0
    steps = 0
    while steps < most:
        omega -= 9.81 * math.sin(theta) * dt
        theta += omega * dt
        t += dt
        steps += 1
        if theta < 0.0:
            return 4 * t
    return -1.0


def sweep(angles):
    periods = []
    for a in angles:
        periods.append(period(math.radians(a), 0.01, 400))
    return periods
"""
LATTICE = """\
def lattice(radius):
    count = 0
    for x in range(-radius, radius + 1):
        y = 0
        while x * x + (y + 1) * (y + 1) <= radius * radius:
            y += 1
        count += 2 * y + 1
    return count
"""
TRIALS = """\
def count_primes(limit):
    count = 0
    for n in range(2, limit):
        prime = True
        for d in range(2, int(n ** 0.5) + 1):
            if n % d == 0:
                prime = False
                break
        if prime:
            count += 1
    return count
"""

_rng = np.random.default_rng(4)
PROGRAMS: dict[str, tuple[str, str | None, tuple[Any, ...], tuple[tuple[Any, ...], ...]]] = {
    "bisection": (
        BISECTION,
        "surface",
        (
            (100 + 10 * _rng.random(300)).tolist(),
            (90 + 10 * _rng.random(300)).tolist(),
            _rng.random(300).tolist(),
        ),
        (([101.0], [0.0], [0.5]), ([-1.0], [2.0], [0.5]), ([math.nan], [2.0], [0.5])),
    ),
    "coprime": (COPRIME, "coprime", (25,), ((0,), (1,), (40,), (-3,), (2.0,))),
    "digits": (DIGITS, "armstrong", (500,), ((0,), (1000,), (True,))),
    "complex": (COMPLEX, "mandelbrot", (20, 25, 30), ((0, 5, 9), (7, 9, 0), (3, -2, 4))),
    "basins": (BASINS, "picture", (16,), ((1,), (21,))),
    "aliquot": (ALIQUOT, "aliquot", (260,), ((0,), (2,), (300,))),
    "script": (SCRIPT, None, (), ()),
    "primes": (PRIMES, "primes", (400,), ((0,), (3,), (1000,))),
    "array": (
        ARRAY,
        "times",
        (_rng.random(300), 2.0, 1e-6),
        ((np.zeros(0), 2.0, 0.1), (np.array([math.nan, 1e200]), 2.0, 0.1), (_rng.random(9), 2, 0)),
    ),
    "search": (
        SEARCH,
        "places",
        (sorted(_rng.random(200).tolist()), _rng.random(300).tolist()),
        (([], [0.5]), ([0.5], []), ([1, 2, 3], [2, 5]), ([0.1, 0.2], [math.nan, 0.15])),
    ),
    "generator": (GENERATOR, "hits", (400,), ((0,), (7,))),
    "happy": (HAPPY, "count", (400,), ((1,), (30,))),
    "orders": (ORDERS, "orders", (500, 10), ((3, 10), (60, 7), (60, 0), (60, 10**18))),
    "pendulum": (
        PENDULUM,
        "sweep",
        ((1 + 80 * _rng.random(300)).tolist(),),
        (([],), ([0.0, -3.0, 400.0],), ([5.0, math.inf],), ([5],)),
    ),
    "lattice": (LATTICE, "lattice", (150,), ((0,), (-4,), (9,), (2**33 - 2**33 + 3,))),
    "trials": (TRIALS, "count_primes", (300,), ((2,), (3,), (500,))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    text, function, args, more = PROGRAMS[name]
    after, match = rewritten(text, function, args)
    assert match.safe or name == "trials", match.unproved  # n ** 0.5 is rounded by pow
    before = run(text, function, args)
    assert before.error is None
    at_module = {"scalar_names": function is not None}
    assert_same(before, run(by_arrays(after), function, args), **at_module)
    for other in more:
        assert_same(run(text, function, other), run(after, function, other), **at_module)


def test_method_with_attributes() -> None:
    space: dict[str, Any] = {}
    exec(METHOD, space)
    fractal = space["Fractal"](18, 40, -0.4, 0.6)
    after, _ = rewritten(METHOD, "Fractal.draw", (fractal,))
    changed: dict[str, Any] = {}
    exec(by_arrays(after), changed)
    again = changed["Fractal"](18, 40, -0.4, 0.6)
    assert again.draw() == fractal.draw() and fractal.image == again.image


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed: int) -> None:
    program = LaneProgram(seed)
    text = "import math\n\n\n" + program.text
    args = arguments(seed, program.whole)
    region = region_for(text, "f", args)
    answer = emit_lanes(region)
    if not isinstance(answer, Match):
        return
    after = apply_edits(region.source, answer.edits).decode()
    large = [v * 10**15 for v in args[0]] if program.whole else [*args[0][:-1], math.nan]
    short = arguments(seed + 1, program.whole, 3)
    for given in (args, (large, *args[1:]), short, (*args[:3], 0), ([True] * 9, [1] * 9, 9, 4)):
        assert_same(run(text, "f", given), run(after, "f", given))


def test_most_random_programs_are_rewritten() -> None:
    """Else the test above says nothing."""
    found = 0
    for seed in SEEDS:
        program = LaneProgram(seed)
        args = arguments(seed, program.whole)
        answer = emit_lanes(region_for("import math\n" + program.text, "f", args))
        found += isinstance(answer, Match)
    assert found > len(SEEDS) // 3


# ------------------------------------------------------------------ what is kept
def test_integers_beyond_64_bits_are_left_to_python() -> None:
    text = """\
def grow(n):
    steps = 0
    while n % 1000 != 7 and steps < 200:
        n = 5 * n + 1
        steps += 1
    return n


def run(limit):
    return_value = []
    for i in range(limit):
        return_value.append(grow(i))
    return return_value
"""
    after, _ = rewritten(text, "run", (300,))
    assert "OverflowError" in after
    result = run(after, "run", (300,)).result
    assert result == run(text, "run", (300,)).result and max(result) > 2**64


def test_product_in_the_test_of_a_loop_may_be_the_first_to_overflow() -> None:
    text = """\
def grow(n, most):
    k = 0
    while n * n != 49 and k < most:
        n = 2 * n + 1
        k += 1
    return k, n


def run(limit, most):
    ends = []
    for i in range(limit):
        k, n = grow(i, most)
        ends.append(n * n - k)
    return ends
"""
    after, _ = rewritten(text, "run", (300, 9))
    assert_same(run(text, "run", (300, 9)), run(by_arrays(after), "run", (300, 9)))
    for most in (28, 33, 40, 70):
        assert_same(run(text, "run", (300, most)), run(after, "run", (300, most)))


def test_counters_that_are_squared() -> None:
    text = """\
def divisors(n):
    count = 0
    d = 1
    while d * d <= n:
        if n % d == 0:
            count += 1 if d * d == n else 2
        d += 1
    return count


def best(limit):
    record = 0
    for n in range(1, limit):
        found = divisors(n)
        if found > record:
            record = found
    return record
"""
    after, _ = rewritten(text, "best", (400,))
    assert_same(run(text, "best", (400,)), run(by_arrays(after), "best", (400,)))


def test_exception_comes_where_it_came() -> None:
    text = """\
def halve(x):
    n = 0
    while x > 1.0:
        x = x / (x - 3.0)
        n += 1
        if n > 20:
            break
    return n


def run(values, seen):
    for x in values:
        n = halve(x)
        seen.append(n)
    return seen
"""
    values = [1.5 + 0.01 * k for k in range(300)]
    after, _ = rewritten(text, "run", (values, []))
    broken = [*values[:40], 3.0, *values[40:]]
    before, now = run(text, "run", (broken, [])), run(after, "run", (broken, []))
    assert before.error is not None and len(before.args[1]) == 40
    assert_same(before, now)


def test_no_warning_where_python_is_silent() -> None:
    text = """\
def escape(x, c, most):
    n = 0
    while n < most:
        x = x * x + c
        n += 1
    return x


def run(values):
    out = []
    for v in values:
        n = 0
        x = v
        while x < 1e300 and n < 9:
            x = x * x * 1e30
            n += 1
        y = x * x - x * x
        out.append(y)
    return out
"""
    values = [float(k) for k in range(300)]
    after, _ = rewritten(text, "run", (values,))
    now = run(by_arrays(after), "run", (values,))
    assert not now.warned
    assert_same(run(text, "run", (values,)), now)


def test_what_raises_in_a_function_counts_though_nobody_reads_it() -> None:
    text = """\
def settle(x, y):
    n = 0
    while x < 40.0:
        x = x * 1.5 + 1.0
        n += 1
    unused = 1.0 / y
    return n


def run(xs, ys):
    total = 0
    for i in range(len(xs)):
        total += settle(xs[i], ys[i])
    return total
"""
    xs, ys = [0.1 * k for k in range(300)], [1.0] * 300
    after, _ = rewritten(text, "run", (xs, ys))
    zero = [*ys[:-1], 0.0]
    assert run(after, "run", (xs, zero)).error == run(text, "run", (xs, zero)).error
    assert run(after, "run", (xs, zero)).error is not None


def test_types_of_array_elements_are_kept() -> None:
    text = """\
def run(values):
    out = []
    for i in range(len(values)):
        x = values[i]
        while x < 100.0:
            x = x * 1.7
        out.append(x)
    return out
"""
    args = (1.0 + np.random.default_rng(2).random(300),)
    after, _ = rewritten(text, "run", args)
    result = run(by_arrays(after), "run", args).result
    assert {type(v) for v in result} == {np.float64}
    assert_same(run(text, "run", args), run(after, "run", args))


def test_complex_products_are_those_of_python() -> None:
    """A sum of products that NumPy's own complex arrays round once may end elsewhere."""
    after, match = rewritten(COMPLEX, "mandelbrot", (20, 25, 30))
    assert match.exactness is Exactness.BITS and match.safe
    assert "hypot" in after and "complex128" not in after


def test_last_digits_that_decide_are_said() -> None:
    text = """\
import math


def run(values):
    out = []
    for v in values:
        n = 0
        while v > 0.01:
            v = 1.0 - math.exp(-v)
            n += 1
        out.append(n)
    return out
"""
    _, match = rewritten(text, "run", ([0.001 * k for k in range(300)],))
    assert match.exactness is Exactness.LAST_DIGIT
    assert any(c.basis is Basis.ASSUMED for c in match.ledger)


def test_statements_for_the_computation_alone_go() -> None:
    text = """\
def escape(x, y):
    n = 0
    while x * x + y * y < 4.0 and n < 20:
        x, y = x * x - y * y - 0.4, 2.0 * x * y + 0.6
        n += 1
    return n


def draw(h, w):
    total = 0
    seen = 0.0
    for i in range(h):
        y = 0.1 * i  # the row's height
        for j in range(w):
            x = 0.1 * j
            u = 0.2 * j
            z = 1.0
            total += escape(x * z, y)
            seen = u
            z += 0.5
            seen += z
    return total, seen
"""
    after, _ = rewritten(text, "draw", (20, 15))
    loop = after[after.index("is not None:") : after.index("else:\n        for i")]
    assert "x = 0.1" not in loop and "y = 0.1" not in loop and "u = 0.2 * j" in loop
    assert "z = 1.0" in loop
    assert after.count("# the row's height") >= 1
    assert_same(run(text, "draw", (20, 15)), run(by_arrays(after), "draw", (20, 15)))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("x = x + got", "needs the x of the one before"),
        ("values[i] = 0.5 * got", "values changes in the loop"),
        ("if got > 3:\n            break", "may end before its last iteration"),
    ],
)
def test_refusals(body: str, reason: str) -> None:
    text = f"""\
def count(v, x):
    n = 0
    while v < 9.0 and n < 30:
        v = v * 1.5 + x
        n += 1
    return n


def run(values, x):
    total = 0
    for i in range(len(values)):
        got = count(values[i], x)
        total += got
        {body}
    return total
"""
    assert reason in refusal(text, "run", ([0.01 * k for k in range(300)], 0.5))


def test_names_of_python_that_mean_something_else() -> None:
    text = ARRAY.replace("r, tol):", "r, next):").replace("> tol", "> next")
    reason = refusal(text, "times", (_rng.random(300), 2.0, 1e-6))
    assert "next means something else" in reason


@pytest.mark.parametrize(
    "body",
    [
        "total += sum(count(v, k) for k in range(3))",
        "total += max([count(v, k) for k in (1, 2)])",
        "if v > 0.5:\n            if v > 1.5:\n                continue\n            total += 1\n"
        "        n = 0\n        while v < 9.0 and n < 9:\n            v = v * 1.5 + 0.5\n"
        "            n += 1\n        total += n",
        "if v > 0.5:\n            if v > 1.5:\n                continue\n            total += 1\n"
        "        total += count(v, 1)",
        "n = count(v, 0) + count(v, 1) * 100\n        total += n",
        "while count(v, total % 3) > 6:\n            v += 1.0\n            total += 1",
    ],
)
def test_values_are_taken_as_often_as_they_are_computed(body: str) -> None:
    text = f"""\
def count(v, x):
    n = 0
    while v < 9.0 and n < 30:
        v = v * 1.5 + x
        n += 1
    return n


def run(values):
    total = 0
    for i in range(len(values)):
        v = values[i]
        {body}
    return total
"""
    args = ([0.01 * k for k in range(300)],)
    for region in chain_for(text, "run", args):
        answer = emit_lanes_restated(region)
        if isinstance(answer, Match):
            after = apply_edits(region.source, answer.edits).decode()
            assert_same(run(text, "run", args), run(by_arrays(after), "run", args))


@pytest.mark.parametrize("value", ["n,", "(n, v)", "n"])
def test_tuples_come_back_as_they_were(value: str) -> None:
    text = f"""\
def count(v):
    n = 0
    while v < 9.0:
        v = v * 1.5 + 0.1
        n += 1
    return {value}


def run(values):
    found = []
    for v in values:
        got = count(v)
        found.append(got)
    return found
"""
    args = ([0.01 * k for k in range(300)],)
    for region in chain_for(text, "run", args):
        answer = emit_lanes_restated(region)
        if isinstance(answer, Match):
            after = apply_edits(region.source, answer.edits).decode()
            assert_same(run(text, "run", args), run(by_arrays(after), "run", args))


def test_lists_that_are_one() -> None:
    text = """\
def run(values, out):
    for i in range(len(values)):
        v = values[i]
        n = 0.0
        while v < 9.0:
            v = v * 1.5 + 1.0
            n += 1.0
        out[i] = n
    return out
"""
    values = [0.01 * k for k in range(300)]
    after, _ = rewritten(text, "run", (values, [0.0] * 300))
    shared = list(values)
    twice = (shared, shared)
    assert_same(run(text, "run", twice), run(after, "run", twice))
    arrays = (np.array(values), np.zeros(300))
    after, _ = rewritten(text, "run", arrays)
    base = np.arange(400.0)
    overlap = (base[:300], base[50:350])
    assert_same(run(text, "run", overlap), run(after, "run", overlap))


STEPS = """\
def steps(n):
    k = 0
    while n != 1:
        if n % 2:
            n = 3 * n + 1
        else:
            n = n // 2
        k += 1
    return k


"""


@pytest.mark.parametrize(
    "body",
    [
        "        ways[n] = steps(n)\n",
        "        k = steps(n)\n        if k > 100:\n            print('long', n, k)\n",
    ],
)
def test_plainer_forms(body: str) -> None:
    """A dictionary that is filled, and lines that are printed, by the loop that is left."""
    text = f"{STEPS}def table(limit):\n    ways = {{}}\n    for n in range(1, limit):\n{body}"
    text += "    return ways\n"
    after, match = rewritten(text, "table", (300,))
    assert match.restated is not None
    assert "next(all_steps)" in after
    for limit in (300, 1, 30):
        assert_same(run(text, "table", (limit,)), run(by_arrays(after), "table", (limit,)))


def test_rows_by_comprehension() -> None:
    text = BASINS[: BASINS.index("def picture")]
    text += """\
def picture(n, j):
    rows = []
    for i in range(n):
        rows.append([basin(-2.1 + 4.0 * j / n, -2.0 + 4.0 * i / n) for j in range(n) if j != 3])
        rows.append([j, i])
    return rows, j
"""
    after, _ = rewritten(text, "picture", (16, 99))
    assert "row.append(next(basins))" in after
    for args in ((16, 99), (1, 0), (0, 5), (4, 1.5)):
        assert_same(run(text, "picture", args), run(after, "picture", args))
    assert_same(run(text, "picture", (16, 99)), run(by_arrays(after), "picture", (16, 99)))


def test_numbers_as_conditions() -> None:
    """``b and mask`` of the integer 2 is no ``2 & mask``; ``or`` binds less than ``and``."""
    text = """\
def run(values, b, c):
    out = []
    for v in values:
        n = 0
        while (b or c) and (v < 9.0 or n < c) and n < 30:
            v = v * 1.5 + 1.0
            n += 1
            if b and v > 6.0 and (n > 1 or c):
                break
        out.append(n)
    return out
"""
    values = [0.01 * k for k in range(300)]
    after, _ = rewritten(text, "run", (values, 2, 0))
    for b, c in ((2, 0), (0, 4), (0, 0), (1, 3), (2, 40)):
        args = (values, b, c)
        assert_same(run(text, "run", args), run(by_arrays(after), "run", args))


def test_ranges_of_integers() -> None:
    bounds = Bounds({"k": (0, 9), "n": (-5, 5)}, 31)
    k, n = Var(PY_INT, 1, "k"), Var(PY_INT, 1, "n")
    seven = Const(PY_INT, 1, 7)
    assert bounds.of(Binary(PY_INT, 1, "*", k, n)) == (-45, 45)
    assert bounds.of(Binary(PY_INT, 1, "%", k, seven)) == (0, 6)
    assert bounds.of(Binary(PY_INT, 1, "//", n, seven)) == (-1, 0)
    assert bounds.of(Binary(PY_INT, 1, "-", k, n)) == (-5, 14)


def test_values_that_memory_may_not_hold_are_not_kept() -> None:
    after, _ = rewritten(COPRIME, "coprime", (25,))
    assert "> 2**24" in after
    fewer = after.replace("> 2**24", "> 500")
    assert run(by_arrays(fewer), "coprime", (40,)).error is not None
    assert_same(run(COPRIME, "coprime", (40,)), run(fewer, "coprime", (40,)))


def test_records_of_another_class_keep_the_loop() -> None:
    """Its attribute is computed anew, and differs, each time it is asked for."""
    text = """\
import math


class Comet:
    def __init__(self, e):
        self.e = e


class Waning(Comet):
    @property
    def e(self):
        self.left *= 0.5
        return self.left

    @e.setter
    def e(self, value):
        self.left = value


def anomaly(mean, e):
    E = mean
    for _ in range(60):
        delta = (E - e * math.sin(E) - mean) / (1.0 - e * math.cos(E))
        E -= delta
        if abs(delta) < 1e-12:
            break
    return E


def total(comets, days):
    found = []
    for day in range(days):
        for comet in comets:
            found.append(anomaly(0.01 * day, comet.e))
    return found
"""
    make = "args = ([{}(e) for e in (0.9 * rng.random(20)).tolist()], 20)"
    region = chain_for(text, "total", inputs=make.format("Comet"))[0]
    match = emit_lanes_restated(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert "set(map(type, comets)) <= {Comet}" in after
    results = []
    for program in (text, after):
        for kind in ("Comet", "Waning"):
            names: dict[str, Any] = {"np": np, "rng": np.random.default_rng(5)}
            exec(program, names)
            exec(make.format(kind), names)
            results.append(names["total"](*names["args"]))
    plain, waning, plain_after, waning_after = results
    assert waning_after == waning != plain
    assert plain_after == pytest.approx(plain, rel=1e-12)

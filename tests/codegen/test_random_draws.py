"""Loops that draw random numbers: the same numbers, results and states of the generators."""

from __future__ import annotations

import random
import types

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.draws_array import read_from_arrays
from gpuadvise.codegen.draws_find import Stop, find_draws
from gpuadvise.codegen.numpy_backend import emit_drawn, split
from gpuadvise.codegen.numpy_backend.split import emit_split
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

HEAD = """
import random
import numpy as np


def k(n, m, rng):
    random.seed(n + 1)
    np.random.seed(m + 1)
    total = 0.0
    count = 0
    seen = []
"""
TAIL = """
    return total, count, seen, random.random(), random.gauss(0, 1), np.random.rand(), rng
"""
DATA = [(23, 7), (0, 4), (3, 0)]
GENERATORS = (
    lambda: np.random.default_rng(5),
    lambda: np.random.Generator(np.random.MT19937(5)),
    lambda: random.Random(5),
    lambda: np.random.RandomState(5),
)


def answers(text, args):
    """What both ways make of a loop."""
    region = region_for(text, "k", args)
    draws = find_draws(region)
    assert draws is not None
    if isinstance(draws, Refusal):
        return region, [draws]
    try:
        drawn = read_from_arrays(region, draws, "np")
    except Stop as stop:
        return region, [Refusal(stop.reason, stop.line)]
    return region, [emit_drawn(region, drawn), emit_split(region, drawn)]


def check(body, *, ways, generator=GENERATORS[0]):
    """Rewritten by so many ways, each equal on all data and with all generators."""
    text = HEAD + "".join(f"    {line}\n" for line in body.strip("\n").split("\n")) + TAIL
    region, found = answers(text, (40, 30, generator()))
    matches = [match for match in found if isinstance(match, Match)]
    assert len(matches) == ways, [m.reason for m in found if isinstance(m, Refusal)]
    texts = []
    for match in matches:
        assert match.safe
        after = apply_edits(region.source, match.edits).decode()
        texts.append(after)
        for n, m in DATA:
            for other in (generator, *GENERATORS):
                if other is not generator and ("rng." not in body or (n, m) != DATA[0]):
                    continue
                pair = (n, m, other()), (n, m, other())
                old, new = run(text, "k", pair[0]), run(after, "k", pair[1])
                assert_same(old, new, compare_warnings=False)
    return texts


EVERY = {
    "python's": ("random.random()", GENERATORS[0]),
    "an instance of python's": ("rng.random()", GENERATORS[2]),
    "legacy rand": ("np.random.rand()", GENERATORS[0]),
    "legacy normal": ("np.random.normal(1.0, 2.0)", GENERATORS[0]),
    "legacy normal by keyword": ("np.random.normal(scale=2.0)", GENERATORS[0]),
    "legacy state": ("rng.uniform(-1.0, 1.0)", GENERATORS[3]),
    "generator": ("rng.random()", GENERATORS[0]),
    "generator on another stream": ("rng.standard_normal()", GENERATORS[1]),
    "exponential": ("rng.exponential(2.0)", GENERATORS[0]),
    "uniform": ("random.uniform(-2.0, 3.5)", GENERATORS[0]),
    "an instance's uniform": ("rng.uniform(1, 4)", GENERATORS[2]),
    "an angle": ("rng.uniform(0.0, 2.0 * np.pi)", GENERATORS[0]),
}


@pytest.mark.parametrize(("draw", "generator"), EVERY.values(), ids=EVERY)
def test_floats_of_every_generator(draw, generator):
    python = "random" in draw and "np" not in draw and generator is GENERATORS[0]
    python = (python and "rng" not in draw) or generator is GENERATORS[2]
    body = f"""
for i in range(n):
    for j in range(m):
        x = {draw}
        y = {draw}
        if x * x < y:
            count += 1
        total += x - 0.5 * y
"""
    check(body, ways=1 if python else 2, generator=generator)


@pytest.mark.parametrize(
    "draw",
    [
        "random.randint(1, 6)",
        "random.randint(-3, 3)",
        "random.randrange(8)",
        "random.randrange(10, 11)",
        "random.choice([-1, 1])",
        "random.choice((1, 2, 5))",
        "np.random.randint(0, 4)",
        "np.random.randint(7)",
        "rng.integers(0, 9)",
        "rng.integers(1, 7)",
    ],
)
def test_integers(draw):
    body = f"""
for _ in range(n):
    a = {draw}
    if a + {draw} > 5:
        count += 1
    count += a
"""
    check(body, ways=2)


def test_bits_of_a_large_range():
    check("for _ in range(n):\n    count += random.randint(0, 1000000)", ways=2)


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from random import random as draw", "draw()"),
        ("from random import randint, uniform", "uniform(0.0, 2.0)"),
        ("from random import randint", "randint(1, 6)"),
        ("from numpy.random import rand", "rand()"),
        ("from numpy.random import normal as gauss", "gauss(0.0, 1.0)"),
        ("import numpy.random as npr", "npr.uniform(1.0, 2.0)"),
    ],
)
def test_imported_functions(imported, call):
    seeds = "import random as r\nimport numpy as np\n"
    text = f"""{imported}
{seeds}

def k(n):
    r.seed(4)
    np.random.seed(4)
    total = 0.0
    for i in range(n):
        total += {call}
    return total, r.random(), np.random.rand()
"""
    region, found = answers(text, (400,))
    matches = [match for match in found if isinstance(match, Match)]
    assert matches, found
    for match in matches:
        after = apply_edits(region.source, match.edits).decode()
        for n in (400, 0, 7):
            assert_same(run(text, "k", (n,)), run(after, "k", (n,)), compare_warnings=False)


def test_two_names_of_one_generator_keep_the_loop():
    text = """
def k(n, one, other):
    total = 0.0
    for i in range(n):
        total += one.random() - 0.5 * other.random()
    return total
"""
    args = (400, np.random.default_rng(1), np.random.default_rng(2))
    region, found = answers(text, args)
    for match in found:
        assert isinstance(match, Match), match.reason
        after = apply_edits(region.source, match.edits).decode()
        for same in (False, True):
            results = []
            for program in (text, after):
                first = np.random.default_rng(5)
                second = first if same else np.random.default_rng(6)
                space = {"np": np}
                exec(program, space)
                results.append(space["k"](400, first, second))
            assert results[0] == results[1]


def test_a_recurrence_reads_the_numbers_one_by_one():
    (text,) = check("for i in range(n):\n    total = 0.9 * total + rng.normal()", ways=1)
    assert "next(draws)" in text


def test_a_list_that_grows():
    (text,) = check("for i in range(n):\n    seen.append(rng.normal(0.0, 2.0))", ways=1)
    assert "iter(" in text


def test_two_generators_have_two_arrays():
    texts = check("for i in range(n):\n    total += rng.random() * np.random.rand()", ways=2)
    assert "draws_2" in texts[0]


@pytest.mark.parametrize(
    "term",
    [
        "random.gauss(0.0, 1.0)",
        "random.expovariate(2.0) * random.gauss(1.0, 2.0)",
        "rng.normal() * rng.random()",
        "random.uniform(-1.0, 2.0) - random.normalvariate(0.0, 1.0)",
    ],
)
def test_numbers_that_only_the_calls_give(term):
    body = f"for i in range(n):\n    for j in range(m):\n        total += abs({term})"
    (text,) = check(body, ways=1)
    assert "for _ in range(n * m)" in text


def test_loops_that_start_at_one():
    check("for i in range(1, n):\n    for j in range(2, m):\n        total += rng.random()", ways=2)


def test_a_draw_in_each_row_and_none_in_the_inner_loop():
    body = """
for i in range(n):
    x = rng.random()
    for j in range(m):
        total += x * j
"""
    check(body, ways=2)


REFUSED = {
    "one more in a branch": "if rng.random() < 0.5:\n        total += rng.random()",
    "a branch": "if total < 9.0:\n        total += rng.random()",
    "a short circuit": "if total < 9.0 and rng.random() < 0.5:\n        count += 1",
    "an early end": "total += rng.random()\n    if total > 9.0:\n        break",
    "no second draw": "if rng.random() < 0.5:\n        continue\n    total += rng.random()",
    "a changing range": "total += rng.uniform(0.0, total)",
    "integers among floats": "total += rng.random() + rng.integers(0, 9)",
    "several numbers": "total += rng.normal(size=3).sum()",
    "a comprehension": "total += sum([rng.random() for _ in range(3)])",
    "inner loops of different lengths": "for j in range(i):\n        total += rng.random()",
    "draws of draws": "total += rng.normal(rng.random())",
    "a new generator": "total += rng.random()\n    rng = np.random.default_rng(i)",
}


@pytest.mark.parametrize("inner", REFUSED.values(), ids=REFUSED)
def test_what_is_left_alone(inner):
    text = (
        HEAD
        + f"    for i in range(n):\n        {inner.replace(chr(10), chr(10) + '    ')}\n"
        + TAIL
    )
    region = region_for(text, "k", (40, 30, np.random.default_rng(5)))
    draws = find_draws(region)
    if draws is None or isinstance(draws, Refusal):
        return
    _, found = answers(text, (40, 30, np.random.default_rng(5)))
    assert all(isinstance(answer, Refusal) for answer in found), found


RAISING = """
import numpy as np


def k(n, table, rng):
    {seed}
    out = {{}}
    for i in range(n):
        j = {draw}
        out[j] = table[i] / (i - 17 if n > 50 else 1)
        if j in out and j > 90:
            out[j] += {draw}
    return out
"""


@pytest.mark.parametrize(
    ("draw", "seed", "generator"),
    [
        ("rng.integers(0, 90)", "pass", GENERATORS[0]),
        ("int(9 * rng.random())", "pass", GENERATORS[1]),
        ("rng.randint(0, 90)", "pass", GENERATORS[3]),
        ("int(np.random.rand() * 7)", "np.random.seed(4)", GENERATORS[0]),
    ],
)
def test_a_loop_that_raises_leaves_the_generator_where_it_stopped(draw, seed, generator):
    body = RAISING.partition("        if j in")[0] + "    return out\n"
    text = body.format(draw=draw, seed=seed)
    after = None
    region, found = answers(text, (40, [1.0] * 40, generator()))
    for match in found:
        if isinstance(match, Match):
            after = apply_edits(region.source, match.edits).decode()
    assert after is not None
    assert "raise" in after
    for n, rows in ((40, 40), (40, 25), (60, 60), (0, 3)):
        results, following = [], []
        for program in (text, after):
            results.append(run(program, "k", (n, [1.0] * rows, generator())))
            following.append(np.random.rand())
        assert_same(*results, compare_warnings=False)
        assert following[0] == following[1] or "np.random" not in draw


def test_arrays_that_are_too_short_keep_the_loop_and_its_draws():
    text = """
import numpy as np


def k(out, n, rng):
    try:
        for i in range(n):
            out[i] = rng.normal() + 1.0
    except IndexError:
        pass
    return out, rng
"""
    region, found = answers(text, (np.zeros(50), 50, np.random.default_rng(1)))
    written = 0
    for match in found:
        if not isinstance(match, Match):
            continue
        written += 1
        after = apply_edits(region.source, match.edits).decode()
        for size in (50, 20, 60):
            args = [(np.zeros(size), 50, np.random.default_rng(1)) for _ in range(2)]
            old, new = run(text, "k", args[0]), run(after, "k", args[1])
            assert_same(old, new, compare_warnings=False)
    assert written


def test_many_numbers_are_drawn_block_by_block(monkeypatch):
    monkeypatch.setattr(split, "MANY", 2**16)
    text = """
def k(n, rng):
    level = 0.0
    for i in range(n):
        level = 0.5 * level + rng.random()
    return level, rng
"""
    n = 2**16 + 7
    region, found = answers(text, (n, np.random.default_rng(1)))
    (match,) = [m for m in found if isinstance(m, Match)]
    after = apply_edits(region.source, match.edits).decode()
    assert "range(0, n, 65536)" in after
    args = [(n, np.random.default_rng(1)) for _ in range(2)]
    assert_same(run(text, "k", args[0]), run(after, "k", args[1]))


STEPS = """
import numpy as np


def k(n, scale, rng):
    level = 0.0
    for i in range(n - 2):
        level = 0.5 * level + rng.normal(0.0, scale)
    return level, rng
"""


@pytest.mark.parametrize(
    ("n", "scale"),
    [
        (40, 1),  # an int for a float
        (40, np.ones(3)),  # three numbers a draw
        (40, -1.0),  # refused by the generator
        (2, -1.0),  # which does not see it
        (1, 0.5),
        (40.0, 0.5),  # refused by range
        (np.int64(40), 0.5),
        (True, 0.5),
    ],
)
def test_other_types_and_extents_than_those_seen_are_left_to_the_loop(n, scale):
    region, found = answers(STEPS, (30, 0.5, np.random.default_rng(1)))
    (match,) = [m for m in found if isinstance(m, Match)]
    after = apply_edits(region.source, match.edits).decode()
    wanted = {"type(n) is int", "type(scale) is float", "n - 2 > 0"}
    assert wanted <= {c.text for c in match.ledger if c.guarded}
    args = [(n, scale, np.random.default_rng(1)) for _ in range(2)]
    assert_same(run(STEPS, "k", args[0]), run(after, "k", args[1]))


def test_a_length_less_something_is_no_extent_when_it_is_negative():
    text = """
def k(a, m, rng):
    for i in range(len(a) - m):
        a[i] = a[i] + rng.random()
    return a, rng
"""
    region, found = answers(text, (np.ones(20), 3, np.random.default_rng(1)))
    (match,) = [m for m in found if isinstance(m, Match)]
    after = apply_edits(region.source, match.edits).decode()
    for m in (0, 19, 20, 25, 2.0, True):
        args = [(np.ones(20), m, np.random.default_rng(1)) for _ in range(2)]
        assert_same(run(text, "k", args[0]), run(after, "k", args[1]))


SIZES = """
import types

import numpy as np


def k(sizes, rng):
    total = 0.0
    for i in range(1, sizes.rows):
        for j in range(sizes.columns):
            x = rng.random()
            if x < 0.25:
                total += x
{}    return total, rng.random(), sizes.rows
"""


def test_attributes_that_nothing_changes_say_how_often():
    text = SIZES.format("")
    args = [types.SimpleNamespace(rows=40, columns=30), GENERATORS[0]()]
    region, found = answers(text, args)
    matches = [match for match in found if isinstance(match, Match)]
    assert matches, found
    for match in matches:
        after = apply_edits(region.source, match.edits).decode()
        for rows, columns in ((40, 30), (1, 30), (0, 5), (7, -1), (3, 2.5)):
            for generator in GENERATORS[:2]:
                given = [
                    (types.SimpleNamespace(rows=rows, columns=columns), generator())
                    for _ in range(2)
                ]
                old, new = run(text, "k", given[0]), run(after, "k", given[1])
                assert_same(old, new, compare_warnings=False)


@pytest.mark.parametrize(
    "line",
    [
        "        sizes.columns += 1\n",
        "    sizes.rows = 3\n",
        "    setattr(sizes, 'rows', 3)\n",
        "        sizes = types.SimpleNamespace(rows=1, columns=i)\n",
    ],
)
def test_attributes_that_may_change_say_nothing(line):
    args = [types.SimpleNamespace(rows=40, columns=30), GENERATORS[0]()]
    _, found = answers(SIZES.format(line), args)
    assert all(isinstance(answer, Refusal) for answer in found), found

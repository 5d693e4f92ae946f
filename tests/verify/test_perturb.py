"""Candidates that are right on the recorded inputs and wrong on others: real processes, real forks.

In every test the candidate equals the original on the recorded state (``result.same``), so that
only the perturbed inputs can tell.
"""

from __future__ import annotations

import time

import pytest

from gpuadvise.model import Mismatch, Verified
from gpuadvise.verify.verdicts import failed, verdict_of

LIMIT = 40.0
"""Seconds; what is needed is a few, on an idle machine."""


def tried(bench, state, old, new):
    """Both sides once on the recorded state, then on all perturbed inputs."""
    return bench.trial(state, old, new, repeats=1, perturb=LIMIT)


def tried_text(state, new):
    result = state.try_candidate({state.hello.file: new.encode()}, repeats=1, perturb=False)
    return state.perturb({state.hello.file: new.encode()}, result, limit=LIMIT)


def caught(result, *words):
    """The mismatch, which must name one of the perturbations."""
    assert result.same, result
    assert result.perturbed.mismatch is not None, result.perturbed
    assert failed(result)
    assert any(word in result.perturbed.mismatch for word in words), result.perturbed.mismatch
    return result.perturbed.mismatch


def passed(result, at_least):
    assert result.same, result
    assert result.perturbed.mismatch is None, result.perturbed.mismatch
    assert result.perturbed.count >= at_least, result.perturbed
    return result


BLEND = """
import numpy as np

def blend(a, b, out):
    for i in range(len(a)):
        out[i] = 2.0 * a[i] + b[i]
    return out

def arguments():
    rng = np.random.default_rng(1)
    return (rng.random(500), rng.random(500), np.zeros(500)), {}
"""
BLEND_LOOP = "    for i in range(len(a)):\n        out[i] = 2.0 * a[i] + b[i]\n"
GUARDS = {
    "type": "all(type(x) is np.ndarray and x.ndim == 1 for x in (a, b, out))",
    "dtype": "a.dtype == b.dtype == out.dtype == np.float64",
    "size": "len(b) >= len(a) <= len(out)",
    "first": "not np.shares_memory(a, out)",
    "second": "not np.shares_memory(b, out)",
}


def blend(without=""):
    guard = " and ".join(text for name, text in GUARDS.items() if name != without)
    loop = BLEND_LOOP.replace("\n    ", "\n        ").replace("    for", "        for", 1)
    fast = "        out[: len(a)] = 2.0 * a + b[: len(a)]"
    return f"    if {guard}:\n{fast}\n    else:\n{loop}"


@pytest.mark.slow
def test_guards_that_are_missing_are_noticed(bench):
    state = bench.hold(BLEND, "call", "blend")
    result = passed(tried(bench, state, BLEND_LOOP, blend()), 80)
    verdict = verdict_of([result])
    assert isinstance(verdict, Verified) and verdict.perturbed == result.perturbed.count
    missing = {
        "first": ("out a view of a's memory, one element on",),
        "size": ("last element", "empty", "longer"),
        "type": ("as a list", "one axis more"),
        "dtype": ("as complex128", "of Python objects"),
        "second": ("out a view of b's memory, one element on",),
    }
    for name, words in missing.items():
        result = tried(bench, state, BLEND_LOOP, blend(without=name))
        told = caught(result, *words)
        assert told.startswith("on a perturbed input (")
        verdict = verdict_of([result])
        assert verdict == Mismatch(f"call 1, {told}")


def test_without_perturbation_nothing_of_this_is_noticed(bench):
    state = bench.hold(BLEND, "call", "blend")
    path = state.hello.file
    text = bench.server.originals[path].decode()
    new = text.replace(BLEND_LOOP, "    out[:] = 2.0 * a + b\n").encode()
    result = state.try_candidate({path: new}, repeats=1, perturb=False)
    assert result.same and result.perturbed.count == 0 and not failed(result)
    # The same result, completed later.
    caught(state.perturb({path: new}, result), "perturbed")


def test_values_in_lists(bench):
    program = """
    import math
    import numpy as np

    def largest(values):
        best = values[0]
        for v in values:
            if v > best:
                best = v
        return best

    def squares(counts):
        total = 0
        for c in counts:
            total += c * c
        return total

    def wrapped(counts):
        out = []
        for c in counts:
            out.append(c % 7)
        return out

    def arguments():
        return ([0.5, 2.5, 1.5, 3.25] * 4,), {}
    """
    state = bench.hold(program, "call", "largest")
    loop = "for v in values:\n            if v > best:\n                best = v"
    old = loop.replace("\n        ", "\n    ")
    caught(
        tried(bench, state, old, "best = float(np.max(values))"),
        "NaN",
        "tuple",
        "int",
        "array",
        "sizes",
    )
    # NaN alone: all other types go the old way.
    guarded = "if all(type(v) is float for v in values) and type(values) is list:\n"
    guarded += "        best = float(np.max(values))\n"
    guarded += "    else:\n        " + old.replace("\n", "\n    ")
    caught(tried(bench, state, old, guarded), "NaN")


INTEGERS = """
import math
import numpy as np

def squares(counts):
    total = 0
    for c in counts:
        total += c * c
    return total

def arguments():
    return (list(range(40)),), {}
"""


def test_integers_beyond_64_bits(bench):
    state = bench.hold(INTEGERS, "call", "squares")
    old = "    for c in counts:\n        total += c * c"
    new = "    if type(counts) is list and all(type(c) is int for c in counts):\n"
    new += (
        "        total = sum(int(c) * int(c) & 0xFFFFFFFFFFFFFFFF for c in counts)\n    else:\n    "
    )
    new += old.replace("\n", "\n    ")
    caught(tried(bench, state, old, new), "limits of the type", "larger by 2", "the code")


def test_negative_integers(bench):
    program = INTEGERS.replace("c * c", "c % 7")
    state = bench.hold(program, "call", "squares")
    old = "    for c in counts:\n        total += c % 7"
    new = "    if type(counts) is list and all(type(c) is int and c < 2**31 for c in counts):\n"
    new += "        total = sum(int(math.fmod(c, 7)) for c in counts)\n    else:\n    "
    new += old.replace("\n", "\n    ")
    words = ("negative values", "beyond the range", "limits of", "larger by 2", "the code")
    caught(tried(bench, state, old, new), *words)


@pytest.mark.slow
def test_duplicate_indices_and_rows_that_are_one_object(bench):
    program = """
    import numpy as np

    def scatter(hist, idx):
        for i in idx:
            hist[i] += 1

    def raise_all(rows):
        for row in rows:
            for j in range(len(row)):
                row[j] += 1.0

    def arguments():
        return (np.zeros(30, dtype=int), np.arange(30)), {}
    """
    state = bench.hold(program, "call", "scatter")
    old = "    for i in idx:\n        hist[i] += 1"
    told = caught(tried(bench, state, old, "    hist[idx] += 1"), "perturbed input")
    assert "hist" in told or "arguments" in told or "raised" in told
    rows = program.replace("(np.zeros(30, dtype=int), np.arange(30))", "([[1.0] * 6, [2.0] * 6],)")
    state = bench.hold(rows, "call", "raise_all", name="rows.py")
    old = "        for j in range(len(row)):\n            row[j] += 1.0"
    new = "        row[:] = [x + 1.0 for x in row]"
    passed(tried(bench, state, old, new), 20)
    old = "    for row in rows:\n" + old
    new = "    new = [[x + 1.0 for x in row] for row in rows]\n"
    new += "    for row, one in zip(rows, new):\n        row[:] = one"
    caught(tried(bench, state, old, new), "two rows that are one list")


def test_what_an_exception_leaves_behind(bench):
    """Both raise the same; the original has written what came before."""
    program = """
    import numpy as np

    def look_up(table, idx, out):
        for k in range(len(idx)):
            out[k] = table[idx[k]]

    def arguments():
        return (np.arange(50.0), np.arange(50), np.zeros(50)), {}
    """
    state = bench.hold(program, "call", "look_up")
    old = "    for k in range(len(idx)):\n        out[k] = table[idx[k]]"
    new = """
    if all(type(x) is np.ndarray and x.ndim == 1 for x in (table, idx, out)) \\
            and out.flags.writeable and table.dtype == out.dtype == np.float64 \\
            and idx.dtype == np.int64 \\
            and len(idx) <= len(out) and not np.shares_memory(table, out):
        out[: len(idx)] = table[idx]
    else:
        for k in range(len(idx)):
            out[k] = table[idx[k]]
    """
    told = caught(tried(bench, state, old, new.rstrip()), "idx", "arrays", "table")
    assert "numbers differ" in told and "raised" not in told


def test_sizes_of_arguments_and_the_counts_that_go_with_them(bench):
    program = """
    def total(xs, n):
        s = 0.0
        for i in range(n):
            s += xs[i]
        return s

    def halves(xs, n):
        s = 0.0
        for i in range(n):
            s += xs[i]
        return s

    def arguments():
        return ([0.5] * 100, 100), {}
    """
    state = bench.hold(program, "call", "total")
    path = state.hello.file
    text = bench.server.originals[path].decode()
    start = text.index("    for i in range(n)")
    stop = text.index("    return s")

    def attempt(statements):
        new = text[:start] + statements + text[stop:]
        return tried_text(state, new)

    # xs[:n] is shorter where xs is; xs[i] raises.
    caught(attempt("    for x in xs[:n]:\n        s += x\n"), "whole numbers unchanged", "without")
    pairs = "    if type(n) is int and n <= len(xs):\n        for i in range(0, n - 1, 2):\n"
    pairs += "            s = s + xs[i] + xs[i + 1]\n"
    pairs += "    else:\n        for i in range(n):\n            s += xs[i]\n"
    assert "100 -> 7" in caught(attempt(pairs), "sizes")
    passed(attempt(pairs.replace("n <= len(xs)", "n <= len(xs) and n % 2 == 0")), 20)


@pytest.mark.slow
def test_attributes_of_self_and_globals(bench):
    program = """
    import numpy as np

    SCALE = [3.0]
    RATE = 0.25

    class Grid:
        def __init__(self, n):
            self.u = np.arange(n * n, dtype=float).reshape(n, n)
            self.v = self.u + 1.0
            self.name = "grid"
        def step(self):
            for i in range(1, len(self.u)):
                for j in range(len(self.u)):
                    self.v[i, j] = self.u[i - 1, j] * SCALE[0] + RATE

    grid = Grid(12)

    def arguments():
        return (grid,), {}
    """
    state = bench.hold(program, "call", "Grid.step")
    path = state.hello.file
    text = bench.server.originals[path].decode()
    start, stop = text.index("        for i in range(1"), text.index("grid = Grid")
    loop = text[start:stop].rstrip()

    def attempt(guard, value):
        fast = f"            self.v[1:] = self.u[:-1] * {value}"
        other = loop.replace("\n", "\n    ")
        new = f"        if {guard}:\n{fast}\n        else:\n    {other}\n\n"
        return tried_text(state, text[:start] + new + text[stop:])

    guard = (
        "type(self.u) is np.ndarray is type(self.v) and self.u.ndim == self.v.ndim == 2"
        " and self.u.shape == self.v.shape and self.u.shape[0] == self.u.shape[1]"
        " and len(self.u) > 1 and self.u.dtype == self.v.dtype == np.float64"
        " and self.v.flags.writeable"
        " and not np.shares_memory(self.u[0], self.u[1:])"
        " and not np.shares_memory(self.v[0], self.v[1:])"
    )
    # RATE is bound once, from a literal: part of the program.
    apart = " and not np.shares_memory(self.u, self.v)"
    constant = " and type(SCALE) is list and SCALE and type(SCALE[0]) is float"
    passed(attempt(guard + apart + constant, "SCALE[0] + 0.25"), 60)
    caught(attempt(guard + constant, "SCALE[0] + 0.25"), "self.v a view", "one object")
    caught(attempt(guard + apart, "3.0 + 0.25"), "SCALE", "all arrays and lists", "sizes 1 -> 0")


def test_uninitialised_memory(bench):
    program = """
    import numpy as np

    def borders(a):
        out = np.zeros(len(a))
        for i in range(1, len(a) - 1):
            out[i] = a[i - 1] + a[i + 1]
        return out

    def garbage(a):
        out = np.empty(len(a))
        for i in range(1, len(a)):
            out[i] = a[i - 1]
        return out[1:] if len(a) > 40 else out

    def arguments():
        return (np.arange(300.0),), {}
    """
    state = bench.hold(program, "call", "garbage")
    old = "    for i in range(1, len(a)):\n        out[i] = a[i - 1]"
    # The original itself gives whatever memory held: no candidate is to blame for that.
    result = tried(bench, state, old, "    np.zeros(9); out = np.ones(len(a))\n" + old)
    assert result.same and result.perturbed.mismatch is None, result.perturbed
    assert "uninitialised memory" in str(dict(result.perturbed.left_out))


def test_an_empty_buffer_in_place_of_zeros(bench):
    program = """
    import numpy as np

    def borders(a):
        out = np.zeros(len(a))
        for i in range(1, len(a) - 1):
            out[i] = a[i - 1] + a[i + 1]
        return out

    def arguments():
        return (np.arange(300.0),), {}
    """
    state = bench.hold(program, "call", "borders")
    result = tried(bench, state, "a[i - 1] + a[i + 1]", "a[i - 1] + a[1 + i]")
    passed(result, 20)
    # Fresh pages of the system are zero: a recorded call may well not tell.
    new = bench.server.originals[state.hello.file].replace(b"np.zeros", b"np.empty")
    caught(state.perturb({state.hello.file: new}, result, limit=LIMIT), "in other memory")


def test_originals_that_never_end_are_left_out(bench):
    program = """
    def halve(n, xs):
        steps = 0
        while n != 0:
            n -= 2
            for x in xs:
                steps += 1
        return steps

    def arguments():
        return (64, [1, 2, 3]), {}
    """
    state = bench.hold(program, "call", "halve")
    start = time.monotonic()
    result = tried(
        bench,
        state,
        "        for x in xs:\n            steps += 1",
        "        for _ in xs:\n            steps += 1",
    )
    assert time.monotonic() - start < LIMIT
    passed(result, 3)
    assert result.perturbed.left_out["the original took too long"] >= 1


def test_candidates_that_never_end_on_other_inputs(bench):
    program = """
    def count(xs):
        total = 0
        for x in xs:
            total += 1
        return total

    def arguments():
        return ([1.0] * 64,), {}
    """
    state = bench.hold(program, "call", "count")
    new = "    while total != len(xs):\n        total += 64"
    told = caught(tried(bench, state, "    for x in xs:\n        total += 1", new), "did not end")
    assert "sizes 64" in told


def test_a_module_level_loop(bench):
    program = """
    import sys
    import numpy as np
    N = int(sys.argv[1]) if len(sys.argv) > 9 else 300
    raw = np.sin(np.arange(N) * 0.1)
    out = np.zeros(N)
    keep = raw.copy()
    gain = 2.0
    for i in range(1, N - 1):
        out[i] = raw[i] * gain
        keep[i] = raw[i - 1] + raw[i + 1]
    print(out.sum(), i)
    """
    state = bench.hold(program, "loop", "9")
    path = state.hello.file
    text = bench.server.originals[path].decode()
    start, stop = text.index("for i in range"), text.index("print(")

    def attempt(statements):
        new = text[:start] + statements + text[stop:]
        return tried_text(state, new)

    # What the lines before the loop prove may be used: sizes, types, zeros, the copy, ``gain``.
    good = "out = np.zeros(N)\nout[1:-1] = raw[1:-1] * 2.0\nkeep = raw.copy()\n"
    good += "keep[1:-1] = raw[:-2] + raw[2:]\n"
    guarded = "if N > 2:\n    " + good.replace("\n", "\n    ").rstrip()
    guarded += (
        "\n    i = N - 2\nelse:\n    " + text[start:stop].replace("\n", "\n    ").rstrip() + "\n"
    )
    passed(attempt(guarded), 10)
    caught(
        attempt(guarded.replace("raw[1:-1] * 2.0", "np.maximum(raw[1:-1], -1.0) * 2.0")), "arrays"
    )
    caught(attempt(guarded.replace("i = N - 2", "i = 298")), "sizes 300")


def test_dangerous_code_is_not_perturbed(bench):
    program = """
    import os

    def signal_all(pids):
        for pid in pids:
            if pid > 10**9:
                os.kill(pid, 0)
        return len(pids)

    def arguments():
        return ([1, 2, 3],), {}
    """
    state = bench.hold(program, "call", "signal_all")
    result = tried(bench, state, "return len(pids)", "return sum(1 for pid in pids)")
    assert result.same and result.perturbed.count == 0
    assert dict(result.perturbed.left_out) == {"the code mentions os.kill": 1}


@pytest.mark.slow
def test_compiled_candidates(bench):
    pytest.importorskip("numba")
    state = bench.hold(BLEND, "call", "blend")
    old = "def blend(a, b, out):\n" + BLEND_LOOP
    kernel = """
import numba

@numba.njit(cache=True)
def _kernel(a, b, out):
    for i in range(len(a)):
        out[i] = 2.0 * a[i] + b[i]

def blend(a, b, out):
"""
    guarded = blend().replace("out[: len(a)] = 2.0 * a + b[: len(a)]", "_kernel(a, b, out)")
    # numba cannot compile a write to an array that is read-only.
    caught(tried(bench, state, old, kernel + guarded), "read-only")
    guarded = guarded.replace(":\n        _kernel", " and out.flags.writeable:\n        _kernel", 1)
    passed(tried(bench, state, old, kernel + guarded), 5)


@pytest.mark.slow
def test_the_same_inputs_every_time(bench):
    first, second = (
        bench.hold(BLEND, "call", "blend", name=f"{name}.py") for name in ("one", "two")
    )
    for state in (first, second):
        bench.trial(state, BLEND_LOOP, blend(), repeats=1, perturb=4.0)
    runs = [
        {run.words: array_bytes(run.state) for run in state._perturbed.known}
        for state in (first, second)
    ]
    common = runs[0].keys() & runs[1].keys()
    assert len(common) > 10
    assert all(runs[0][words] == runs[1][words] for words in common)
    assert len({tuple(content) for content in runs[0].values()}) > 8


def array_bytes(state):
    arguments = state.nodes[state.roots["arguments"][1]]["v"]
    # a plain number may stand where an array was
    held = [value for value in arguments if isinstance(value, list | tuple) and value[0] == "r"]
    nodes = [state.nodes[value[1]] for value in held]
    return [bytes(state.bytes_of(node) or b"") for node in nodes]


def test_no_step_at_all(bench):
    """With ``n = 0``, and only then, ``v`` is the caller's array; at the first call it is zero."""
    program = """
    import numpy as np

    def track(x, v, n):
        for i in range(n):
            v = v + 0.5 * x
            x = x + v
        return x

    def arguments():
        return (np.array([0.0, 1.0]), np.array([0.3, 0.0]), 30), {}
    """
    state = bench.hold(program, "call", "track")
    result = tried(
        bench, state, "    return x", "    if len(v):\n        v[-1] = 0.0\n    return x"
    )
    caught(result, "n: 0, random values")


SCALED = """
    import numpy as np

    def scale(x, rate, n):
        for i in range(n):
            x[i] = rate * x[i]
        return x

    def arguments():
        return (np.linspace(0.0, 1.0, 40), 0.5, 40), {}
    """
SCALED_LOOP = "    for i in range(n):\n        x[i] = rate * x[i]\n"


def test_exceptions_that_are_swallowed(bench):
    state = bench.hold(SCALED, "call", "scale")
    kept = SCALED_LOOP.replace("\n    ", "\n        ")
    swallowed = f"    try:\n    {kept}    except (TypeError, ValueError):\n        pass\n"
    told = caught(tried(bench, state, SCALED_LOOP, swallowed), "x", "rate", "n")
    assert "the original raised" in told


def test_another_exception_where_a_text_was_given(bench):
    """``'many' <= 40`` in a guard, ``range('many')`` in the original: no caller is the wiser."""
    state = bench.hold(SCALED, "call", "scale")
    guard = "type(x) is np.ndarray and x.dtype == np.float64 and x.ndim == 1 and x.flags.carray"
    fast = (
        f"    if n <= len(x) and type(n) is int and n >= 0 and {guard} and type(rate) is float:\n"
    )
    kept = SCALED_LOOP.replace("\n    ", "\n        ").replace("    for", "        for", 1)
    fast += f"        x[:n] = rate * x[:n]\n    else:\n{kept}"
    passed(tried(bench, state, SCALED_LOOP, fast), 60)


@pytest.mark.slow
def test_compiled_candidates_that_never_end_on_other_inputs(bench):
    """Compiling is paid for on the recorded input; others are bounded by the original's time."""
    pytest.importorskip("numba")
    program = """
    import numpy as np

    def count(xs, seen):
        total = 0
        for x in xs:
            total += 1
        return total

    def arguments():
        return (np.ones(64), np.zeros(8)), {}
    """
    kernel = """\
import numba

@numba.njit(cache=True)
def _kernel(xs, seen):
    total = 0
    while total != len(xs):
        total = 64 - total
        seen[total % 8] += 0.0
    return total
"""
    state = bench.hold(program, "call", "count")
    text = bench.server.originals[state.hello.file].decode()
    head, rest = text.split("    total = 0\n")
    new = head + "    return _kernel(xs, seen)\n\n" + rest[rest.index("def arguments") :]
    changed = {state.hello.file: (kernel + new).encode()}
    result = state.try_candidate(changed, repeats=1, perturb=False)
    # As many seconds as the tool gives it here, and not what a compiler may take at most.
    limit = 5.0 + 3.0 * result.first_call
    caught(state.perturb(changed, result, limit=limit, reserve=LIMIT), "did not end")

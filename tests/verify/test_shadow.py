"""Rewrites that round otherwise, judged by a run of the original in wider floats."""

from __future__ import annotations

import pytest

from gpuadvise.model import Exactness
from gpuadvise.verify.compare import Different, Same

TOTAL = """
import math
import numpy as np

def work(a):
    s = {zero}
    for x in a:
        s += x
    return s

def arguments():
    rng = np.random.default_rng(0)
    return ({data},), {{}}
"""
SUM = "    for x in a:\n        s += x\n    return s"


def outcome(bench, program, old, new, n=1, exactness=Exactness.REASSOCIATED):
    state = bench.hold(program, "call", "work")
    path = state.hello.file
    text = bench.server.originals[path].decode()
    assert text.count(old) == 1
    return state.try_candidate(
        {path: text.replace(old, new).encode()},
        exactness=exactness,
        reduction_length=n,
        repeats=1,
        perturb=False,
    ).comparison


@pytest.mark.parametrize(
    ("data", "zero", "new"),
    [
        ("rng.random(20000)", "0.0", "return a.sum()"),
        ("rng.random(20000).tolist()", "0.0", "return float(np.sum(a))"),
        ("rng.random(20000, dtype=np.float32)", "np.float32(0)", "return a.sum()"),
        ("np.cumsum(rng.random(40000))[::2]", "0.0", "return a.sum()"),
    ],
    ids=["float64", "list", "float32", "view"],
)
def test_sums_in_another_order(bench, data, zero, new):
    program = TOTAL.format(data=data, zero=zero)
    same = outcome(bench, program, SUM, "    " + new, 20000)
    assert isinstance(same, Same), same
    assert same.accuracy.startswith("no less accurate than the original"), same.accuracy
    assert same.error.ulp > 0


def test_a_sum_that_rounds_worse(bench):
    """Each stays within the tolerance of the other; one of both is the original."""
    worse = "return np.float64(np.sum(a.astype('f4').astype('f8')))"
    program = TOTAL.format(data="rng.random(20000)", zero="0.0").replace("s += x", "s = s + x")
    exact = program.replace(
        SUM.replace("s += x", "s = s + x"), "    return np.float64(math.fsum(a))"
    )
    found = outcome(bench, exact, "return np.float64(math.fsum(a))", worse, 10**9)
    assert isinstance(found, Different) and "less accurate" in found.what, found


DISTANCES = """
import math
import numpy as np

def work(p):
    n = len(p)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(3):
                s += (p[i, k] - p[j, k]) ** 2
            out[i, j] = s
    return out

def arguments():
    return (10.0 + np.random.default_rng(0).random((40, 3)),), {}
"""


def test_the_gram_trick_loses_the_small_distances(bench):
    old = DISTANCES[DISTANCES.index("    n = len") : DISTANCES.index("\ndef arguments")]
    honest = "    d = p[:, None] - p[None]\n    return (d * d).sum(axis=2)\n"
    same = outcome(bench, DISTANCES, old, honest, 10**4)
    assert isinstance(same, Same), same
    gram = (
        "    q = (p * p).sum(axis=1)\n"
        "    return np.maximum(q[:, None] + q[None] - 2 * (p @ p.T), 0.0)\n"
    )
    found = outcome(bench, DISTANCES, old, gram, 10**4)
    assert isinstance(found, Different) and "less accurate" in found.what, found


FUNCTIONS = """
import math
import numpy as np
from math import exp

class Curve:
    def __init__(self, xs):
        self.xs, self.scale = xs, 1.7

def work(curve, out):
    for i in range(len(curve.xs)):
        out[i] = exp(curve.xs[i] / curve.scale) + math.log(2.0 + curve.xs[i] ** 2)
    return out

def arguments():
    return (Curve(np.random.default_rng(0).random(500)), np.zeros(500)), {}
"""


def test_library_functions(bench):
    old = FUNCTIONS[FUNCTIONS.index("    for i") : FUNCTIONS.index("    return out")]
    new = "    out[:] = np.exp(curve.xs / curve.scale) + np.log(2.0 + curve.xs ** 2)\n"
    same = outcome(bench, FUNCTIONS, old, new, exactness=Exactness.LAST_DIGIT)
    assert isinstance(same, Same), same
    assert same.error.exact or same.accuracy.startswith("no less accurate"), same.accuracy
    # The small values are off by less than the tolerance, which follows the largest.
    off = new + "    out[out < 3] *= 1 + 1e-13\n"
    spread = FUNCTIONS.replace("random(500))", "random(500) * 9)")
    found = outcome(bench, spread, old, off, 1000, Exactness.LAST_DIGIT)
    assert isinstance(found, Different) and "less accurate" in found.what, found


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("s = 0.0; assert a.dtype.itemsize == 8", "there it raises AssertionError"),
        ("s = 0.0; global count; count = int(a.dtype.itemsize)", "another way"),
        ("s = 0.0; a = a.astype('f8')", "did not become wider"),
    ],
)
def test_where_the_wider_run_says_nothing(bench, line, why):
    program = TOTAL.format(data="rng.random(2000)", zero="0.0").replace("s = 0.0", line)
    program = program.replace("def work", "count = 0\n\ndef work")
    same = outcome(bench, program, SUM, "    return a.sum()", 2000)
    assert isinstance(same, Same), same
    assert why in same.accuracy and "within the tolerance" in same.accuracy, same.accuracy


def test_a_loop_at_module_level(bench):
    program = """
    import numpy as np
    xs = np.random.default_rng(0).random(2000)
    total = 0.0
    for x in xs:
        total += x
    print(total > 0)
    """
    state = bench.hold(program, "loop", "5")
    path = state.hello.file
    text = bench.server.originals[path].decode()
    new = text.replace("for x in xs:\n    total += x", "total += float(np.sum(xs)); x = xs[-1]")
    assert new != text
    same = state.try_candidate(
        {path: new.encode()},
        exactness=Exactness.REASSOCIATED,
        reduction_length=2000,
        perturb=False,
        repeats=1,
    ).comparison
    # A numpy.float64 became a float: that is said first.
    assert isinstance(same, Different) and "type" in same.what
    same = state.try_candidate(
        {path: new.replace("float(np.sum(xs))", "np.sum(xs)").encode()},
        exactness=Exactness.REASSOCIATED,
        reduction_length=2000,
        perturb=False,
        repeats=1,
    ).comparison
    assert isinstance(same, Same) and same.accuracy.startswith("no less accurate"), same


def test_nothing_is_said_of_equal_bits(bench):
    program = TOTAL.format(data="rng.random(2000)", zero="0.0")
    same = outcome(bench, program, "s += x", "s = s + x", 2000)
    assert isinstance(same, Same) and same.accuracy == "" and same.error.exact

"""Whatever a call leaves behind: a candidate that leaves one thing out, or adds one, is found."""

from __future__ import annotations

import pytest

from gpuadvise.model import Unavailable
from gpuadvise.verify.compare import Different, Incomparable

PROGRAM = """
import contextvars
import decimal
import functools
import os
import random
import signal
import sys
import warnings
import numpy as np

__total = 0
rng = np.random.default_rng(3)
dice = random.Random(4)
mode = contextvars.ContextVar("mode")
source = iter(range(100))
lines = open(__file__)
log = open(__file__ + ".log", "w")
numbers = (k for k in range(100))


@functools.lru_cache
def square(x):
    return x * x


class Model:
    count = 0

    class Inner:
        seen = 0

    def remember(self, x, known=[]):
        known.append(x)

    @functools.lru_cache
    def asked(self):
        return 1

    @staticmethod
    def note(x, known={}):
        known[x] = x


class Failure(Exception):
    pass


def make():
    calls = 0

    def call(x, seen=[], *, kept=[]):
        nonlocal calls
        calls += 1
        seen.append(x)
        return calls

    return call


call = make()
model = Model()
try:
    call(0)
except Exception:
    pass


def work(n):
    global __total
    total = 0.0
    for i in range(n):
        total += i * 0.5
    #
    return total


def arguments():
    return (5,), {}
"""

EFFECTS = [
    "__total += 1",
    "globals()['fresh'] = 1",
    "rng.random()",
    "rng.spawn(1)",
    "dice.random()",
    "random.random()",
    "np.random.random()",
    "mode.set(3)",
    "next(source)",
    "next(lines)",
    "lines.read(1)",
    "log.write('x')",
    "log.close()",
    "next(numbers)",
    "square(3)",
    "model.remember(1)",
    "model.asked()",
    "Model.note(1)",
    "Model.count += 1",
    "Model.Inner.seen += 1",
    "model.extra = 1",
    "work.calls = 1",
    "call(1)",
    "print('x')",
    "os.environ['GPUADVISE_TEST'] = 'x'",
    "os.chdir('/')",
    "os.umask(0o77)",
    "sys.path.append('x')",
    "sys.setrecursionlimit(999)",
    "sys.stdout = None",
    "warnings.simplefilter('error')",
    "np.seterr(all='raise')",
    "np.set_printoptions(precision=3)",
    "decimal.getcontext().prec = 7",
    "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
    "__import__('builtins').input = len",
    "np.sum = max",
    "np.random.default_rng = len",
    "import math; math.sin = math.cos",
    "raise ValueError('a')",
    "total = np.float64(total)",
]

RAISED = [
    "raise Failure('a')",
    "raise Failure('b')",
    "raise ValueError('a')",
    "raise Failure('a') from ValueError('c')",
    "raise Failure('a') from ValueError('d')",
    "error = Failure('a'); error.line = 3; raise error",
    "error = Failure('a'); error.line = 4; raise error",
    "error = Failure('a'); error.add_note('n'); raise error",
    "open('/nowhere/a')",
    "open('/nowhere/b')",
    "sys.exit(3)",
    "sys.exit(4)",
    "raise StopIteration(1)",
    "raise StopIteration(2)",
    "[][1]",
    "try: [][1]\n    except IndexError: raise Failure('a')",
    "try: [][1]\n    except IndexError: raise Failure('a') from None",
]


def outcome(bench, state, line):
    path = state.hello.file
    text = bench.server.originals[path].decode()
    return state.try_candidate(
        {path: text.replace("    #\n", f"    {line}\n").encode()}, repeats=1, perturb=False
    )


def test_nothing_that_a_call_leaves_behind_goes_unseen(bench):
    state = bench.hold(PROGRAM, "call", "work")
    assert outcome(bench, state, "total = total").same
    for effect in EFFECTS:
        result = outcome(bench, state, effect)
        assert isinstance(result.comparison, Different | Incomparable), (effect, result)
    assert outcome(bench, state, "total = total").same, "an attempt has left something behind"


APART = ("raise ValueError('a')", "sys.stdout = None", "log.close()", "globals()['fresh'] = 1")


@pytest.mark.parametrize("effects", [[e for e in EFFECTS if e not in APART], *zip(APART)])
def test_what_the_original_leaves_behind_is_kept_by_an_honest_candidate(bench, effects):
    lines = "".join(f"    {effect}\n" for effect in effects)
    state = bench.hold(PROGRAM.replace("    #\n", f"{lines}    #\n"), "call", "work")
    result = outcome(bench, state, "total = total")
    assert result.same, result


@pytest.mark.parametrize("effect", ["np.seterr(all='raise')", "os.chdir('/')", "call(1)"])
def test_a_warm_up_that_cannot_be_undone_is_left_out(bench, effect):
    state = bench.hold(PROGRAM.replace("    #\n", f"    {effect}\n    #\n"), "call", "work")
    result = outcome(bench, state, "total = total")
    assert result.same and not result.warm


def test_files_that_an_attempt_writes_to_stay_as_they_are(bench, tmp_path):
    """Two attempts append to one open file: each finds what the program had written."""
    state = bench.hold(PROGRAM.replace("    #\n", "    log.write('x')\n    #\n"), "call", "work")
    assert outcome(bench, state, "total = total").same
    assert (tmp_path / "program.py.log").read_text() == ""


SHARED = """
import numpy as np

field = np.memmap(__file__ + ".dat", dtype="f8", mode="w+", shape=(100,))


def work(n):
    for i in range(n):
        field[i] += 1.0
    return float(field.sum())


def arguments():
    return (5,), {}
"""


def test_memory_that_is_shared_with_a_file_stays_as_it_is(bench, tmp_path):
    state = bench.hold(SHARED, "call", "work")
    old = "for i in range(n):\n        field[i] += 1.0"
    result = bench.trial(state, old, "field[:n] += 1.0")
    assert result.same, result
    assert bench.trial(state, old, "field[:n] = 2.0").same is False
    assert not any((tmp_path / "program.py.dat").read_bytes())


def test_exceptions(bench):
    for mine in RAISED[:1] + RAISED[5:6]:
        state = bench.hold(PROGRAM.replace("    #\n", f"    {mine}\n    #\n"), "call", "work")
        for other in RAISED:
            path = state.hello.file
            text = bench.server.originals[path].decode().replace(f"    {mine}\n    #\n", "    #\n")
            new = {path: text.replace("    #\n", f"    {other}\n").encode()}
            result = state.try_candidate(new, repeats=1, perturb=False)
            assert not isinstance(result.failure, Unavailable), result
            # Nothing shows of an exception that is hidden by ``from None``.
            equal = mine == other or (mine, other) == (RAISED[0], RAISED[-1])
            assert result.same is equal, (mine, other, result)

"""Whole scripts in a real sandbox."""

from __future__ import annotations

from textwrap import dedent

import pytest

from gpuadvise.deadline import Deadline
from gpuadvise.model import (
    Crashed,
    Exactness,
    Mismatch,
    NotFaster,
    Target,
    TimedOut,
    Verified,
)
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.verify.output import Mask, comparable_errors, difference, mask_between
from gpuadvise.verify.script import Goal, ScriptTrials, nothing_compared

SLOW = """
import sys
total = 0
for i in range(3_000_000):
    total += i
print("total", total)
print(sys.argv[1:], sys.stdin.read())
"""
LOOP = "for i in range(3_000_000):\n    total += i\n"
FAST = "total = 3_000_000 * 2_999_999 // 2\n"


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Makes trials of a program, and texts with something replaced."""
    import sys

    boxes = []
    monkeypatch.chdir(tmp_path)

    def make(text, *args, stdin=b"", limit=60.0):
        script = tmp_path / "program.py"
        script.write_text(dedent(text))
        recorded = tmp_path / "stdin"
        recorded.write_bytes(stdin)
        target = Target(script, args, cwd=tmp_path, python=sys.executable)
        box = Sandbox(target)
        boxes.append(box)
        box.__enter__()
        trials = ScriptTrials(box, target, recorded, limit)

        def patched(old, new):
            source = script.read_text()
            assert source.count(old) == 1
            return {script: source.replace(old, new).encode()}

        return trials, patched

    yield make
    for box in boxes:
        box.__exit__(None, None, None)


def judge(trials, patched, threshold=1.1, seconds=60.0, **goal):
    return trials.judge(patched, Goal(threshold=threshold, **goal), Deadline(seconds))


def test_a_faster_script(make):
    trials, patched = make(SLOW, "x", "--y", stdin=b"fed")
    verdict = judge(trials, patched(LOOP, FAST))
    assert isinstance(verdict, Verified), verdict
    assert verdict.speedup.value > 1.5
    assert verdict.compared == "standard output (2 lines), exit status"
    assert len(verdict.speedup.original) >= 3 and len(verdict.speedup.candidate) >= 5
    assert trials.original.stdout == b"total 4499998500000\n['x', '--y'] fed\n"


def test_no_gain(make):
    trials, patched = make(SLOW)
    verdict = judge(trials, patched(LOOP, LOOP.replace("+= i", "+= i + 0")))
    assert isinstance(verdict, NotFaster)


def test_other_output(make):
    trials, patched = make(SLOW)
    verdict = judge(trials, patched(LOOP, FAST.replace("2_999_999", "2_999_998")))
    assert verdict == Mismatch(
        "standard output, line 1: 4499997000000 where the original has 4499998500000"
    )


def test_printed_digits_only_with_unsafe(make):
    text = (
        "import time\nend = time.time() + 0.3\nwhile time.time() < end: pass\nx = 0.1\nprint(x)\n"
    )
    trials, patched = make(text)
    new = patched("x = 0.1", "x = 0.10000000000000002")
    assert isinstance(judge(trials, new, exactness=Exactness.REASSOCIATED), Mismatch)
    faster = {path: data.replace(b"+ 0.3", b"+ 0.0") for path, data in new.items()}
    relaxed = judge(trials, faster, exactness=Exactness.REASSOCIATED, unsafe=True)
    assert isinstance(relaxed, Verified) and "--unsafe" in relaxed.compared
    assert isinstance(judge(trials, faster, unsafe=True), Mismatch)


def test_end_of_the_script(make):
    trials, patched = make(SLOW)
    assert isinstance(judge(trials, patched(LOOP, FAST + "sys.exit(3)\n")), Crashed)
    raised = judge(trials, patched(LOOP, "total = [][1]\n"))
    assert isinstance(raised, Crashed) and "IndexError" in raised.why
    died = judge(trials, patched(LOOP, "import os; os.abort()\n"))
    assert isinstance(died, Crashed) and "signal 6" in died.why


def test_the_same_failure_is_no_failure(make):
    trials, patched = make(SLOW + "sys.exit(3)\n")
    assert isinstance(judge(trials, patched(LOOP, FAST)), Verified)


def test_a_rewrite_that_never_ends(make):
    trials, patched = make(SLOW, limit=2.0)
    assert judge(trials, patched(LOOP, "while True: pass\n")) == TimedOut(2.0)


def test_files(make):
    text = SLOW + "open('out.txt', 'a').write(f'{total}\\n')\n"
    trials, patched = make(text)
    verdict = judge(trials, patched(LOOP, FAST))
    assert isinstance(verdict, Verified) and "1 file" in verdict.compared
    other = patched(LOOP, FAST + "open('more.txt', 'w').close()\n")
    assert isinstance(judge(trials, other), Mismatch)
    changed = judge(trials, patched("{total}", "{total} "))
    assert isinstance(changed, Mismatch) and changed.what.endswith("out.txt differs")


def test_array_files_within_the_tolerance(make):
    text = """
    import numpy as np
    x = np.random.default_rng(0).random(3_000_000)
    s = 0.0
    for v in x:
        s += v
    np.save("out.npy", np.array([s]))
    """
    trials, patched = make(text)
    new = patched("for v in x:\n    s += v\n", "s = float(x.sum())\n")
    assert isinstance(judge(trials, new), Mismatch)
    how = {"exactness": Exactness.REASSOCIATED, "reduction_length": 400_000}
    verdict = judge(trials, new, threshold=1.01, **how)
    assert isinstance(verdict, Verified) and verdict.error.absolute > 0
    wrong = patched("for v in x:\n    s += v\n", "s = float(x[1:].sum())\n")
    assert isinstance(judge(trials, wrong, **how), Mismatch)


CLOCK = """
import random, time
start = time.perf_counter()
total = 0
for i in range(2_000_000):
    total += i
took = time.perf_counter() - start
print(f"elapsed: {took:.1f} s for {total}")
print("token", random.random())
print("done")
"""
CLOCK_LOOP = "for i in range(2_000_000):\n    total += i\n"


def test_what_differs_from_run_to_run_is_masked(make):
    """0.1 s in two runs of the original, by chance; 0.0 s in the rewrite."""
    trials, patched = make(CLOCK)
    verdict = judge(trials, patched(CLOCK_LOOP, "total = 1999999000000\n"))
    assert isinstance(verdict, Verified), verdict
    assert "(2 lines) left out" in verdict.compared
    wrong = judge(trials, patched(CLOCK_LOOP, "total = 1999999000001\n"))
    assert isinstance(wrong, Mismatch) and "line 1" in wrong.what


def test_nothing_to_compare(make):
    text = "total = 0\nfor i in range(3_000_000):\n    total += i\n"
    trials, patched = make(text)
    verdict = judge(trials, patched(LOOP, FAST))
    assert isinstance(verdict, Verified) and nothing_compared(verdict)


def test_budget(make):
    trials, patched = make(SLOW)
    verdict = judge(trials, patched(LOOP, FAST), seconds=0.0)
    # One run a side, and an interval that says so.
    assert isinstance(verdict, Verified)
    assert len(verdict.speedup.original) == len(verdict.speedup.candidate) == 1
    assert verdict.speedup.high / verdict.speedup.low > 1.2


def test_cold_runs_count_and_the_cache_is_told_apart(make):
    pytest.importorskip("numba")
    text = """
    total = 0
    for i in range(25_000_000):
        total += i % 7
    print(total)
    """
    trials, patched = make(text)
    new = """
import numba

@numba.njit(cache=True)
def kernel():
    total = 0
    for i in range(25_000_000):
        total += i % 7
    return total

total = kernel()
"""
    verdict = judge(trials, patched("for i in range(25_000_000):\n    total += i % 7\n", new))
    assert isinstance(verdict, Verified), verdict
    assert verdict.first_call > 0.05


# ---------------------------------------------------------------------- text
def test_masks():
    mask = mask_between(b"a 1 2\nb\n", b"a 1 3\nb\n")
    assert mask == Mask({0: frozenset({1})})
    assert difference(b"a 1 2\nb\n", b"a 1 9.5\nb\n", mask, "out") is None
    assert difference(b"a 1 2\nb\n", b"a 7 2\nb\n", mask, "out") == (
        "out, line 1: 7 where the original has 1"
    )
    assert difference(b"a 1 2\nb\n", b"a 1 2\nb\nc\n", mask, "out") == (
        "out has 3 lines where the original's has 2"
    )
    assert mask_between(b"x\n", b"y\n") == Mask(lines=frozenset({0}))
    assert mask_between(b"x\n", b"x\nx\n").whole
    assert not mask_between(b"x", b"x")


def test_line_numbers_in_warnings_do_not_count():
    one = b"/p/a.py:10: RuntimeWarning: overflow\n  x = a * b\n"
    other = b"/p/a.py:34: RuntimeWarning: overflow\n  np.multiply(a, b)\n"
    assert comparable_errors(one) == comparable_errors(other)
    assert comparable_errors(one) != comparable_errors(b"")

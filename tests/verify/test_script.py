"""Whole scripts in a real sandbox."""

from __future__ import annotations

import time
from dataclasses import replace
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
    Unavailable,
    Verified,
)
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.report import words
from gpuadvise.verify.script import Goal, OutOfTime, ScriptTrials, nothing_compared

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


def judge(trials, patched, threshold=1.1, *, seconds=60.0, **goal):
    return trials.judge(patched, Goal(threshold=threshold, **goal), Deadline(seconds))


def test_a_faster_script(make):
    trials, patched = make(SLOW, "x", "--y", stdin=b"fed")
    verdict = judge(trials, patched(LOOP, FAST))
    assert isinstance(verdict, Verified), verdict
    assert verdict.speedup.value > 1.5
    assert verdict.compared == "standard output (2 lines), exit status"
    # of a script of less than a second 3 and 5; on a busy machine it takes longer
    assert len(verdict.speedup.original) >= 2 and len(verdict.speedup.candidate) >= 3
    assert trials.original.stdout == b"total 4499998500000\n['x', '--y'] fed\n"


def test_no_gain(make):
    trials, patched = make(SLOW)
    verdict = judge(trials, patched(LOOP, LOOP.replace("+= i", "+= i + 0 - 0 + 0 - 0 + 0 - 0")))
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


def test_what_a_rewrite_with_too_many_other_digits_would_gain(make):
    text = (
        "import time\nend = time.time() + 0.6\nwhile time.time() < end: pass\n"
        "x = 0.51234567\nprint('loss', x, 7)\nopen('loss.txt', 'w').write(f'{x:.5f}')\n"
    )
    trials, patched = make(text)
    new = patched("x = 0.51234567", "x = 0.51235999")
    faster = {path: data.replace(b"+ 0.6", b"+ 0.0") for path, data in new.items()}
    found = judge(trials, faster, exactness=Exactness.LAST_DIGIT, unsafe=True)
    assert isinstance(found, Mismatch) and found.what.startswith("standard output, line 1")
    assert found.within == pytest.approx(1e-4)
    assert found.speedup is not None
    told = words.verdict(found)
    assert "all written numbers are within 0.01 % of the original's" in told, told
    assert words.times(found.speedup) in told
    # who did not ask for other digits, and who gets other words, is told no gain
    for other in (faster, {p: d.replace(b"'loss'", b"'Loss'") for p, d in faster.items()}):
        plain = judge(trials, other, exactness=Exactness.LAST_DIGIT, unsafe=other is not faster)
        assert isinstance(plain, Mismatch) and plain.within is None and plain.speedup is None


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
    # Named as the user would, not by its place in the scratch copy.
    assert judge(trials, other) == Mismatch("file more.txt is written in addition")
    changed = judge(trials, patched("{total}", "{total} "))
    assert isinstance(changed, Mismatch) and "out.txt" in changed.what


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
    # The file that the user gets is another one: not without being asked.
    assert isinstance(judge(trials, new, **how), Mismatch)
    how["unsafe"] = True
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


def test_time_for_one_run_of_each_side(make):
    trials, patched = make(SLOW)
    first = trials.original.wall
    verdict = judge(trials, patched(LOOP, FAST), seconds=0.9 * first, expected=0.1 * first)
    assert isinstance(verdict, Verified)
    # An interval that says that it rests on little.
    assert len(verdict.speedup.original) == 1
    assert verdict.speedup.high / verdict.speedup.low > 1.2


def test_no_run_goes_past_the_budget(make, limits_of_runs):
    trials, patched = make("import time\ntime.sleep(3)\nx = 1\n")
    verdict = judge(trials, patched("x = 1", "x = 2"), seconds=1.0)
    assert len(limits_of_runs) == 1 and limits_of_runs[0] <= 1.0
    assert isinstance(verdict, Unavailable) and "--budget" in verdict.why
    # What was cut short is not taken for the original.
    assert isinstance(judge(trials, patched("time.sleep(3)", "pass")), Verified)


def test_a_run_that_cannot_end_in_time_is_not_begun(make, limits_of_runs):
    trials, patched = make("import time\ntime.sleep(1)\nprint(1)\n")
    assert trials.original.ok
    limits_of_runs.clear()
    for seconds in (0.0, 0.8):
        verdict = judge(trials, patched("print(1)", "print(2)"), seconds=seconds)
        assert isinstance(verdict, Unavailable) and not limits_of_runs


def profiled(trials):
    """The trials know a real run and a profiled one, as in a journey; no trial of the original."""
    real = trials.box.run(trials.box.command(), stdin=trials.stdin)
    again = ScriptTrials(trials.box, trials.target, trials.stdin, 60.0, real)
    again.stand_in = trials.box.run(trials.box.command(), stdin=trials.stdin)
    return again, real.wall


def test_a_long_script_needs_no_third_run_of_the_original(make):
    """2 s are left for a script of 3: what the profiled run wrote is what it writes."""
    trials, patched = make(SLOW.replace("3_000_000", "15_000_000"))
    loop = LOOP.replace("3_000_000", "15_000_000")
    trials, wall = profiled(trials)
    fast = {"expected": 0.1 * wall, "seconds": 0.9 * wall}
    right = "total = 15_000_000 * 14_999_999 // 2\n"
    verdict = judge(trials, patched(loop, right), **fast)
    assert isinstance(verdict, Verified), verdict
    assert "real run" in verdict.compared and not trials.original_walls
    assert verdict.speedup.original[0] <= wall
    # One more run of it would fit, were it as quick as the last; the rewrite goes first.
    close = judge(trials, patched(loop, right), expected=0.1 * wall, seconds=1.7 * wall)
    assert isinstance(close, Verified) and not trials.original_walls
    # Of one that could not be tried on a state, nothing is expected.
    unknown = judge(trials, patched(loop, right), seconds=0.9 * wall)
    assert isinstance(unknown, Verified) and not trials.original_walls
    # Nothing is held against it: the profiler, too, may change what a program writes.
    wrong = judge(trials, patched(loop, right.replace("// 2", "// 3")), **fast)
    assert isinstance(wrong, Unavailable) and "--budget" in wrong.why
    small = judge(trials, patched(loop, loop.replace("15_", "14_") + right), **fast)
    assert isinstance(small, Unavailable), "a gain that is not plain needs both sides"
    # With time left, the last word is spoken with the original itself.
    settled = trials.settle(verdict, patched(loop, right), Goal(), Deadline(60.0))
    assert isinstance(settled, Verified) and trials.original_walls
    assert settled.speedup.original[0] == trials.original_walls[0]


@pytest.mark.parametrize(("left", "runs"), [(8.0, ["rewrite", "original"]), (5.5, ["rewrite"])])
def test_a_run_beside_earlier_ones_is_kept_where_its_gain_is_not_plain(
    make, monkeypatch, left, runs
):
    """4 s, 2.8 s with the rewrite: the run that said so is one side, the original the other."""
    trials, patched = make("print(1)\n")
    trials, _ = profiled(trials)
    now, made = 0.0, []
    alike = replace(trials.stand_in, wall=4.0, cpu=4.0)
    monkeypatch.setattr(trials, "_real", alike)
    monkeypatch.setattr(trials, "stand_in", alike)

    def run(new, **how):
        nonlocal now
        made.append("rewrite" if new else "original")
        seconds = 2.8 if new else 4.0
        now += seconds
        return replace(alike, wall=seconds, cpu=seconds)

    monkeypatch.setattr(trials, "_run", run)
    deadline = Deadline(left, clock=lambda: now)
    verdict = trials.judge(patched("print(1)", "print(1 )"), Goal(threshold=1.1), deadline)
    assert made == runs
    if len(runs) == 2:
        assert isinstance(verdict, Verified), verdict
        assert verdict.speedup.original == (4.0,) and verdict.speedup.candidate == (2.8,)
    else:
        assert isinstance(verdict, Unavailable) and "--budget" in verdict.why


def test_an_original_that_takes_longer_than_the_budget_leaves_no_verdict(make, monkeypatch):
    """As above, but other programs came: the run of the original was stopped."""
    trials, patched = make("print(1)\n")
    trials, _ = profiled(trials)
    alike = replace(trials.stand_in, wall=4.0, cpu=4.0)
    monkeypatch.setattr(trials, "_real", alike)
    monkeypatch.setattr(trials, "stand_in", alike)

    def run(new, **how):
        if not new:
            raise OutOfTime
        return replace(alike, wall=2.8, cpu=2.8)

    monkeypatch.setattr(trials, "_run", run)
    deadline = Deadline(8.0, clock=lambda: 0.0)
    verdict = trials.judge(patched("print(1)", "print(1 )"), Goal(threshold=1.1), deadline)
    assert isinstance(verdict, Unavailable) and "--budget" in verdict.why


def test_the_last_word_is_taken_in_turn(make):
    """More runs of both sides, and equality on each of them."""
    trials, patched = make(SLOW)
    new = patched(LOOP, FAST)
    first = judge(trials, new, quick=True)
    assert isinstance(first, Verified) and len(first.speedup.candidate) == 1
    last = trials.settle(first, new, Goal(), Deadline(60.0))
    assert isinstance(last, Verified)
    assert len(last.speedup.original) >= 2 and len(last.speedup.candidate) >= 3
    assert trials.settle(first, new, Goal(), Deadline(0.0)) == first


def test_a_rewrite_that_is_wrong_now_and_then(make):
    """Right in its first run, wrong in a later one: the counter lies outside what is reset."""
    trials, patched = make(SLOW)
    new = patched(LOOP, FAST)
    first = judge(trials, new, quick=True)
    assert isinstance(first, Verified)
    counter = trials.box.own / "count"
    wrong = f"""total = 3_000_000 * 2_999_999 // 2
path = {str(counter)!r}
open(path, "a").write("x")
total += len(open(path).read()) == 2
"""
    changed = patched(LOOP, wrong)
    assert isinstance(trials.settle(first, changed, Goal(), Deadline(60.0)), Mismatch)
    counter.unlink()
    assert isinstance(judge(trials, changed), Mismatch)


def test_an_exit_status_that_no_run_repeats(make):
    # The tool's own folder is left as it is between runs: each run there finds another number.
    text = (
        SLOW
        + """
import os
path = os.path.join(os.path.dirname(os.environ["TMPDIR"]), "own", "count")
open(path, "a").write("x")
sys.exit(len(open(path).read()))
"""
    )
    trials, patched = make(text)
    verdict = judge(trials, patched(LOOP, FAST))
    assert isinstance(verdict, Unavailable) and "in another" in verdict.why


def test_what_the_runs_took_is_kept(make):
    trials, patched = make(SLOW)
    verdict = judge(trials, patched(LOOP, FAST))
    assert isinstance(verdict, Verified)
    ratio = verdict.speedup
    assert len(ratio.original_usage) == len(ratio.original)
    assert len(ratio.candidate_usage) == len(ratio.candidate)
    # The loop burns CPU time, and every process touches fresh pages.
    assert min(u.cpu for u in ratio.original_usage) > 0.05
    assert all(u.faults > 100 for u in (*ratio.original_usage, *ratio.candidate_usage))


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


TIMED = """
import json, random, sys, time
start = time.time()
total = 0
for i in range(3_000_000):
    total += i
json.dump({"took": time.time() - start, "total": total}, open("out.json", "w"))
for name in {"a", "b", "c", "d"}:
    print(name, total)
print(f"\\r{total} in {time.time() - start:.0f} s at {time.strftime('%H:%M')}")
"""


def test_results_beside_times_are_compared(make):
    trials, patched = make(TIMED)
    verdict = judge(trials, patched(LOOP, FAST))
    assert isinstance(verdict, Verified), verdict
    assert "1 file" in verdict.compared and "left out" in verdict.compared
    wrong = judge(trials, patched(LOOP, FAST + "total += 1\n"))
    assert isinstance(wrong, Mismatch), wrong
    only_file = patched('"total": total', '"total": total + 1')
    assert isinstance(judge(trials, only_file), Mismatch)
    only_last = patched("{total} in", "{total + 1} in")
    assert isinstance(judge(trials, only_last), Mismatch)


IMPATIENT = """
import sys, time
start = time.monotonic()
total = 0
for i in range(3_000_000):
    total += i
if time.monotonic() - start > 100 or time.time() > 86400 * 10 + float(sys.argv[1]):
    sys.exit("too late")
print("token", id(total))
print("total", total)
"""


def test_a_program_that_does_not_survive_other_clocks(make):
    """Its run under them ends early; what it did not print is not left out for that."""
    trials, patched = make(IMPATIENT, str(time.time()))
    assert isinstance(judge(trials, patched(LOOP, FAST)), Verified)
    wrong = judge(trials, patched(LOOP, FAST + "total += 1\n"))
    assert isinstance(wrong, Mismatch) and "line 2" in wrong.what


COMPILED = """\
# stands in for numba: the first run "compiles" for a while, later ones find the result
import os, time
cached = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__pycache__", "k.nbi")
if not os.path.exists(cached):
    end = time.process_time() + 0.8
    while time.process_time() < end:
        pass
    os.makedirs(os.path.dirname(cached), exist_ok=True)
    open(cached, "w").close()
total = 3_000_000 * 2_999_999 // 2
"""


def test_a_compiler_loses_one_run_and_wins_twenty(make):
    trials, patched = make(SLOW)
    once = judge(trials, patched(LOOP, COMPILED))
    assert isinstance(once, NotFaster), once
    assert once.over is None
    assert once.later is not None and once.later.value > 2 * once.speedup.value
    often = judge(trials, patched(LOOP, COMPILED), runs=20)
    assert isinstance(often, Verified), often
    assert often.over is not None and often.deciding is often.over
    assert often.speedup.value < 1.0 < often.over.low < often.later.value
    assert often.first_call > 0.5


def test_later_runs_are_compared_as_well(make):
    """A rewrite that is right while it compiles, and wrong from its cache."""
    trials, patched = make(SLOW)
    wrong = COMPILED + "total += 1\n"
    wrong = wrong.replace("if not os", "cold = not os.path.exists(cached)\nif not os").replace(
        "total += 1", "total += 0 if cold else 1"
    )
    assert isinstance(judge(trials, patched(LOOP, wrong), runs=20), Mismatch)
    assert isinstance(judge(trials, patched(LOOP, wrong)), Mismatch)


INDUCTOR = COMPILED.replace("stands in for numba", "stands in for torch.compile").replace(
    'os.path.dirname(os.path.abspath(__file__)), "__pycache__"',
    'os.environ["TORCHINDUCTOR_CACHE_DIR"], "fxgraph"',
)


def test_what_is_only_against_a_compiled_model_is_its_digits(make, monkeypatch):
    """Not offered, and told with what first and later runs take."""
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    trials, patched = make(SLOW.replace('"total", total', '"mean", total / 3e6'))
    other = patched(LOOP, INDUCTOR + "total *= 1.0001\n")
    found = judge(trials, other, unsafe=True, exactness=Exactness.LAST_DIGIT, alone=True)
    assert isinstance(found, Mismatch) and found.within is not None, found
    assert found.later is not None and found.speedup is not None
    assert min(found.later.candidate) < min(found.speedup.candidate)
    assert "later runs" in words.verdict(found)
    several = judge(trials, other, unsafe=True, exactness=Exactness.LAST_DIGIT)
    assert isinstance(several, Mismatch) and several.later is None


def test_without_a_compiler_later_runs_are_like_the_first(make):
    trials, patched = make(SLOW)
    verdict = judge(trials, patched(LOOP, FAST), runs=20)
    assert isinstance(verdict, Verified)
    assert verdict.later is None and verdict.over is None


def test_compiled_code_of_another_run_is_not_taken_for_its_own(make):
    """Output that no run repeats: the original runs once more, which empties the cache."""
    trials, patched = make(SLOW + "import os\nprint(os.getpid())\n")
    verdict = judge(trials, patched(LOOP, COMPILED), runs=20)
    assert isinstance(verdict, Verified), verdict
    assert min(verdict.later.candidate) < min(verdict.speedup.candidate)

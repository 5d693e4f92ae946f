"""Selection and composition, on real programs, with rewrites written by hand."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpuadvise.deadline import Deadline
from gpuadvise.model import (
    Basis,
    Candidate,
    Condition,
    Edit,
    Inconclusive,
    Match,
    Mismatch,
    NotFaster,
    Refusal,
    Region,
    Site,
    SiteObservation,
    Source,
    Target,
    Trial,
    Unavailable,
    Verified,
)
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.verify.choose import _Choice, choose, places, promise
from gpuadvise.verify.compare import Different
from gpuadvise.verify.one_trial import StateResult
from gpuadvise.verify.script import ScriptTrials
from gpuadvise.verify.trying import Trying

PROGRAM = """\
import numpy as np


def square(x, out):
    for i in range(len(x)):
        out[i] = x[i] * x[i]


def total(x):
    s = 0
    for i in range(len(x)):
        s += int(x[i])
    return s


def arguments():
    return (np.arange(200_000.0), np.zeros(200_000)), {}


if __name__ == "__main__":
    x = np.arange(200_000.0)
    out = np.zeros(200_000)
    for repeat in range(8):
        square(x, out)
    print(out.sum())
    for repeat in range(8):
        n = total(x)
    print(n)
"""
SQUARE = "    for i in range(len(x)):\n        out[i] = x[i] * x[i]\n"
TOTAL = "    for i in range(len(x)):\n        s += int(x[i])\n"


THESE = (Condition("the inputs are those of this run", Basis.OBSERVED),)
"""Written by hand, without guards: nothing is claimed of other inputs."""


def candidate(source, name, old, new, ledger=THESE, share=0.45):
    text = source.data.decode()
    start = text.index(old)
    line = text[:start].count("\n") + 1
    tree = source.tree
    loop = next(n for n in ast.walk(tree) if isinstance(n, ast.For) and n.lineno == line)
    function = next(
        f
        for f in tree.body
        if isinstance(f, ast.FunctionDef) and f.lineno < line < f.end_lineno + 1
    )
    site = Site(source.path, line, function.name)
    region = Region(site, source, loop, function, None, share, 0, None, Refusal("not lowered"))
    edit = Edit(start, start + len(old), new)
    return Candidate(name, name, region, Match((edit,), "slow", "faster", ledger=ledger))


@pytest.fixture
def world(bench, tmp_path):
    """A held state of ``square``, and a sandbox for the same file."""
    state = bench.hold(PROGRAM, "call", "square")
    source = Source(state.hello.file, PROGRAM.encode())
    target = Target(source.path, cwd=tmp_path, python=sys.executable)
    with Sandbox(target) as box:
        trials = ScriptTrials(box, target, None, 60.0)

        def run(*candidates, **options):
            wall = trials.original.wall
            options = {"deadline": Deadline(120), "min_speedup": 1.05, "unsafe": True, **options}
            return choose(candidates, bench.server, trials, **{"bare_wall": wall, **options})

        yield source, run


def test_the_best_of_each_place_and_all_together(world):
    source, run = world
    chosen = run(
        candidate(source, "fast", SQUARE, "    np.multiply(x, x, out=out)\n"),
        candidate(source, "wrong", SQUARE, "    np.multiply(x, x + 1e-9, out=out)\n"),
        candidate(source, "slow", SQUARE, SQUARE.replace("x[i] * x[i]", "x[i] * x[i] + 0.0 * i")),
        candidate(source, "sum", TOTAL, "    s = int(x.sum())\n"),
        min_speedup=0.3,  # a busy machine shall not fail this test
    )
    assert [f.winner and f.winner.candidate.id for f in chosen.findings] == ["fast", "sum"], chosen
    others = {t.candidate.id: t for t in chosen.findings[0].others}
    assert isinstance(others["wrong"].region_verdict, Mismatch)
    assert others["wrong"].script_verdict is None
    assert isinstance(others["slow"].region_verdict, NotFaster | Verified)
    text = chosen.patched[source.path].decode()
    assert "np.multiply(x, x, out=out)" in text and "x.sum()" in text
    assert isinstance(chosen.script_verdict, Verified)
    alone = [f.winner.script_verdict.speedup.value for f in chosen.findings]
    assert chosen.script_verdict.speedup.value > min(alone)
    # total() was not held: only whole runs speak for it.
    assert "no state of the program" in chosen.script_verdict.compared
    held = chosen.findings[0].winner.region_verdict
    assert isinstance(held, Verified) and held.states == 1
    assert chosen.findings[0].winner.predicted_script_seconds is not None


def test_what_fails_together_is_taken_apart(world):
    """Both bind one helper name: each is right alone."""
    source, run = world
    one = candidate(source, "fast", SQUARE, "    np.multiply(x, x, out=out)\n")
    two = candidate(source, "sum", TOTAL, "    s = int(x.sum())\n")
    # The second also changes what the first one relies on.
    broken = Edit(0, len("import numpy as np"), "import numpy as np; np.multiply = np.add")
    two = Candidate(
        "sum", "sum", two.region, Match((*two.match.edits, broken), "slow", "faster", ledger=THESE)
    )
    chosen = run(one, two, min_speedup=0.3)
    winners = [f.winner.candidate.id for f in chosen.findings if f.winner]
    assert len(winners) == 1
    (reason,) = [t.left_out for f in chosen.findings for t in f.others if t.left_out]
    assert reason.startswith("together with ") and "standard output, line" in reason
    assert isinstance(chosen.script_verdict, Verified)


def test_unsafe_candidates_are_named_not_tried(world):
    source, run = world
    ledger = (Condition("x holds no NaN", Basis.OBSERVED, "1 entry"),)
    unsafe = candidate(source, "fast", SQUARE, "    np.multiply(x, x, out=out)\n", ledger)
    chosen = run(unsafe, unsafe=False)
    assert not chosen.patched and not chosen.findings
    assert "equal only if x holds no NaN" in chosen.refused[0].refusal.reason
    allowed = run(unsafe, min_speedup=0.3)
    assert allowed.findings[0].winner is not None and not allowed.refused


def test_nothing_is_offered_without_a_gain(world):
    source, run = world
    same = candidate(source, "same", SQUARE, SQUARE.replace("x[i] * x[i]", "(x[i]) * (x[i])"))
    chosen = run(same, min_speedup=1.5)
    assert not chosen.patched and chosen.script_verdict is None
    assert chosen.findings[0].winner is None


def test_a_script_shorter_than_starting_a_compiler(world):
    source, run = world
    loop = candidate(source, "compiled", SQUARE, "    np.multiply(x, x, out=out)\n")
    loop = replace(loop, match=replace(loop.match, needs=frozenset({"numba"})))
    chosen = run(loop, bare_wall=0.2)
    verdict = chosen.findings[0].others[0].region_verdict
    assert isinstance(verdict, Inconclusive) and verdict.why.startswith("not tried: the whole")
    assert not chosen.partial


def test_an_empty_budget(world):
    source, run = world
    fast = candidate(source, "fast", SQUARE, "    np.multiply(x, x, out=out)\n")
    chosen = run(fast, deadline=Deadline(0))
    assert chosen.partial and not chosen.patched


def test_places_are_nests(world):
    source, _ = world
    square = candidate(source, "a", SQUARE, "")
    total = candidate(source, "b", TOTAL, "", share=0.5)
    again = candidate(source, "c", SQUARE, "")
    assert [[c.id for c in p] for p in places([square, total, again])] == [["b"], ["a", "c"]]


def test_steps_come_before_their_time_loop_and_tiny_helpers_after_their_caller():
    bare = 5.0
    time_loop, step = promise(0.98, 4.9, 4.9, bare), promise(0.97, 0.049, 0.049, bare)
    caller, helper = promise(0.98, 4.9, 4.9, bare), promise(0.97, 8e-6, 8e-6, bare)
    assert step > time_loop
    assert caller > helper


@pytest.mark.parametrize(
    ("entries", "left", "runs", "repeats"),
    [(1, 30.0, 1, 0), (1, 300.0, 1, 2), (1, 30.0, 100, 2), (50, 30.0, 1, 2)],
)
def test_later_calls_of_a_loop_entered_once_need_time_to_spare(entries, left, runs, repeats):
    """Ten seconds in one call: a second one says nothing of what a run of the script costs."""
    source = Source(Path("prog.py"), PROGRAM.encode())
    tried = candidate(source, "fast", SQUARE, "    np.multiply(x, x, out=out)\n", share=1.0)
    seen = SiteObservation(entries, 1, {})
    tried = replace(tried, region=replace(tried.region, observation=seen))
    trying = Trying(
        None,
        None,
        bare_wall=10.0,
        min_speedup=1.1,
        deadline=Deadline(left, clock=lambda: 0.0),
        unsafe=False,
        progress=lambda text: None,
        runs=runs,
    )
    assert trying._repeats(tried, 1) == repeats


@pytest.mark.parametrize(
    ("left", "profiled", "tried"), [(18.0, True, True), (5.0, True, False), (18.0, False, False)]
)
def test_a_whole_run_may_fit_where_a_replay_does_not(left, profiled, tried):
    """The loop takes the whole run of 10 s, and one in it that was tried before gained nothing."""
    source = Source(Path("prog.py"), PROGRAM.encode())
    helper = candidate(source, "helper", TOTAL, "    s = int(x.sum())\n")
    loop = candidate(source, "fast", SQUARE, "    np.multiply(x, x, out=out)\n", share=1.0)
    trying = Trying(
        None,
        SimpleNamespace(original_walls=(), stand_in=object() if profiled else None),
        bare_wall=10.0,
        min_speedup=1.1,
        deadline=Deadline(left, clock=lambda: 0.0),
        unsafe=False,
        progress=lambda text: None,
    )
    lost = Trial(helper, Inconclusive("not the matter here"))
    left_out = _Choice(trying)._left_out(loop, [], [lost])
    assert (left_out is None) == tried
    assert trying.partial != tried


def test_the_original_is_replayed_for_the_first_candidate_only():
    """Ten seconds in one call, 8 s left: enough for a second rewrite of it, not for the first."""
    source = Source(Path("prog.py"), PROGRAM.encode())
    loop = candidate(source, "fast", SQUARE, "    np.multiply(x, x, out=out)\n", share=1.0)
    other = replace(loop, id="other")
    different = StateResult(1, "first", Different("the result"))
    state = SimpleNamespace(try_candidate=lambda *_, **__: different)
    left = [20.0]
    trying = Trying(
        SimpleNamespace(states_of=lambda region: [state]),
        SimpleNamespace(original_walls=(), stand_in=object()),
        bare_wall=10.0,
        min_speedup=1.1,
        deadline=Deadline(20.0, clock=lambda: 20.0 - left[0]),
        unsafe=False,
        progress=lambda text: None,
    )
    left[0] = 8.0
    assert isinstance(trying.on_states(loop).region_verdict, Unavailable)
    left[0] = 18.0
    assert isinstance(trying.on_states(loop).region_verdict, Mismatch)
    left[0] = 8.0
    assert isinstance(trying.on_states(other).region_verdict, Mismatch)


def test_deadline():
    now = [10.0]
    deadline = Deadline(5.0, clock=lambda: now[0])
    assert deadline.remaining() == 5.0 and deadline.within(2.0) == 2.0
    now[0] = 14.0
    # 4 s are spent and 10 more are wanted; and no smaller budget is ever advised.
    assert deadline.enough(10.0) == 17 and deadline.enough(1.0) == 8
    assert Deadline(5.0, outside=2.0).enough(10.0) > 12
    assert deadline.remaining() == 1.0 and deadline.within(None) == 1.0 and not deadline.over
    now[0] = 20.0
    assert deadline.remaining() == 0.0 and deadline.over and deadline.spent == 10.0
    assert Deadline(None).within(None) is None and not Deadline(None).over


TOOL = """
import sys, time
from pathlib import Path
from gpuadvise.verify.server import StateServer
import subprocess, os
with StateServer() as server:
    path = Path(sys.argv[2])
    server.originals[path] = path.read_bytes()
    subprocess.Popen([sys.executable, sys.argv[1], server.address, str(path), "call", "work"],
                     stdout=subprocess.DEVNULL)
    while not server.all_states():
        time.sleep(0.05)
    state = server.all_states()[0]
    print(state.hello.pid, flush=True)
    new = path.read_bytes().replace(b"pass", b"time.sleep(600)")
    state.try_candidate({path: new})
"""


def test_nothing_survives_the_tool(tmp_path):
    """kill -9 of the tool while an attempt runs: holder and copies are gone."""
    from holding import DRIVER

    program = tmp_path / "program.py"
    program.write_text("import time\ndef work():\n    pass\ndef arguments():\n    return (), {}\n")
    tool = tmp_path / "tool.py"
    tool.write_text(TOOL)
    command = [sys.executable, str(tool), str(DRIVER), str(program)]
    # What a killed tool leaves is removed by the next start of the tool, not by this test.
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as process:
        holder = int(process.stdout.readline())
        end = time.monotonic() + 60
        while len(_family(holder)) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(1.0)
        family = _family(holder)
        assert len(family) >= 2, "an attempt is running"
        process.kill()
    end = time.monotonic() + 60
    while any(_alive(pid) for pid in family) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in family if _alive(pid)]


def _stat(pid):
    from pathlib import Path

    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _alive(pid):
    stat = _stat(pid)
    return stat is not None and stat[0] != "Z"


def _family(pid):
    from pathlib import Path

    pids = [int(p.name) for p in Path("/proc").glob("[0-9]*")]
    return [p for p in pids if p == pid or ((s := _stat(p)) is not None and s[1] == str(pid))]


LAYERS = """\
def heavy(n):
    s = 0
    for i in range(n):
        s += i
    return s


def light(n):
    s = 1
    for k in range(n):
        s += k
    return s


def arguments():
    return (1_000_000,), {}


if __name__ == "__main__":
    for repeat in range(30):
        n = heavy(1_000_000)
    print(n)
    for repeat in range(2):
        n = light(1_000_000)
    print(n)
"""
"""Nothing is imported: what is left without heavy() is light(), several times Python's start."""


def test_small_loops_count_once_the_large_ones_are_gone(bench, tmp_path):
    """light() has 6 % of the run: alone never 1.1x, but most of what is left."""
    state = bench.hold(LAYERS, "call", "light")
    source = Source(state.hello.file, LAYERS.encode())
    target = Target(source.path, cwd=tmp_path, python=sys.executable)
    heavy = "    for i in range(n):\n        s += i\n"
    light = "    for k in range(n):\n        s += k\n"
    first = candidate(source, "heavy", heavy, "    s = n * (n - 1) // 2\n", share=0.9)
    second = candidate(source, "light", light, "    s = 1 + n * (n - 1) // 2\n", share=0.06)
    with Sandbox(target) as box:
        trials = ScriptTrials(box, target, None, 60.0)
        wall = trials.original.wall
        chosen = choose(
            (first, second),
            bench.server,
            trials,
            bare_wall=wall,
            deadline=Deadline(120),
            unsafe=True,
        )
    assert [f.winner and f.winner.candidate.id for f in chosen.findings] == ["heavy", "light"]
    assert b"s = 1 + n" in chosen.patched[source.path]
    assert isinstance(chosen.script_verdict, Verified)
    alone = chosen.findings[0].winner.script_verdict
    assert chosen.script_verdict.speedup.value > alone.speedup.value


@pytest.mark.parametrize("right", [True, False])
def test_small_inputs_speak_where_a_replay_takes_too_long(world, right):
    """Both are equal on the recorded input, for which there is no time."""
    source, run = world
    square = "v * v" if right else "v * v if v == v else 0.0"
    new = f"    for i in range(len(x)):\n        v = x[i]\n        out[i] = {square}\n"
    # A replay is said to take 30 s, and a run that gains plainly 21 s: 40 s are left.
    chosen = run(
        candidate(source, "one", SQUARE, new, ledger=(), share=1.0),
        bare_wall=30.0,
        deadline=Deadline(40, clock=lambda: 0.0),
    )
    trials = [t for f in chosen.findings for t in (f.winner, f.unconfirmed, *f.others) if t]
    verdict = trials[0].region_verdict
    if right:
        assert isinstance(verdict, Unavailable) and "small inputs made from it" in verdict.why
    else:
        assert isinstance(verdict, Mismatch) and "perturbed input" in verdict.what
        assert not chosen.patched

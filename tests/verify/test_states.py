"""Candidates on held states: real processes, real forks."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from gpuadvise.model import Crashed, Exactness, Inconclusive, TimedOut, Unavailable
from gpuadvise.verify import server as server_module
from gpuadvise.verify.compare import Different, Incomparable, Same
from gpuadvise.verify.replies import TOO_SLOW
from gpuadvise.verify.server import StateServer
from gpuadvise.verify.verdicts import failed, verdict_of

SAXPY = """
import numpy as np

CALLS = []

def helper(x):
    return 2.0 * x

def saxpy(a, b, out):
    for i in range(len(a)):
        out[i] = helper(a[i]) + b[i]
    CALLS.append(len(a))
    return float(out[-1])

def arguments():
    rng = np.random.default_rng(1)
    a, b = rng.random(5000), rng.random(5000)
    return (a, b, np.zeros(5000)), {}
"""
LOOP = """
    for i in range(len(a)):
        out[i] = helper(a[i]) + b[i]
"""


def test_an_equal_and_faster_candidate(bench):
    state = bench.hold(SAXPY, "call", "saxpy")
    result = bench.trial(state, LOOP, "    out[:] = 2.0 * a + b", repeats=3)
    assert isinstance(result.comparison, Same), result
    assert result.comparison.error.exact
    assert result.failure is None and result.warm
    assert len(result.candidate_times) == 3
    assert min(result.original_times) > 5 * min(result.candidate_times)


def test_the_state_is_pristine_for_every_trial(bench):
    """A candidate that destroys its input does not spoil the next one."""
    state = bench.hold(SAXPY, "call", "saxpy")
    spoilt = bench.trial(state, LOOP, "    out[:] = 2.0 * a + b\n    a[:] = 0.0")
    assert isinstance(spoilt.comparison, Different)
    assert spoilt.comparison.what.startswith("arguments[0]: 5000 of 5000 numbers differ")
    good = bench.trial(state, LOOP, "    np.add(np.multiply(2.0, a), b, out=out)")
    assert good.same


def test_changes_of_module_globals_are_seen(bench):
    state = bench.hold(SAXPY, "call", "saxpy")
    result = bench.trial(state, "    CALLS.append(len(a))", "    CALLS.append(1 + len(a))")
    assert isinstance(result.comparison, Different)
    assert "globals['CALLS'][0]: 5000 became 5001" in result.comparison.what


def test_type_of_result(bench):
    state = bench.hold(SAXPY, "call", "saxpy")
    result = bench.trial(state, "return float(out[-1])", "return out[-1]")
    assert result.comparison == Different(
        "result: the type of the result changed from builtins.float to numpy.float64"
    )


def test_a_candidate_that_raises(bench):
    state = bench.hold(SAXPY, "call", "saxpy")
    result = bench.trial(state, LOOP, "    out[:] = 2.0 * a[1:] + b")
    assert isinstance(result.comparison, Different)
    assert result.comparison.what == "the original raised nothing, the rewrite ValueError"
    broken = bench.trial(state, "CALLS = []", "CALLS = []\nimport no_such_module_here")
    assert isinstance(broken.failure, Crashed)
    assert "ModuleNotFoundError" in broken.failure.why


def test_a_candidate_that_kills_its_process(bench):
    state = bench.hold(SAXPY, "call", "saxpy")
    died = bench.trial(state, LOOP, "    import os; os.kill(os.getpid(), 11)")
    assert died.failure == Crashed("it died of SIGSEGV")
    left = bench.trial(state, LOOP, "    import os; os._exit(3)")
    assert left.failure == Crashed("it ended the process with status 3")
    assert bench.trial(state, LOOP, "    out[:] = 2.0 * a + b").same


def test_a_candidate_that_never_ends(bench):
    state = bench.hold(SAXPY, "call", "saxpy")
    result = bench.trial(state, LOOP, "    while True: pass", limit=3.5)
    assert isinstance(result.failure, TimedOut)
    assert bench.trial(state, LOOP, "    out[:] = 2.0 * a + b").same


def test_a_candidate_with_little_time_left_is_not_called_endless(bench):
    """The budget of a busy machine says nothing of the code: neither wrong nor hanging."""
    state = bench.hold(SAXPY, "call", "saxpy")
    slow = "    import time\n    time.sleep(1.5)\n    out[:] = 2.0 * a + b"
    result = bench.trial(state, LOOP, slow, limit=0.8)
    assert isinstance(result.failure, Inconclusive) and not failed(result)
    assert isinstance(verdict_of([result]), Inconclusive)


def test_new_definitions_and_imports_are_executed(bench):
    state = bench.hold(SAXPY, "call", "saxpy")
    old = "def saxpy(a, b, out):\n" + LOOP.strip("\n")
    new = """
import math as _math

_SCALE = _math.sqrt(4.0)

def _kernel(a, b, out):
    np.add(_SCALE * a, b, out=out)

def saxpy(a, b, out):
    _kernel(a, b, out)
"""
    result = bench.trial(state, old, new)
    assert result.same, result


def test_instrumentation_is_gone_from_original_and_helpers(bench):
    """The driver adds an import to every function; it would be timed, and show in the globals."""
    program = """
    import sys

    def helper():
        return sorted(sys._getframe().f_locals)

    def work():
        for i in range(3):
            names = helper()
        return names + sorted(k for k in sys._getframe().f_code.co_names)

    def arguments():
        return (), {}
    """
    state = bench.hold(program, "call", "work")
    run = state.attempt("original", {}, 20.0, want_capture=True)
    assert "_gpuadvise_sys" not in str(run.state.nodes)


def test_methods_closures_and_keyword_arguments(bench):
    program = """
    import numpy as np

    class Grid:
        steps = 0
        def __init__(self, n):
            self.u = np.arange(n * n, dtype=float).reshape(n, n)
        def step(self, alpha=0.5, *, twice=False):
            n, m = self.u.shape
            for i in range(n):
                for j in range(m):
                    self.u[i, j] *= alpha
            Grid.steps += 1
            return self

    grid = Grid(40)

    def arguments():
        return (grid,), {"twice": True}
    """
    state = bench.hold(program, "call", "Grid.step")
    loop = """
            n, m = self.u.shape
            for i in range(n):
                for j in range(m):
                    self.u[i, j] *= alpha
    """
    indent = "        "
    old = "\n".join(indent + line for line in loop.strip("\n").replace(" " * 12, "").splitlines())
    del old
    path = state.hello.file
    text = bench.server.originals[path].decode()
    start, stop = text.index("        n, m"), text.index("        Grid.steps")
    good = text[:start] + "        self.u *= alpha\n" + text[stop:]
    assert state.try_candidate({path: good.encode()}, repeats=1).same
    moved = text[:start] + "        self.u = self.u * alpha\n" + text[stop:]
    assert state.try_candidate({path: moved.encode()}, repeats=1).same
    forgotten = good.replace("        Grid.steps += 1\n", "")
    result = state.try_candidate({path: forgotten.encode()}, repeats=1)
    assert isinstance(result.comparison, Different) and "steps" in result.comparison.what


def test_generator_result_is_incomparable(bench):
    program = """
    def work(n):
        for i in range(n):
            total = i
        return (x for x in range(n))

    def arguments():
        return (10,), {}
    """
    state = bench.hold(program, "call", "work")
    result = bench.trial(state, "return (x for x in range(n))", "return (y for y in range(n))")
    # Already the original cannot be compared with itself.
    assert isinstance(result.failure, Unavailable) or isinstance(result.comparison, Incomparable)


def test_an_original_that_does_not_repeat_itself(bench):
    program = """
    import time

    def work():
        for i in range(3):
            now = time.perf_counter()
        return now

    def arguments():
        return (), {}
    """
    state = bench.hold(program, "call", "work")
    result = bench.trial(state, "for i in range(3):", "for i in range(4):")
    assert isinstance(result.failure, Unavailable)
    assert "does not repeat itself" in result.failure.why


def test_output_and_random_draws_are_part_of_the_state(bench):
    program = """
    import random
    random.seed(3)

    def work(n):
        total = 0.0
        for i in range(n):
            total += random.random()
        print("total", total)
        return total

    def arguments():
        return (50,), {}
    """
    state = bench.hold(program, "call", "work")
    assert bench.trial(state, "total += random.random()", "total = total + random.random()").same
    extra = bench.trial(state, "return total", "random.random(); return total")
    assert isinstance(extra.comparison, Different) and "random" in extra.comparison.what
    silent = bench.trial(state, 'print("total", total)', "pass")
    assert isinstance(silent.comparison, Different) and "stdout" in silent.comparison.what


def test_module_level_loop(bench):
    program = """
    import numpy as np
    grid = np.arange(400.0)
    total = 0.0
    if __name__ == "__main__":
        out = np.zeros(400)
        for i in range(400):
            scaled = grid[i] * 3.0
            out[i] = scaled
        print(out.sum())
    """
    state = bench.hold(program, "loop", "7")
    loop = """
        for i in range(400):
            scaled = grid[i] * 3.0
            out[i] = scaled
    """
    path = state.hello.file
    text = bench.server.originals[path].decode()
    start, stop = text.index("    for i"), text.index("    print(")
    del loop

    def attempt(statement: str):
        new = text[:start] + f"    {statement}\n" + text[stop:]
        return state.try_candidate({path: new.encode()}, repeats=2)

    good = attempt("np.multiply(grid, 3.0, out=out)")
    assert good.same and good.warm, good
    # ``scaled`` and ``i`` are read by nobody else, ``total`` is another matter.
    assert attempt("np.multiply(grid, 3.0, out=out); buffer = 7").same
    wrong = attempt("np.multiply(grid, 3.0, out=out); total = 1.0")
    assert isinstance(wrong.comparison, Different) and "total" in wrong.comparison.what


def test_loop_variable_read_later_must_be_kept(bench):
    program = """
    import numpy as np
    out = np.zeros(40)
    for i in range(40):
        out[i] = 3.0
    print(i)
    """
    state = bench.hold(program, "loop", "4")
    result = bench.trial(state, "for i in range(40):\n    out[i] = 3.0", "out[:] = 3.0")
    assert result.comparison == Different("globals: i is no longer set")


def test_numba_candidate_reports_compilation_apart(bench):
    pytest.importorskip("numba")
    state = bench.hold(SAXPY, "call", "saxpy")
    old = "def saxpy(a, b, out):\n" + LOOP.strip("\n")
    new = """
import numba

@numba.njit(cache=True)
def _kernel(a, b, out):
    for i in range(len(a)):
        out[i] = 2.0 * a[i] + b[i]

def saxpy(a, b, out):
    _kernel(a, b, out)
"""
    result = bench.trial(state, old, new, repeats=1)
    assert result.same, result
    assert result.warm
    assert result.first_call > 20 * min(result.candidate_times)


def test_a_first_call_alone_says_what_a_loop_entered_once_costs(bench):
    state = bench.hold(SAXPY, "call", "saxpy")
    result = bench.trial(state, LOOP, "    out[:] = 2.0 * a + b\n", repeats=0)
    assert result.same, result
    assert len(result.candidate_times) == 1 and not result.warm
    wrong = bench.trial(state, LOOP, "    out[:] = 2.0 * a - b\n", repeats=0)
    assert isinstance(wrong.comparison, Different)
    slow = "    import time\n    time.sleep(30)\n" + LOOP
    assert bench.trial(state, LOOP, slow, repeats=0).failure == TOO_SLOW


def test_changed_top_level_code_is_left_to_the_whole_script(bench):
    state = bench.hold(SAXPY + "\nsorted('ready')\n", "call", "saxpy")
    result = bench.trial(state, "sorted('ready')", "sorted('steady')")
    assert isinstance(result.failure, Unavailable)
    assert "top-level code" in result.failure.why


def test_reassociated_sums_need_the_tolerance(bench):
    program = """
    import numpy as np

    def total(a):
        s = 0.0
        for x in a:
            s += x
        return float(s)

    def arguments():
        return (np.random.default_rng(0).random(30000),), {}
    """
    state = bench.hold(program, "call", "total")
    old, new = "for x in a:\n        s += x", "s = a.sum()"
    assert isinstance(bench.trial(state, old, new).comparison, Different)
    result = bench.trial(state, old, new, exactness=Exactness.REASSOCIATED, reduction_length=30000)
    assert result.same and 0 < result.comparison.error.relative < 1e-11
    off = bench.trial(
        state,
        old,
        "s = a[1:].sum()",
        exactness=Exactness.REASSOCIATED,
        reduction_length=30000,
    )
    assert isinstance(off.comparison, Different)


def test_a_lost_holder(bench):
    state = bench.hold(SAXPY, "call", "saxpy")
    os.kill(state.hello.pid, 9)
    result = bench.trial(state, LOOP, "    out[:] = 2.0 * a + b")
    assert isinstance(result.failure, Unavailable)


def test_later_states_replace_earlier_ones(bench):
    bench.hold(SAXPY, "call", "saxpy", "first", "1")
    late = bench.hold(SAXPY, "call", "saxpy", "late", "10")
    later = bench.hold(SAXPY, "call", "saxpy", "late", "100")
    states = bench.server.states(later.hello.site)
    assert [s.hello.entry for s in states] == [1, 100]
    # The replaced holder is told to end: its process is a zombie at most (its parent is us).
    assert bench.started[1].wait(timeout=60) == 0
    assert bench.started[0].poll() is None
    del late


def test_what_numba_compiles_in_a_call_is_told_apart(bench):
    state = bench.hold(SAXPY, "call", "saxpy")
    text = bench.server.originals[state.hello.file].decode()
    compiled = text.replace(
        "def saxpy", "import numba\n\nkernel = numba.njit(lambda xs: xs.sum())\n\ndef saxpy"
    ).replace("CALLS.append", "kernel(a)\n    CALLS.append")
    changed = {state.hello.file: compiled.encode()}
    options = {"want_capture": False, "trial": state.trial_name(changed)}
    run = state.attempt("candidate", changed, 60.0, **options)
    assert 0.5 * run.seconds < run.compiling < run.seconds
    assert state.attempt("original", {}, 60.0, want_capture=False).compiling == 0.0


def test_only_the_states_of_wanted_sites_are_kept(bench):
    mine = bench.hold(SAXPY, "call", "saxpy", name="one.py")
    other = bench.hold(SAXPY, "call", "helper", name="two.py")
    assert mine.hello.site != other.hello.site
    bench.server.keep([mine.hello.site])
    assert bench.server.all_states() == (mine,)
    assert bench.started[1].wait(30) == 0, "its process ends"


def test_nobody_waits_for_holders_long_after_the_run(monkeypatch):
    """One that was forked at the very end has a moment to say hello; analysis takes longer."""
    slept, now = [], [100.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=slept.append)
    monkeypatch.setattr(server_module, "time", clock)
    with StateServer() as server:
        server.run_ended()
        now[0] += 0.75 * server_module.SETTLE
        assert server.all_states() == server.all_states() == ()
        assert slept == [pytest.approx(0.25 * server_module.SETTLE)]
    with StateServer() as server:
        server.run_ended()
        now[0] += 10.0
        server.all_states()
    assert slept[1:] == [0.0]

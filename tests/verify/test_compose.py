"""Several rewrites of one program, on real programs: together, apart, in conflict.

The slow loops sleep: what they take does not depend on what else the machine does.
"""

from __future__ import annotations

import ast
import sys

import pytest

from gpuadvise.conditions import turn
from gpuadvise.deadline import Deadline
from gpuadvise.model import (
    Basis,
    Candidate,
    Condition,
    Edit,
    Match,
    Mismatch,
    Refusal,
    Region,
    Site,
    Source,
    Target,
    Unavailable,
    Verified,
)
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.verify.choose import choose
from gpuadvise.verify.script import ScriptTrials

THESE = (Condition("the inputs are those of this run", Basis.OBSERVED),)
"""Written by hand, without guards: nothing is claimed of other inputs."""


class World:
    """A program in files, trials of it, and candidates written by hand."""

    def __init__(self, bench, folder):
        self.bench, self.folder = bench, folder

    def program(self, text, *held, **others):
        self.sources = {}
        for name, other in {**others, "program": text}.items():
            path = self.folder / f"{name}.py"
            path.write_text(other)
            self.sources[name] = Source(path, other.encode())
            self.bench.server.originals[path] = other.encode()
        for where in held:
            self.bench.hold(text, *where)

    def candidate(self, name, old, new, *more, share=0.3, file="program"):
        """Replace ``old``, a loop, and ``more`` pairs of texts."""
        source = self.sources[file]
        text = source.data.decode()
        line = text[: text.index(old)].count("\n") + 1
        nodes = list(ast.walk(source.tree))
        loop = next(n for n in nodes if isinstance(n, ast.For | ast.While) and n.lineno == line)
        function = next(
            (
                f
                for f in nodes
                if isinstance(f, ast.FunctionDef) and f.lineno < line <= f.end_lineno
            ),
            None,
        )
        site = Site(source.path, line, function.name if function else "<module>")
        region = Region(site, source, loop, function, None, share, 0, None, Refusal("not lowered"))
        edits = []
        for before, after in ((old, new), *more):
            assert text.count(before) == 1, before
            start = text.index(before)
            edits.append(Edit(start, start + len(before), after))
        return Candidate(name, name, region, Match(tuple(edits), "slow", "faster", ledger=THESE))

    def choose(self, *candidates, **options):
        target = Target(self.sources["program"].path, cwd=self.folder, python=sys.executable)
        with Sandbox(target) as box:
            trials = ScriptTrials(box, target, None, 60.0)
            wall = trials.original.wall
            options = {"deadline": Deadline(120), "min_speedup": 1.05, "unsafe": True, **options}
            return choose(candidates, self.bench.server, trials, bare_wall=wall, **options)


@pytest.fixture
def world(bench, tmp_path):
    return World(bench, tmp_path)


def winners(chosen):
    return sorted(f.winner.candidate.id for f in chosen.findings if f.winner)


def reasons(chosen):
    return {t.candidate.id: t.left_out for f in chosen.findings for t in f.others if t.left_out}


LOOPS = """\
import sys
import time
calls = 0


def note():
    global calls
    calls += 1


total = 0
for i in range(20):
    time.sleep(0.015)
    total += i
note()
print(total)
other = 0
for j in range(20):
    time.sleep(0.015)
    other += j * 2
note()
print(other)
third = 0
for k in range(20):
    time.sleep(0.015)
    third += k * 3
note()
print(third)
"""
FIRST = "for i in range(20):\n    time.sleep(0.015)\n    total += i\n", "total = 190\n"
SECOND = "for j in range(20):\n    time.sleep(0.015)\n    other += j * 2\n", "other = 380\n"
THIRD = "for k in range(20):\n    time.sleep(0.015)\n    third += k * 3\n", "third = 570\n"


def test_the_largest_set_that_is_right_together(world):
    """What the first leaves behind makes the third's note() print."""
    world.program(LOOPS)
    loud = "calls += 1\n    if hasattr(sys, 'seen'): print('seen')"
    chosen = world.choose(
        world.candidate("first", FIRST[0], FIRST[1] + "sys.seen = True\n"),
        world.candidate("second", *SECOND),
        world.candidate("third", *THIRD, ("calls += 1", loud)),
    )
    assert len(winners(chosen)) == 2 and "second" in winners(chosen), chosen
    (out,) = {"first", "third"} - set(winners(chosen))
    reason = reasons(chosen)[out]
    assert reason.startswith("together with ") and "second" not in reason
    assert "standard output" in reason
    assert isinstance(chosen.script_verdict, Verified)


def test_one_name_defined_twice(world):
    """No run is needed to see that the later definition would replace the earlier."""
    world.program(LOOPS)
    helper = "def _fast():\n    return {}\n\n\ncalls = 0"
    one, two = (("calls = 0", helper.format(n)) for n in (190, 380))
    chosen = world.choose(
        world.candidate("first", FIRST[0], "total = _fast()\n", one),
        world.candidate("second", SECOND[0], "other = _fast()\n", two),
        world.candidate("third", *THIRD),
    )
    assert "third" in winners(chosen) and len(winners(chosen)) == 2
    assert "two rewrites" in next(iter(reasons(chosen).values()))


NESTED = """\
import time
total = other = 0
for block in range(3):
    for i in range(5):
        time.sleep(0.03)
        total += i * block
    for j in range(5):
        time.sleep(0.03)
        other += j + block
    print(total, other)
"""


def test_two_loops_inside_one_that_cannot_be_rewritten(world):
    world.program(NESTED)
    one = "for i in range(5):\n        time.sleep(0.03)\n        total += i * block\n"
    two = "for j in range(5):\n        time.sleep(0.03)\n        other += j + block\n"
    chosen = world.choose(
        world.candidate("outer", NESTED[NESTED.index("for") :], "print('nonsense')\n", share=1.0),
        world.candidate("one", one, "total += 10 * block\n", share=0.5),
        world.candidate("two", two, "other += 10 + 5 * block\n", share=0.45),
    )
    assert winners(chosen) == ["one", "two"], chosen
    text = next(iter(chosen.patched.values()))
    assert text.count(b"sleep") == 0
    # All trials are accounted for, each once.
    seen = [t.candidate.id for f in chosen.findings for t in (f.winner, *f.others) if t]
    assert sorted(seen) == ["one", "outer", "two"]


SMALL = """\
import time


def one(x):
    s = 0
    for v in x:
        time.sleep(0.01)
        s += v
    return s


def two(x):
    s = 0
    for v in x:
        time.sleep(0.01)
        s -= v
    return s


def arguments():
    return (list(range(5)),), {}


if __name__ == "__main__":
    x = list(range(5))
    for repeat in range(8):
        n, m = one(x), two(x)
    print(n, m)
    time.sleep(REST)
"""
ONE = "    for v in x:\n        time.sleep(0.01)\n        s += v\n", "    s = sum(x)\n"
TWO = "    for v in x:\n        time.sleep(0.01)\n        s -= v\n", "    s = -sum(x)\n"


def test_rewrites_that_gain_enough_only_together(world):
    """Each saves not even half of the script; twice as fast is asked for."""
    world.program(SMALL.replace("REST", "0.1"), ("call", "one"), ("call", "two"))
    one = world.candidate("one", *ONE, share=0.4)
    two = world.candidate("two", *TWO, share=0.4)
    chosen = world.choose(one, two, min_speedup=2.0)
    assert winners(chosen) == ["one", "two"], chosen
    assert isinstance(chosen.script_verdict, Verified)
    assert chosen.script_verdict.speedup.low >= 2.0
    # Neither was run alone: it could not have passed.
    assert all(f.winner.script_verdict is None for f in chosen.findings)


SILENT = """\
import time
table = [1.0] * 10


def scale(data):
    for i in range(len(data)):
        time.sleep(0.01)
        data[i] = data[i] * 3.0
    return data


def total(data):
    s = 0.0
    for v in data:
        time.sleep(0.01)
        s += v
    return s


def arguments():
    return ([float(k) for k in range(10)],), {}


if __name__ == "__main__":
    data = [float(k % 7) for k in range(10)]
    for repeat in range(4):
        scale(data)
        total(data)
"""


def test_a_script_that_writes_nothing_is_judged_by_its_states(world):
    """Together they give another sum, which nobody prints."""
    world.program(SILENT, ("call", "scale"), ("call", "total"))
    sleep = "        time.sleep(0.01)\n"
    scale = f"    for i in range(len(data)):\n{sleep}        data[i] = data[i] * 3.0\n"
    total = f"    for v in data:\n{sleep}        s += v\n"
    fast = "    data[:] = [v * 3.0 for v in data]\n"
    flag = ("table = [1.0] * 10", "table = [1.0] * 10\nbroken = True")
    sums = "    s = sum(data) + (1.0 if 'broken' in globals() else 0.0)\n"
    chosen = world.choose(
        world.candidate("scale", scale, fast, flag, share=0.5),
        world.candidate("total", total, sums, share=0.45),
    )
    assert len(winners(chosen)) == 1, chosen
    reason = next(iter(reasons(chosen).values()))
    assert "rejected, the result differs" in reason


def test_two_files(world):
    loop = FIRST[0].replace("\n", "\n    ").rstrip()
    library = f"import time\n\n\ndef work():\n    total = 0\n    {loop}\n    return total\n"
    main = "import time\nimport library\nprint(library.work())\nother = 0\n"
    world.program(f"{main}{SECOND[0]}print(other)\n", library=library)
    chosen = world.choose(
        world.candidate("first", loop, FIRST[1].strip(), file="library"),
        world.candidate("second", *SECOND),
    )
    assert winners(chosen) == ["first", "second"]
    assert {path.name for path in chosen.patched} == {"program.py", "library.py"}
    assert isinstance(chosen.script_verdict, Verified)


OVERLAPPING = """\
import time


def heavy():
    s = 0
    for i in range(10):
        time.sleep(0.03)
        s += i
    return s


print(heavy())
print(heavy())
for attempt in range(2):
    value = heavy()
print(value)
"""


def test_a_rewrite_that_another_makes_useless(world):
    """The second saves two of four heavy calls for 0.3 s; once they are cheap, it only costs."""
    world.program(OVERLAPPING)
    heavy = "for i in range(10):\n        time.sleep(0.03)\n        s += i\n"
    twice = "for attempt in range(2):\n    value = heavy()\n"
    chosen = world.choose(
        world.candidate("fast", heavy, "s = 45\n"),
        world.candidate("less", twice, "time.sleep(0.3)\nvalue = 45\n"),
    )
    assert winners(chosen) == ["fast"], chosen
    less = next(t for f in chosen.findings for t in f.others if t.candidate.id == "less")
    assert isinstance(less.script_verdict, Verified), "alone it gains"
    assert less.left_out == "adds nothing to the other rewrites"


CALLER = OVERLAPPING.replace("print(heavy())\nprint(heavy())\n", "")


def test_a_helper_that_is_called_no_more(world):
    """Both are as fast alone; the patch needs but one of them."""
    world.program(CALLER)
    heavy = "for i in range(10):\n        time.sleep(0.03)\n        s += i\n"
    loop = "for attempt in range(2):\n    value = heavy()\n"
    chosen = world.choose(
        world.candidate("helper", heavy, "s = 45\n"),
        world.candidate("caller", loop, "value = 45\n"),
    )
    assert len(winners(chosen)) == 1, chosen
    assert list(reasons(chosen).values()) == ["adds nothing to the other rewrites"]


def test_no_time_for_whole_runs(world, limits_of_runs):
    """What was found on states is said, and what it would have taken."""
    world.program(SMALL.replace("REST", "3.0"), ("call", "one"))
    one = world.candidate("one", *ONE, share=0.5)
    target = Target(world.sources["program"].path, cwd=world.folder, python=sys.executable)
    with Sandbox(target) as box:
        trials = ScriptTrials(box, target, None, 60.0)
        options = {"bare_wall": 3.2, "deadline": Deadline(3.0), "unsafe": True}
        chosen = choose([one], world.bench.server, trials, **options)
    assert all(limit is not None and limit <= 3.0 for limit in limits_of_runs)
    assert not chosen.patched and chosen.partial
    (finding,) = chosen.findings
    assert finding.unconfirmed is not None
    verdict = finding.unconfirmed.script_verdict
    assert isinstance(verdict, Unavailable) and "--budget" in verdict.why


def test_the_last_runs_may_refute_it(world):
    """Right in its first run, which is all that one of several rewrites gets, and wrong later."""
    world.program(LOOPS)
    count = """\
import os
path = os.path.join(os.path.dirname(os.environ["TMPDIR"]), "own", "count")
open(path, "a").write("x")
total = 190 + (len(open(path).read()) > 1)
"""
    chosen = world.choose(
        world.candidate("first", FIRST[0], count),
        world.candidate("second", SECOND[0], "other = 381\n"),
    )
    assert not chosen.patched and chosen.script_verdict is None
    first = next(t for f in chosen.findings for t in f.others if t.candidate.id == "first")
    assert isinstance(first.script_verdict, Mismatch)
    assert "the last runs speak against it" in first.left_out


ONE_LOOP = """\
import time


def add():
    total = 0
    for i in range(20):
        time.sleep(0.06)
        total += i
    return total


def arguments():
    return (), {}


if __name__ == "__main__":
    print(add())
"""
PLAIN = "    time.sleep(0.5)\n    total = 190\n"
COMPILED = """\
    # stands in for numba: the first run compiles, later ones find the result
    import os

    cached = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__pycache__", "k.nbi")
    if not os.path.exists(cached):
        time.sleep(0.8)
        os.makedirs(os.path.dirname(cached), exist_ok=True)
        open(cached, "w").close()
    total = 190
"""


@pytest.mark.parametrize(("runs", "winner"), [(1, "plain"), (50, "compiled")])
def test_how_often_it_will_run_decides(world, runs, winner):
    world.program(ONE_LOOP, ("call", "add"))
    old = ONE_LOOP[ONE_LOOP.index("    for") : ONE_LOOP.index("    return")]
    texts = (("plain", PLAIN), ("compiled", COMPILED))
    rewrites = [world.candidate(name, old, text, share=0.98) for name, text in texts]
    chosen = world.choose(*rewrites, runs=runs)
    assert winners(chosen) == [winner], chosen
    found = turn(chosen.findings[0], runs)
    assert found is not None and found.trial.candidate.id != winner
    assert (found.runs > 1) == (runs == 1)

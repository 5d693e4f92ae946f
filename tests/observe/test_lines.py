"""The instrumented run on real programs: it behaves as the plain run, and sees what it should."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpuadvise.diagnose.sites import find_sites
from gpuadvise.model import Exited, Killed, Site, SiteObservation, Source, Stopped, Target
from gpuadvise.observe import lines as lines_module
from gpuadvise.observe.lines import LinesResult, make_plan, observe_lines
from gpuadvise.observe.plan import plan_to_json
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.observe.userfiles import user_files
from gpuadvise.verify.server import Hello, StateServer


def write(folder: Path, text: str, name: str = "prog.py") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def target_of(path: Path, *args: str, module: str | None = None) -> Target:
    cwd = path.parent if module is None else path.parent.parent
    return Target(script=path, args=args, module=module, cwd=cwd, python=sys.executable)


def sites_of(target: Target) -> tuple[Site, ...]:
    return find_sites({p: Source(p, p.read_bytes()) for p in user_files(target)}, ())


def observe(path: Path, *args: str, module: str | None = None, **options: object) -> LinesResult:
    target = target_of(path, *args, module=module)
    with Sandbox(target) as box:
        return observe_lines(
            box,
            target,
            **{"sites": sites_of(target), "functions": None, **options},  # type: ignore[arg-type]
        )


def at(result: LinesResult, line: int) -> SiteObservation:
    """The observation of the loop on a line."""
    (key,) = [k for k in result.sites if f":{line}:" in k and k.endswith(":0")]
    return result.sites[key]


@contextmanager
def plain_and_instrumented(
    path: Path, *args: str, module: str | None = None, stdin: str = ""
) -> Iterator[tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]]:
    """The same program by Python itself and by the runner, in one folder, without a sandbox."""
    target = target_of(path, *args, module=module)

    here = SimpleNamespace(
        path=lambda original: original, arguments=lambda: list(args), script=lambda: None
    )
    plan = make_plan(here, target, sites_of(target), None, 1.0, 30.0, path.parent / "out", None)  # type: ignore[arg-type]
    config = path.parent / "plan.json"
    config.write_text(json.dumps(plan_to_json(plan)))
    runner = Path(lines_module.__file__).with_name("runner.py")

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command],
            cwd=target.cwd,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )

    yield run([*target.command]), run([str(runner), str(config)])


# --------------------------------------------------------------- same behaviour
PROGRAMS = {
    "names": """
        '''The docstring.'''
        from __future__ import annotations
        import sys
        for i in range(3):
            pass
        def f(a: Unknown = 1, *rest, k=2):
            '''Doc.'''
            for j in range(2):
                pass
            return [a, rest, k]
        print(sorted(globals()), __doc__, __name__, __spec__, __package__, type(__loader__))
        print(sys.argv[1:], f(1, 2, k=5), f.__doc__, f.__annotations__, f.__code__.co_varnames)
        print(sys.path[0], __file__, f.__closure__, f.__code__.co_firstlineno)
        def often_called(v):
            w = v + 1
            return w
        print(often_called.__code__.co_consts, often_called.__code__.co_exceptiontable)
        """,
    "exit code": "import sys\nfor i in range(2):\n    pass\nsys.exit(3)\n",
    "exit message": "import sys\nfor i in range(2):\n    pass\nsys.exit('no')\n",
    "raises": """
        def f(n):
            for i in range(n):
                g(n - i)
            return 1
        def g(n):
            return 1 / (n - 2)
        f(5)
        """,
    "raises from a decorated closure": """
        import functools
        def twice(f):
            @functools.wraps(f)
            def inner(*args):
                f(*args)
                return f(*args)
            return inner
        @twice
        def g(n):
            total = 0
            for i in range(n):
                total += i
            if n == 3:
                raise ValueError(f"after {total}")
        g(2)
        g(3)
        """,
    "syntax error": "for i in range(3):\n    x = = 2\n",
    "missing import": "for i in range(3):\n    pass\nimport nothing_of_that_name\n",
    "stdin": "total = 0\nfor i in range(2):\n    total += int(input())\nprint(total)\n",
    "atexit and threads": """
        import atexit, threading, time
        atexit.register(print, "last")
        begin = threading.Event()
        def work():
            begin.wait()
            for i in range(3):
                time.sleep(0.01)
                print("work", i)
        threading.Thread(target=work).start()
        print(threading.active_count())
        begin.set()
        """,
    "forks": """
        import multiprocessing as mp, os
        def work(n):
            total = 0
            for i in range(n):
                total += i
            return total
        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                with mp.get_context(method).Pool(2) as pool:
                    print(method, pool.map(work, [10, 20, 30]))
            print(os.waitpid(-1, os.WNOHANG), mp.active_children())
        """,
    "hard exit": "import os\nfor i in range(3):\n    print(i, flush=True)\nos._exit(7)\n",
    "exec": """
        import os, sys
        for i in range(3):
            print(i, flush=True)
        os.execv(sys.executable, [sys.executable, "-c",
                 "t = sum(i * i for i in range(2000000)); print('second life', t)"])
        """,
    "random stream": """
        import random
        random.seed(5)
        def draw(n):
            out = []
            for i in range(n):
                out.append(random.random())
            return out
        for k in range(5):
            print(draw(2))
        """,
    "locals and eval": """
        def f(n):
            before = locals()
            a = 5
            for i in range(n):
                b = i
            return sorted(before), eval("a + b")
        print(f(3))
        """,
    "recursion": """
        def fib(n):
            for i in range(1):
                pass
            return n if n < 2 else fib(n - 1) + fib(n - 2)
        print(fib(12))
        """,
    "generators and async": """
        import asyncio
        def gen(n):
            for i in range(n):
                got = yield i
                print(got)
        async def main():
            for i in range(2):
                await asyncio.sleep(0)
            async for j in agen():
                print(j)
        async def agen():
            for i in range(2):
                yield i
        g = gen(3)
        print(next(g), g.send("x"), list(g))
        asyncio.run(main())
        """,
    "compilers see clean code": """
        def njit(f):
            assert not any(callable(c) for c in f.__code__.co_consts), "hooked"
            assert len(f.__code__.co_code) < 60
            return f
        @njit
        def fast(n):
            for i in range(n):
                pass
        def later(n):
            for i in range(n):
                pass
        njit(later)
        fast(3)
        """,
    "class body, lambda, match": """
        class Table:
            rows = []
            for i in range(3):
                rows.append(i)
            def total(self):
                match self.rows:
                    case [first, *rest]:
                        for r in rest:
                            first += r
                        return first
        key = lambda x: [y for y in range(x)]
        print(Table().total(), key(3), Table.total.__qualname__)
        """,
    "pickled by name": """
        import pickle
        def f(n):
            for i in range(n):
                pass
            return f
        print(pickle.loads(pickle.dumps(f)) is f, f(2) is f)
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_behaves_as_the_plain_run(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, PROGRAMS[name])
    with plain_and_instrumented(path, "-x", "y z", stdin="3\n4\n") as (plain, ours):
        assert ours.stdout == plain.stdout
        assert ours.stderr == plain.stderr
        assert ours.returncode == plain.returncode
        if name != "syntax error":
            assert (tmp_path / "out").exists()


def test_module_run_behaves_as_the_plain_run(tmp_path: Path) -> None:
    write(tmp_path, "LIMIT = 4\n", "pkg/__init__.py")
    write(tmp_path, "def f(n):\n    for i in range(n):\n        pass\n    return n\n", "pkg/lib.py")
    path = write(
        tmp_path,
        """
        import sys
        from . import LIMIT
        from .lib import f
        for i in range(2):
            f(i)
        print(__name__, __package__, __spec__.name, sys.argv[1:], sys.path[0], f(LIMIT))
        raise KeyError("end")
        """,
        "pkg/__main__.py",
    )
    with plain_and_instrumented(path, "a", module="pkg") as (plain, ours):
        assert ours.stdout == plain.stdout
        assert ours.returncode == plain.returncode == 1
        assert ours.stderr.splitlines()[-3:] == plain.stderr.splitlines()[-3:]


# ------------------------------------------------------------------ observations
def test_values_at_loops_of_methods_helpers_and_modules(tmp_path: Path) -> None:
    write(
        tmp_path,
        "WEIGHT = 0.5\ndef scaled(x):\n    for i in range(1):\n        x *= WEIGHT\n    return x\n",
        "lib.py",
    )
    path = write(
        tmp_path,
        """\
        import numpy as np
        from lib import scaled
        ALPHA = 2

        class Grid:
            def __init__(self, n):
                self.u = np.arange(n * n, dtype=float).reshape(n, n)
                self.n = n

            def step(self):
                u = self.u
                for i in range(self.n):
                    for j in range(self.n):
                        u[i, j] = scaled(u[i, j]) + ALPHA + self.corner()

            def corner(self):
                return self.u[0, 0]

        if __name__ == "__main__":
            grid = Grid(4)
            rows = [[0.0] * 3 for _ in range(2)]
            for t in range(6):
                grid.step()
            for row in rows:
                row[0] = 1.0
        """,
    )
    result = observe(path)
    assert (result.ended, result.partial, result.notes) == (Exited(0), False, ())
    outer = at(result, 12)
    assert (outer.entries, outer.observed >= 3) == (6, True)
    assert outer.values["u"].shape == (4, 4) and outer.values["u"].minimum == 0.0
    assert outer.values["self.u"].dtype == "float64"
    assert outer.aliases == (("self.u", "u"),) or outer.aliases == (("u", "self.u"),)
    assert outer.values["self.n"].constant and outer.values["self.n"].maximum == 4
    assert outer.values["ALPHA"].constant
    assert outer.values["WEIGHT"].minimum == 0.5  # read by the helper, in its module
    assert outer.values["scaled"].target_file == tmp_path / "lib.py"
    assert at(result, 13).entries == 24
    assert at(result, 3).entries == 96  # in the imported module
    assert at(result, 24).values["rows"].shape == (2, 3)
    assert at(result, 22).values["grid.step"].target_line == 10
    assert result.sites[Site(path, 10, "Grid.step", is_function=True).key].entries == 6


def test_one_name_with_two_values_is_poisoned(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        n = 7
        def helper(x):
            return x + n
        def f():
            n = 5
            for i in range(n):
                helper(i)
        f()
        """,
    )
    assert at(observe(path), 6).values["n"].kind == "mixed"


def test_changes_between_entries_show(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        import numpy as np
        def f(a, k):
            for i in range(2):
                k
        for t in range(2000):
            f(np.full(3 + t % 2, t) if t != 1700 else np.ones(3, np.float32), t)
        """,
    )
    seen = at(observe(path), 3)
    assert seen.entries == 2000 and seen.observed < 500
    assert not seen.values["k"].constant and seen.values["k"].minimum == 0
    assert seen.values["k"].maximum > 1000  # type: ignore[operator]


def test_a_change_of_type_is_noticed_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        import time
        def f(a):
            for x in a:
                time.sleep(0.004)
        for t in range(30):
            f([1.0] if t >= 24 else [1])
        """,
    )
    assert at(observe(path, functions=[]), 3).values["a"].element.kind == "mixed"  # type: ignore[union-attr]


def test_no_reference_is_kept(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        import numpy as np
        def f():
            a = np.zeros(4)
            for i in range(3):
                for j in range(2):
                    a[i] = j
            a.resize(8)  # refuses while anybody else holds a reference
        f()
        """,
    )
    result = observe(path, functions=[])
    assert result.ended == Exited(0)
    assert at(result, 5).values["a"].dtype == "float64"


def test_loop_that_is_not_reached_has_no_entries(tmp_path: Path) -> None:
    path = write(tmp_path, "def f():\n    for i in range(3):\n        pass\n")
    assert at(observe(path), 2) == SiteObservation(0, 0, {})


# --------------------------------------------------------------------- line times
def seconds(result: LinesResult) -> dict[int, float]:
    return {time.line: time.seconds or 0.0 for time in result.lines}


def test_lines_of_functions_methods_closures_and_modules_are_timed(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        class A:
            @staticmethod
            def method(n):
                return sum(range(n))
        def outer(n):
            def inner(k):
                k += 0
                for i in range(2):
                    k += i
                return sum(range(k))
            return inner(n)
        for i in range(10):
            A.method(200000)
            outer(10)
        """,
    )
    result = observe(path)
    hits: Counter[int] = Counter()
    for time_ in result.lines:
        hits[time_.line] += time_.hits or 0
    once = (4, 7, 10, 11, 13, 14)
    assert {line: hits[line] for line in once} == dict.fromkeys(once, 10)
    assert (hits[6], hits[9]) == (10, 20)  # the def itself, without the hooks inside
    assert not {2, 3, 5} & set(hits)  # a def line carries our hooks only
    assert seconds(result)[4] > 1e-3 and seconds(result)[13] > 1e-3


def test_budget_and_a_loop_that_starts_late(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        def f(n):
            s = 0
            for i in range(n):
                s += i * i
            for i in range(n):
                s -= i
            return s
        f(4000000)
        """,
    )
    result = observe(path, functions=[(path, "f")], budget=0.2, expected=0.4)
    hits = {time.line: time.hits or 0 for time in result.lines}
    assert 0 < hits[4] < 2_000_000
    assert 0 < hits[6] < 2_000_000
    assert set(hits) <= {2, 3, 4, 5, 6, 7}


@pytest.mark.parametrize("expected", [0.2, 0.1])
def test_code_that_is_not_timed_uses_up_no_budget(tmp_path: Path, expected: float) -> None:
    """With breaks, and in a run too short for any: ``import numpy`` would be all that is seen."""
    path = write(
        tmp_path,
        """\
        def other(n):
            return sum(i * i for i in range(n))
        def f(n):
            s = 0
            while n:
                s += n
                n -= 1
            return s
        other(5000000)
        f(3000000)
        """,
    )
    result = observe(path, functions=[(path, "f")], budget=0.05, expected=expected)
    assert sum(time.hits or 0 for time in result.lines) > 1000
    assert {time.line for time in result.lines} <= {4, 5, 6, 7, 8}


def test_looks_use_up_no_budget(tmp_path: Path) -> None:
    """The rows are described at the loops' entries, which takes longer than the budget lasts."""
    path = write(
        tmp_path,
        """\
        def centred(rows):
            total = 0.0
            for row in rows:
                for x in row:
                    total += x
            return total
        rows = [[0.5 * j for j in range(1500)] for i in range(1500)]
        centred(rows)
        """,
    )
    result = observe(path, functions=[(path, "centred")], budget=0.05, expected=0.4)
    assert sum(time.hits or 0 for time in result.lines if time.line == 5) > 100


def test_only_the_loops_of_top_level_code_are_timed(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        n = sum(range(100))
        if n:
            for i in range(3):
                for j in range(2):
                    n += j
        n -= 1
        while n > 4940:
            n -= 1
        """,
    )
    result = observe(path, functions=None)
    assert {time.line for time in result.lines} == {3, 4, 5, 7, 8}


def test_names_as_a_sampler_writes_them(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        def outer():
            def inner():
                return 1
            return inner()
        def other():
            return 2
        outer(), other()
        """,
    )
    result = observe(path, functions=[(path, "outer.inner")], expected=0.0)
    assert {time.line for time in result.lines} == {3}


def test_long_native_line_is_charged(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        def f(data):
            for i in range(12):
                a = i
                b = sorted(data, key=abs)
            return b
        f([(i * 7919) % 100003 for i in range(200000)])
        """,
    )
    times = seconds(observe(path, functions=[(path, "f")], budget=0.1, expected=2.0))
    assert times[4] > 20 * (times.get(3, 0.0) + times.get(2, 0.0))


# ------------------------------------------------------------------------- endings
@pytest.mark.parametrize(
    ("body", "ended"),
    [
        ("import sys; sys.exit(4)", Exited(4)),
        ("1 / 0", Exited(1)),
        ("import os; os._exit(5)", Exited(5)),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", Stopped(0.0)),
    ],
)
def test_records_survive_every_end(tmp_path: Path, body: str, ended: object) -> None:
    path = write(tmp_path, f"for i in range(3):\n    pass\n{body}\n")
    result = observe(path)
    assert result.ended == ended
    assert at(result, 1).entries == 1


def test_killed_outright(tmp_path: Path) -> None:
    path = write(tmp_path, "for i in range(3):\n    pass\nimport os; os.kill(os.getpid(), 9)\n")
    result = observe(path)
    assert (result.ended, result.partial) == (Killed(signal.SIGKILL), True)
    assert result.sites == {} and "without leaving" in result.notes[0]


@pytest.mark.parametrize("body", ["while True:\n    n += 1", "import time; time.sleep(60)"])
def test_time_limit(tmp_path: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "GRACE", 0.5)
    path = write(tmp_path, f"n = 0\nfor i in range(3):\n    n += i\n{body}\n")
    result = observe(path, limit=4.0)
    assert (result.ended, result.partial) == (Stopped(4.0), True)
    assert result.run is not None and result.run.end == Stopped(4.0)  # no failure of the program
    assert at(result, 2).entries == 1


def test_switching_while_the_program_switches_is_silent(tmp_path: Path) -> None:
    """A tick in the middle of a call that is just being timed: nothing is said or lost."""
    path = write(
        tmp_path,
        """
        def f(x):
            return x + 1
        total = 0
        for i in range(400_000):
            total += f(i)
        """,
    )
    result = observe(path, functions=[(path, "f")], budget=2.0, expected=0.2)
    assert result.run is not None and not result.run.stderr


def test_other_children_and_threads_leave_no_records(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        import os
        def f(n):
            for i in range(n):
                pass
        f(1)
        child = os.fork()
        for k in range(50):
            f(1 if child else 100)  # larger, but in another process
        if child == 0:
            raise SystemExit(0)
        print(os.waitpid(child, 0)[0] == child)
        """,
    )
    result, states = held(path)
    assert at(result, 3).entries == 51
    assert {hello.reason for hello in states["f:2"]} == {"first", "late"}


# --------------------------------------------------------------------- held states
def held(path: Path) -> tuple[LinesResult, dict[str, list[Hello]]]:
    target = target_of(path)
    sites = sites_of(target)
    sources = {p: p.read_bytes() for p in user_files(target)}
    with Sandbox(target) as box, StateServer(sources, box.own) as server:
        result = observe_lines(
            box, target, sites=sites, functions=None, states_address=server.address
        )
        time.sleep(0.5)
        states = {
            f"{site.qualname}:{site.line}": [state.hello for state in server.states(site.key)]
            for site in sites
        }
    return result, states


def test_which_calls_are_held(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        import os, signal, time
        seen = []
        signal.signal(signal.SIGCHLD, lambda *args: seen.append(args))
        def f(xs):
            for x in xs:
                time.sleep(0.0005)
        def caller():
            for t in range(120):
                f([1.0] * 3 if 5 <= t < 15 else [1] * (30 if t >= 15 else 3))
        caller()
        for k in range(2):
            pass
        assert not seen, seen
        try:
            os.wait()
        except ChildProcessError:
            pass
        else:
            raise AssertionError("a child of ours was seen")
        """,
    )
    result, states = held(path)
    assert result.ended == Exited(0)
    entries = {hello.reason: hello.entry for hello in states["f:4"]}
    assert set(entries) == {"first", "signature", "largest", "late"}
    # Looking may be late by an entry or two on a busy machine.
    assert entries["first"] == 1 and 6 <= entries["signature"] <= 15
    assert entries["largest"] >= 16 and entries["late"] >= 100
    assert [hello.reason for hello in states["caller:7"]] == ["first"]
    assert [hello.reason for hello in states["<module>:11"]] == ["first"]


def test_calls_that_are_easily_missed_are_held(tmp_path: Path) -> None:
    """A first call without data, a seed larger than any size, slots, types that come once."""
    path = write(
        tmp_path,
        """\
        class Leaf:
            __slots__ = ("cells", "unset")
            def __init__(self, cells):
                self.cells = cells
            def total(self):
                t = 0.0
                for c in self.cells:
                    t += c
                return t
        def draw(seed, n):
            for i in range(n):
                seed = seed * 16807 % 2147483647
            return seed
        def norm(xs):
            t = 0.0
            for x in xs:
                t += x * x
            return t
        def walk(n):
            s = 0
            for i in range(n):
                s += walk(n // 2) if i == 1 else i
            return s
        for leaf in Leaf([1.0]), Leaf([1.0] * 5000), Leaf([1] * 50):
            leaf.total()
        draw(123456789, 5), draw(1, 20000), draw(7, 10)
        norm([]), norm([1.0, 2.0]), norm([1.0] * 5000), norm([1] * 10)
        walk(9)
        """,
    )
    result, states = held(path)
    assert result.ended == Exited(0)
    entries = {
        name.partition(":")[0]: [(hello.entry, hello.reason) for hello in found]
        for name, found in states.items()
        if found
    }
    assert entries["Leaf.total"] == [(1, "first"), (2, "largest"), (3, "signature")]
    assert entries["draw"] == [(1, "first"), (2, "largest")]
    assert entries["norm"] == [
        (1, "first"),
        (2, "signature"),
        (3, "largest"),
        (4, "signature"),
    ]
    assert entries["walk"] == [(1, "first")], "the calls inside are smaller"
    seen = at(result, 16)
    assert (seen.entries, seen.observed, seen.kinds) == (4, 4, 2)
    assert [part.entries for part in seen.signatures] == [3, 1]


def test_random_state_is_the_same_in_the_program(tmp_path: Path) -> None:
    text = """\
        import random
        random.seed(3)
        def f(n):
            for i in range(n):
                random.random()
        f(5)
        open("drawn", "w").write(repr(random.random()))
        raise SystemExit(int(random.random() * 100))
        """
    path = write(tmp_path, text)
    plain = subprocess.run([sys.executable, str(path)], cwd=tmp_path)
    result, states = held(path)
    assert result.ended == Exited(plain.returncode)
    assert len(states["f:3"]) == 1


def test_fork_keeps_the_random_state_and_waits_for_nobody(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        import os, random, signal, sys, time
        from gpuadvise.observe.holders import fork_unseen
        signal.signal(signal.SIGCHLD, lambda *args: print("seen"))
        random.seed(1)
        random.random()
        before = random.getstate()
        program = os.getpid()
        if fork_unseen() == 0:
            same = random.getstate() == before
            alone = os.getsid(0) != os.getsid(program) and os.getppid() != program
            with open(sys.argv[1] + ".part", "w") as file:
                file.write(f"{same} {alone}")
            os.rename(sys.argv[1] + ".part", sys.argv[1])
            os._exit(0)
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        print(open(sys.argv[1]).read(), random.getstate() == before)
        try:
            os.wait()
        except ChildProcessError:
            print("no child")
        """,
    )
    run = subprocess.run(
        [sys.executable, str(path), str(tmp_path / "told")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout == "True True True\nno child\n", run.stderr


def test_pipes_are_let_go(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import sys; print(len(sys.stdin.read()))"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        def f(n):
            for i in range(n):
                child.stdin.write(b"x")
        f(3)
        child.stdin.close()
        assert child.stdout.read() == b"3\\n"
        """,
    )
    target = target_of(path)
    with Sandbox(target) as box, StateServer({path: path.read_bytes()}, box.own) as server:
        result = observe_lines(
            box,
            target,
            sites=sites_of(target),
            functions=None,
            states_address=server.address,
            limit=20.0,
        )
    assert result.ended == Exited(0)


def test_nothing_is_held_beside_threads(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
        import threading
        stop = threading.Event()
        thread = threading.Thread(target=stop.wait)
        thread.start()
        def f(n):
            for i in range(n):
                pass
        f(3)
        stop.set()
        thread.join()
        f(3)
        """,
    )
    result, states = held(path)
    assert states["f:5"] == []
    assert any("1 other thread was running" in note for note in result.notes)


# -------------------------------------------------------------------- user files
def test_user_files_follow_imports(tmp_path: Path) -> None:
    path = write(
        tmp_path, "import os, a.b\nfrom c import x\nfrom d import e\ndef f():\n import g\n"
    )
    for name in ("a/__init__.py", "a/b.py", "a/unused.py", "c.py", "d/__init__.py", "d/e.py"):
        write(tmp_path, "", name)
    write(tmp_path, "from ..c import nothing\nfrom . import b\n", "a/b.py")
    write(tmp_path, "this is no Python", "g.py")
    found = {str(p.relative_to(tmp_path)) for p in user_files(target_of(path))}
    expected = {"prog.py", "a/__init__.py", "a/b.py", "c.py", "d/__init__.py", "d/e.py", "g.py"}
    assert found == expected


def test_no_run_without_time(tmp_path: Path) -> None:
    path = write(tmp_path, "open('ran', 'w').close()\n")
    result = observe(path, limit=0.0)
    assert (result.ended, result.partial, result.run) == (Stopped(0.0), True, None)
    assert "no time" in result.notes[0]

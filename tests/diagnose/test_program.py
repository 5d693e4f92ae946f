"""The program as text: scopes, their own lines, and who may call whom."""

from __future__ import annotations

import textwrap
from pathlib import Path

from gpuadvise.diagnose.program import Program
from gpuadvise.diagnose.sites import find_sites
from gpuadvise.model import FunctionTime, Source

MAIN, LIB = Path("/p/main.py"), Path("/p/pkg/lib.py")


def sources(main: str, lib: str = "") -> dict[Path, Source]:
    return {
        MAIN: Source(MAIN, textwrap.dedent(main).encode()),
        LIB: Source(LIB, textwrap.dedent(lib).encode()),
    }


def time(qualname: str, file: Path = MAIN, first: int = 0) -> FunctionTime:
    return FunctionTime(file, qualname, first, first, 0.9, 0.0)


CALLS = """\
    import pkg.lib
    from pkg import lib as other
    from pkg.lib import helper as h, Thing
    def plain():
        h()
    def nested():
        def inner():
            plain()
        inner()
    class A:
        def m(self):
            self.n()
        def n(self):
            Thing()
    class B(A):
        def k(self):
            self.n()
    def unknown(x):
        x.k()
    def modules():
        other.helper()
    """
LIBRARY = """\
    def helper():
        pass
    class Thing:
        def __init__(self):
            helper()
    """


def test_calls_are_resolved() -> None:
    program = Program(sources(CALLS, LIBRARY))
    found = {
        caller.qualname: {callee.qualname for callee in callees}
        for caller, callees in program.callees.items()
    }
    assert found == {
        "plain": {"helper"},
        "nested": {"nested.<locals>.inner"},
        "nested.<locals>.inner": {"plain"},
        "A.m": {"A.n"},
        "A.n": {"Thing.__init__"},
        "B.k": {"A.n"},
        "unknown": {"B.k"},
        "modules": {"helper"},
        "Thing.__init__": {"helper"},
    }


def test_lines_belong_to_one_scope() -> None:
    text = """\
        x = [
            1,
        ]
        def f(
            a,
        ):
            if a:
                return [
                    2]
            def g():
                return 3
        class C:
            y = 5
        """
    program = Program(sources(text))
    owners = {n: s.qualname for n in range(1, 14) if (s := program.owner(MAIN, n)) is not None}
    assert {n for n, name in owners.items() if name == "<module>"} == {1, 2, 3, 4, 12}
    assert {n for n, name in owners.items() if name == "f"} == {7, 8, 9, 10}
    assert owners[11] == "f.<locals>.g"


def test_names_as_profilers_write_them() -> None:
    text = """\
        class A:
            @property
            def value(self):
                return 1
        def f():
            def inner():
                pass
        """
    program = Program(sources(text))
    for name, first, wanted in (
        ("A.value", 2, "A.value"),
        ("value", 0, "A.value"),
        ("inner", 0, "f.<locals>.inner"),
        ("whatever", 5, "f"),
    ):
        scope = program.named(MAIN, name, first)
        assert scope is not None and scope.qualname == wanted
    assert program.named(MAIN, "nothing", 99) is None


def test_sources_with_errors_are_left_out() -> None:
    assert Program({MAIN: Source(MAIN, b"x = = 1")}).scopes == []
    assert Program({MAIN: Source(MAIN, b"x = '\0'")}).scopes == []


# ------------------------------------------------------------------------ sites
SITES = """\
    from pkg.lib import hot
    def cold(n):
        for i in range(n):
            pass
    def driver(n):
        for t in range(n):
            step()
        while n:
            n -= 1
    def step():
        hot()
    def gen(n):
        for i in range(n):
            yield hot()
    @njit
    def compiled(n):
        for i in range(n):
            hot()
    async def slow():
        for i in range(3):
            hot()
    class Table:
        for i in range(3):
            hot()
    if __name__ == "__main__":
        for i in range(2):
            cold(i)
    """
HOT = """\
    def hot():
        for i in range(3):
            for j in range(3):
                pass
    """


def keys(main: str, lib: str, functions: tuple[FunctionTime, ...]) -> set[tuple[str, int, bool]]:
    found = find_sites(sources(main, lib), functions)
    assert len(set(found)) == len(found)
    return {(site.qualname, site.line, site.is_function) for site in found}


def test_hot_loops_their_functions_and_the_loops_that_call_them() -> None:
    assert keys(SITES, HOT, (time("hot", LIB, 1),)) == {
        *(("hot", 1, True), ("hot", 2, False), ("hot", 3, False)),
        *(("driver", 5, True), ("driver", 6, False)),
        ("gen", 13, False),  # runs later: not held at entry
        ("slow", 20, False),
        ("<module>", 26, False),
    }


def test_without_a_profile_everything_is_looked_at() -> None:
    found = keys(SITES, HOT, ())
    assert {("cold", 2, True), ("cold", 3, False), ("driver", 8, False)} <= found
    assert not {key for key in found if key[0] == "compiled"}


def test_no_loops_no_sites() -> None:
    assert keys("def f():\n    return 1\nf()\n", "", (time("f"),)) == set()

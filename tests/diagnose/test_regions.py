"""Hot loops become regions with a share, an observation and a nest."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from gpuadvise.diagnose.hotspots import merge
from gpuadvise.diagnose.regions import NOT_REACHED, regions
from gpuadvise.diagnose.sites import find_sites
from gpuadvise.loopnest.ir import Nest
from gpuadvise.matching import match_rules
from gpuadvise.model import (
    Calls,
    Exited,
    FunctionTime,
    LineTime,
    Profile,
    Refusal,
    Region,
    RunResult,
    SiteObservation,
    Source,
    Target,
)
from gpuadvise.observe.lines import observe_lines
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.observe.userfiles import user_files
from gpuadvise.options import Options

FILE = Path("/p/main.py")
BARE = RunResult(Exited(0), wall=2.0, cpu=2.0, max_rss=1)


def chains(text: str, shares: dict[str, float], lines: dict[int, float]) -> list[list[Region]]:
    sources = {FILE: Source(FILE, textwrap.dedent(text).encode())}
    profile = Profile(
        bare=BARE,
        functions=tuple(FunctionTime(FILE, n, 0, 0, s, 0.0) for n, s in shares.items()),
        lines=tuple(LineTime(FILE, n, seconds=s, share=s) for n, s in lines.items()),
        method="test",
    )
    found = regions(sources, find_sites(sources, ()), profile, {})
    return [list(chain) for chain in found]


def summary(found: list[list[Region]]) -> list[list[tuple[int, float, int]]]:
    return [[(r.site.line, round(r.share, 2), r.depth) for r in chain] for chain in found]


def test_chains_follow_the_hottest_inner_loop() -> None:
    text = """\
        def f(n):
            for t in range(n):
                for i in range(n):
                    a = i
                for j in range(n):
                    for k in range(n):
                        b = k
            for z in range(n):
                c = z
        """
    found = chains(text, {"f": 0.9}, {4: 0.2, 5: 0.1, 7: 0.5, 8: 0.01, 9: 0.01})
    assert summary(found) == [[(2, 0.8, 0), (5, 0.6, 1), (6, 0.5, 2)], [(3, 0.2, 0)]]
    region = found[0][0]
    assert region.nest == Refusal(NOT_REACHED, 2)
    assert region.function is not None and region.function.name == "f"
    assert region.max_speedup == pytest.approx(5.0)


def test_functions_called_in_a_loop_count_there() -> None:
    text = """\
        class Grid:
            def step(self):
                for i in range(9):
                    lap(i)
        def lap(i):
            return i
        def main():
            grid = Grid()
            for t in range(9):
                grid.step()
        """
    found = chains(text, {"Grid.step": 0.3, "lap": 0.6}, {3: 0.1, 4: 0.2})
    assert summary(found) == [[(9, 0.9, 0)], [(3, 0.9, 0)]] or summary(found) == [
        *([(3, 0.9, 0)], [(9, 0.9, 0)]),
    ]
    (step,) = [c[0] for c in found if c[0].site.line == 3]
    assert step.class_name == "Grid"


def test_a_function_called_from_two_loops_is_shared_out() -> None:
    text = """\
        def work(n):
            return n
        def main():
            for i in range(3):
                work(i)
            for j in range(1):
                work(j)
        """
    found = chains(text, {"work": 0.8}, {5: 0.3, 7: 0.1})
    assert [r.share for (r,) in found] == pytest.approx([0.3 + 0.6, 0.1 + 0.2])


def test_recursion_ends() -> None:
    text = """\
        def fib(n):
            for i in range(1):
                fib(n - 1)
        for k in range(3):
            fib(k)
        """
    found = chains(text, {"fib": 0.9}, {2: 0.4, 3: 0.5})
    assert all(region.share <= 1.0 for chain in found for region in chain)
    assert {chain[0].site.line for chain in found} == {2, 4}


# -------------------------------------------------------------------- on real runs
def diagnose(folder: Path, text: str, *args: str) -> dict[int, Region]:
    path = folder / "prog.py"
    path.write_text(textwrap.dedent(text))
    target = Target(script=path, args=args, cwd=folder, python=sys.executable)
    sources = {p: Source(p, p.read_bytes()) for p in user_files(target)}
    sites = find_sites(sources, ())
    with Sandbox(target) as box:
        measured = observe_lines(box, target, sites=sites, functions=None)
    profile = merge(BARE, None, measured, sources)
    found = regions(sources, sites, profile, measured.sites)
    return {region.site.line: region for chain in found for region in chain}


def test_a_real_stencil_in_a_class(tmp_path: Path) -> None:
    found = diagnose(
        tmp_path,
        """\
        import numpy as np
        def mean4(u, i, j):
            return (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / 4.0
        class Heat:
            def __init__(self, n):
                self.u = np.zeros((n, n))
                self.u[0] = 1.0
            def step(self):
                new = self.u.copy()
                for i in range(1, self.u.shape[0] - 1):
                    for j in range(1, self.u.shape[1] - 1):
                        new[i, j] = mean4(self.u, i, j)
                self.u = new
        if __name__ == "__main__":
            heat = Heat(30)
            for t in range(20):
                heat.step()
            print(heat.u.sum())
        """,
    )
    outer = found[10]
    assert isinstance(outer.nest, Nest)
    assert set(outer.functions) == {"mean4"} and outer.depth == 0
    assert outer.share > 0.6 and found[16].share > 0.6, "nearly all; less on a busy machine"
    assert found[11].depth == 1
    assert set(found[16].functions) == {"heat.step", "mean4"}


def test_decorated_helpers_are_not_handed_on(tmp_path: Path) -> None:
    found = diagnose(
        tmp_path,
        """\
        from functools import lru_cache
        @lru_cache(maxsize=None)
        def f(x):
            return x * x
        def g(x):
            return x + 1
        total = 0
        for i in range(3000):
            total += f(i % 7) + g(i)
        """,
    )
    assert set(found[8].functions) == {"g"}
    assert found[8].function is None


def test_a_loop_in_a_coroutine_is_named_and_left_alone(tmp_path: Path) -> None:
    text = """\
import asyncio


async def total(n):
    s = 0
    for i in range(n):
        s += i * i
    return s


print(asyncio.run(total(50)))
"""
    path = tmp_path / "prog.py"
    path.write_text(text)
    source = Source(path, path.read_bytes())
    sites = find_sites({path: source}, ())
    lines = tuple(LineTime(path, n, share=0.4) for n in (6, 7))
    profile = Profile(BARE, (), lines, "")
    ((region,),) = regions({path: source}, sites, profile, {})
    assert isinstance(region.nest, Refusal)
    assert "coroutine total (async def, line 4)" in region.nest.reason
    tried = match_rules([(region,)], Options(), [source])
    assert not tried.candidates
    assert [r.refusal for r in tried.refused] == [region.nest]


def test_the_calls_of_the_function_around_a_loop_are_counted() -> None:
    text = "def f(n):\n    for i in range(n):\n        a = i\n\nfor k in range(2):\n    f(k)\n"
    source = Source(FILE, text.encode())
    lines = (LineTime(FILE, 2, seconds=0.2, share=0.2), LineTime(FILE, 3, seconds=0.6, share=0.6))
    functions = (FunctionTime(FILE, "f", 0, 0, 0.8, 0.0),)
    profile = Profile(BARE, functions, lines, "test")
    sites = find_sites({FILE: source}, ())
    seen = {s.key: SiteObservation(2 if s.is_function else 5, 0, {}) for s in sites}
    found = {
        r.site.line: r for chain in regions({FILE: source}, sites, profile, seen) for r in chain
    }
    assert found[2].calls == Calls(2, pytest.approx(0.8))
    assert found[5].calls is None
    (chain,) = [c for c in regions({FILE: source}, sites, profile, {}) if c[0].site.line == 2]
    assert chain[0].calls is None

"""Both profiled runs at a time: for which programs, and that nothing is lost by it."""

from __future__ import annotations

import sys
import textwrap
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuadvise import sidebyside
from gpuadvise.deadline import Deadline
from gpuadvise.model import Exited, RunResult, Source, Target
from gpuadvise.observe.machine import describe
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.options import Options
from gpuadvise.pipeline import Journey, Looked
from gpuadvise.progress import TOGETHER, Stages
from gpuadvise.sidebyside import SampledAside, both, everything, keeps_to_itself, may_run_twice
from gpuadvise.target import read_sources
from gpuadvise.verify.server import StateServer

PROGRAM = """\
import math

def smooth(xs, rounds):
    for _ in range(rounds):
        for i in range(1, len(xs) - 1):
            xs[i] = 0.5 * xs[i] + 0.25 * (xs[i - 1] + xs[i + 1])
    return xs

def start(n):
    xs = []
    for i in range(n):
        xs.append(math.sin(i))
    return xs

print(sum(smooth(start(2000), 700)))
"""


def sources(text: str, name: str = "prog.py") -> dict[Path, Source]:
    path = Path("/folder") / name
    return {path: Source(path, textwrap.dedent(text).encode())}


# --------------------------------------------------------------------- for which programs
def test_every_loop_and_every_function_is_looked_at():
    found = everything(sources(PROGRAM))
    assert found is not None
    assert {(site.qualname, site.line) for site in found.sites if not site.is_function} == {
        ("smooth", 4),
        ("smooth", 5),
        ("start", 11),
    }
    assert {name for _, name in found.functions} == {"<module>", "smooth", "start"}


def test_a_large_program_is_sampled_first():
    one = "def f{n}(xs):\n    for x in xs:\n        print(x)\n"
    most = sidebyside.MOST_FUNCTIONS
    assert everything(sources("".join(one.format(n=n) for n in range(most)))) is not None
    assert everything(sources("".join(one.format(n=n) for n in range(most + 1)))) is None
    loops = "for x in ():\n    pass\n"
    assert everything(sources(loops * sidebyside.MOST_SITES)) is not None
    assert everything(sources(loops * (sidebyside.MOST_SITES + 1))) is None


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("import math, os.path, random\nimport numpy as np", True),
        ("from collections import deque\nfrom . import neighbour", True),
        ("import prog", True),
        ("import multiprocessing.shared_memory", False),
        ("def late():\n    from concurrent import futures", False),
        ("import socket", False),
        ("import torch", False),
        ("open('/dev/shm/grid', 'w')", False),
    ],
)
def test_runs_that_could_meet_come_in_turn(text: str, alone: bool):
    assert keeps_to_itself(sources(text)) is alone


def test_a_core_memory_and_room_are_asked_for():
    found = sources(PROGRAM)
    box: Any = SimpleNamespace(copied=1000)
    machine = replace(describe(), memory=10_000, cores=2)
    run = RunResult(Exited(0), wall=4.0, cpu=4.1, max_rss=900)
    assert may_run_twice(found, run, machine, box)
    assert not may_run_twice(found, replace(run, cpu=7.0), machine, box)
    assert not may_run_twice(found, replace(run, cpu=1.6), machine, box)  # others have the cores
    assert not may_run_twice(found, replace(run, max_rss=2_000), machine, box)
    assert not may_run_twice(found, replace(run, end=Exited(3)), machine, box)
    assert not may_run_twice(found, run, machine, SimpleNamespace(copied=1 << 30))  # type: ignore[arg-type]
    assert not may_run_twice(found, run, replace(machine, cores=1), box)


# --------------------------------------------------------------------- two at a time
def test_both_results_come():
    here = threading.get_ident()
    aside, mine = both(threading.get_ident, lambda: "mine", pytest.fail)
    assert aside != here
    assert mine == "mine"


def test_what_goes_on_aside_is_ended_after_an_interrupt():
    ended = threading.Event()

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        both(lambda: ended.wait(60), interrupted, ended.set)
    assert ended.is_set()


def test_a_failure_aside_is_not_lost():
    def failing() -> None:
        raise FileNotFoundError("python")

    with pytest.raises(FileNotFoundError, match="python"):
        both(failing, lambda: None, lambda: None)


def program(folder: Path) -> Target:
    script = folder / "prog.py"
    script.write_text(PROGRAM)
    return Target(script, (), None, folder, sys.executable, "prog.py")


def look(target: Target, stages: Stages, cores: int) -> tuple[Looked, Mapping[str, int]]:
    """What is seen of a program, and how many states of each function are held."""
    found = read_sources(target)
    bare = RunResult(Exited(0), wall=0.8, cpu=0.8, max_rss=1)
    with Sandbox(target) as box, StateServer({}, box.own) as server:
        machine = replace(describe(), cores=cores)
        journey = Journey(target, Options(), stages, datetime.now(), machine)
        stdin = box.root / "stdin"
        stdin.touch()
        seen = journey.observe(box, bare, stdin, found, server, Deadline(60.0))
        names = [state.hello.qualname for state in server.all_states()]
    return seen, {name: names.count(name) for name in names}


def test_the_same_is_seen_in_turn_and_at_a_time(tmp_path: Path):
    target = program(tmp_path)
    seen, held, stages = {}, {}, {}
    for cores in (1, 2):
        stages[cores] = Stages()
        seen[cores], held[cores] = look(target, stages[cores], cores)
    assert [cost.stage for cost in stages[1].costs] == ["scalene", "line profile"]
    assert [cost.stage for cost in stages[2].costs] == [TOGETHER]
    sites = [[r.site for chain in one.chains for r in chain] for one in seen.values()]
    assert sites[0] == sites[1] != []
    run = seen[2].run
    assert run is not None
    assert run.end == Exited(0)
    assert held[1] == held[2] == {"smooth": 1}, "no state of what turned out to be cold"


def test_a_sampled_run_that_was_ended_is_empty_at_once(tmp_path: Path):
    target = program(tmp_path)
    with Sandbox(target) as box:
        aside = SampledAside(box, target, box.root / "none", limit=60.0, bare_wall=1.0)
        aside.end()
        assert aside.run().functions == ()

"""Steps that launch the same kernels each time, as a CUDA graph: recorded once, then replayed.

Launching a kernel takes the host some twenty microseconds, a kernel of a graph takes it none. That
is all the difference, so it is written where kernels are shorter than that, and steps are many.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...layout import LEVEL
from ...loopnest.ir import Nest
from ...model import ValueInfo
from .plan import Launch, threads

STEPS = 60
"""Of a graph. After so many, arrays that take turns in twos to sixes are back in their places."""
FEWEST = 16
"""Graphs from which on their recording, some ten milliseconds, is earned back."""
LARGEST = 2**21
"""Threads of a kernel that takes about as long as its launch."""
HELPER = '''\
def {name}(run, stream, times):
    """Queue run({steps}) so many times, as a CUDA graph: its launches cost the host nothing.

    How often it was queued: 0 where there are no graphs, or too few steps to earn one back.
    """
    try:
        from cuda.bindings import driver  # numba-cuda brings it
    except ImportError:
        return 0
    if times < {fewest}:
        return 0
    run({steps})  # compiles what is recorded next
    fine, handle = driver.CUresult.CUDA_SUCCESS, int(stream)
    relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    if driver.cuStreamBeginCapture(handle, relaxed)[0] != fine:
        return 1
    run({steps})  # recorded, not run
    error, graph = driver.cuStreamEndCapture(handle)
    if error != fine:
        return 1
    error, ready = driver.cuGraphInstantiate(graph, 0)
    if error != fine:
        return 1
    queued = 1
    while queued < times and driver.cuGraphLaunch(ready, handle)[0] == fine:
        queued += 1
    stream.synchronize()
    driver.cuGraphExecDestroy(ready)
    driver.cuGraphDestroy(graph)
    return queued
'''


@dataclass(frozen=True)
class Replay:
    """Names that the launcher uses for it."""

    helper: str
    stream: str
    run: str
    count: str

    @property
    def text(self) -> str:
        """The function that records and replays."""
        return HELPER.format(name=self.helper, steps=STEPS, fewest=FEWEST)

    @property
    def _queued(self) -> str:
        return f"{self.helper}({self.run}, {self.stream}, {self.count} // {STEPS})"

    def lines(self, loop: ast.For, body: Sequence[str], traded: Sequence[str]) -> list[str]:
        """What runs the loop. ``traded``: local variables that its body binds anew."""
        return [
            "",
            f"def {self.run}({self.count}):",
            f'{LEVEL}"""Queue so many steps."""',
            *([f"{LEVEL}nonlocal {', '.join(traded)}"] if traded else []),
            f"{LEVEL}for {ast.unparse(loop.target)} in range({self.count}):",
            *(LEVEL * 2 + line for line in body),
            "",
            "# the host takes 20 microseconds to launch a kernel, and none for a recorded one",
            f"{self.count} = len({ast.unparse(loop.iter)})",
            f"{self.run}({self.count} - {STEPS} * {self._queued})",
            f"{self.stream}.synchronize()",
        ]


def pays(steps: int | None, kernels: Iterable[tuple[Launch, Nest]]) -> bool:
    """Whether steps were so many, and kernels so short, that launching them is what takes long."""
    if steps is None or steps < FEWEST * STEPS:
        return False
    sizes = [threads(launch, nest) for launch, nest in kernels]
    return all(size is not None and size <= LARGEST for size in sizes)


def seen_steps(loop: ast.For, values: Mapping[str, ValueInfo]) -> int | None:
    """How often a ``range`` loop ran at most, by the numbers that were seen at its entry."""
    assert isinstance(loop.iter, ast.Call)
    bounds = [_seen(argument, values) for argument in loop.iter.args]
    if any(bound is None for bound in bounds):
        return None
    try:
        return len(range(*(bound for bound in bounds if bound is not None)))
    except (TypeError, ValueError):
        return None


def _seen(node: ast.expr, values: Mapping[str, ValueInfo]) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name) if name in values and values[name].kind == "int":
            most = values[name].maximum
            return None if most is None else int(most)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            one, two = _seen(left, values), _seen(right, values)
            if one is None or two is None:
                return None
            return one + two if isinstance(op, ast.Add) else one - two
    return None


def turns(exchanges: Iterable[tuple[Sequence[str], Sequence[str]]]) -> int | None:
    """Steps after which all names are back at their arrays; None if that is not known.

    ``exchanges``: names bound in a step, and those whose arrays they get.
    """
    taken: dict[str, str] = {}
    for targets, sources in exchanges:
        new = [taken.get(source, source) for source in sources]
        taken |= dict(zip(targets, new, strict=True))
    if set(taken) != set(taken.values()):
        return None
    now, count = dict(taken), 1
    while any(name != whose for name, whose in now.items()):
        now = {name: taken[whose] for name, whose in now.items()}
        count += 1
    return count if STEPS % count == 0 else None

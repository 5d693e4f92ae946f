"""Copy large arrays through pinned memory that is kept.

Why it is slow: from and to ordinary memory the driver copies through a small pinned buffer of its
own, at a third to a sixth of the bus's speed, and the CPU waits.
Why it may differ: advice only. What is kept in one pinned buffer must be used before the next copy
overwrites it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuadvise.api import Ignores, Mistake, Region, Spots, rule
from gpuadvise.gpucode.cupy_text import imports_cupy
from gpuadvise.gpucode.cupy_traced import example, traced_lines
from gpuadvise.gpumodel import CopyWork, LineWork
from gpuadvise.report.gpu import copy_words

LOOP = """\
import cupy as cp


def run(frames):
    total = cp.zeros(frames[0].shape)
    for frame in frames:
        total += cp.asarray(frame)
    return total.get()
"""
UP, DOWN = "host to device", "device to host"
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=LOOP,
        line=7,
        function="run",
        gpu={7: example(0.3, copies=(CopyWork(UP, "pageable", "device", 100, 10**9, 0.2),))},
    ),
    Ignores(
        before=LOOP,
        because="the memory is pinned already",
        function="run",
        static=True,
        gpu={7: example(0.3, copies=(CopyWork(UP, "pinned", "device", 100, 10**9, 0.02),))},
    ),
    Ignores(
        before=LOOP,
        because="small copies are latency, which pinned memory does not change",
        function="run",
        static=True,
        gpu={7: example(0.3, copies=(CopyWork(UP, "pageable", "device", 9000, 10**7, 0.02),))},
    ),
)
LARGE, REPEATED, SHARE = 1_000_000, 10, 0.2
"""Mean bytes of a copy, number of copies, share of the traced lines' time."""


@rule(cases=CASES)
def pageable_copies(region: Region) -> tuple[Mistake, ...] | None:
    """The loop copies large arrays from or to ordinary memory."""
    if region.depth or region.gpu is None or not imports_cupy(region.source):
        return None
    span = sum(work.host for work in region.gpu.values())
    found = [
        Mistake(
            line=line,
            what="large arrays are copied through ordinary, pageable memory",
            remedy="keep a pinned buffer (cupyx.empty_pinned) and use set() and get(out=..)",
            evidence=copy_words(copy),
            measured=True,
            cost=work.host,
        )
        for line, work, copy in _large(region, traced_lines(region))
        if work.host >= SHARE * span
    ]
    return tuple(found) or None


def _large(region: Region, lines: tuple[LineWork, ...]) -> Iterator[tuple[int, LineWork, CopyWork]]:
    """Lines with repeated copies of much data between pageable memory and the device."""
    assert region.gpu is not None
    known = {id(work): line for line, work in region.gpu.items()}
    for work in lines:
        for copy in work.copies:
            pageable = "pageable" in (copy.source, copy.target)
            large = copy.bytes >= LARGE * copy.count and copy.count >= REPEATED
            if pageable and large and copy.direction in (UP, DOWN):
                yield known[id(work)], work, copy
                break

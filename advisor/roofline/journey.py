"""``gpuadvise roofline``: the machine's ceilings, and a program's hot loops below them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..deadline import process_age
from ..errors import UserError
from ..model import Machine, Outcome, Report
from ..observe.machine import describe
from ..options import Options
from ..outputs import check_outputs, write_json
from ..pipeline import advise
from ..progress import Stages
from ..report import words
from ..report.layout import Hanging, bullet, paragraph
from ..target import resolve
from .ceilings import Ceilings, cached, keep, measure
from .place import Placed, Spot, follows, place

SCHEMA = 1
"""Version of the JSON document; it changes when a field's meaning does."""
BUSY = 0.3
"""Other processes for each core from which on what is measured is not kept."""


@dataclass(frozen=True)
class Result:
    """What is shown."""

    machine: Machine
    ceilings: Ceilings
    report: Report | None = None
    placed: tuple[Placed, ...] = ()


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def roofline(
    command: tuple[str, ...],
    module: str | None,
    console: Console,
    *,
    options: Options,
    fresh: bool = False,
    json: Path | None = None,
) -> Result:
    """Measure the ceilings, or take them from the cache; with a program, place its hot loops.

    ``fresh``: measure again. Raises UsageProblem or UserError, before anything runs wherever that
    can be known.
    """
    target = resolve(command, module) if command or module else None
    check_outputs((json,), target.script if target is not None else None)
    machine, stages = describe(), Stages(console)
    with stages.stage("ceilings"):
        ceilings = _ceilings(machine, fresh)
    result = Result(machine, ceilings)
    if target is not None:
        report = advise(target, replace(options, survey=True), stages, process_age())
        if report.outcome is Outcome.SCRIPT_FAILED:
            raise UserError(report.message)
        placed = place(report, ceilings) if ceilings.roofs else ()
        result = Result(machine, ceilings, report, placed)
    if json is not None:
        write_json(json, to_json(result))
    for part in _sections(result):
        console.print(part)
    return result


def _ceilings(machine: Machine, fresh: bool) -> Ceilings:
    known = None if fresh else cached(machine, cores())
    if known is not None:
        return known
    found = measure(cores(), bool(machine.gpus))
    if found.roofs and found.busy <= BUSY * cores():
        keep(machine, cores(), found)
    return found


# --------------------------------------------------------------------- view
def _sections(result: Result) -> Iterator[RenderableType]:
    ceilings = result.ceilings
    yield Hanging(Text("gpuadvise roofline ", style="bold"), Text(result.machine.cpu))
    yield paragraph(f"measured {ceilings.measured}")
    table = Table(box=None, pad_edge=False)
    for column in ("", "copy GB/s", "float32 GFLOP/s", "float64 GFLOP/s", "ridge f32", "ridge f64"):
        table.add_column(column, justify="right" if column else "left")
    for roof in ceilings.roofs:
        table.add_row(
            roof.device,
            f"{roof.bandwidth / 1e9:.4g}",
            f"{roof.peak['float32'] / 1e9:.4g}",
            f"{roof.peak['float64'] / 1e9:.4g}",
            f"{roof.ridge('float32'):.3g}",
            f"{roof.ridge('float64'):.3g}",
        )
    yield table
    yield paragraph("ridge: FLOP/byte from which on arithmetic is the limit, and not memory")
    for roof in ceilings.roofs:
        yield bullet(f"{roof.device}: " + "; ".join(f"{k}: {v}" for k, v in roof.how.items()))
    if ceilings.missing:
        yield bullet(ceilings.missing)
    if ceilings.busy > BUSY * result.machine.cores:
        yield bullet(
            f"other processes took {ceilings.busy:.1f} of {result.machine.cores} cores meanwhile: "
            "the true ceilings are higher; measure again on an idle machine with --fresh"
        )
    for placed in result.placed:
        yield Text()
        yield from _placed(placed, result)
    if result.report is not None and not result.placed:
        yield paragraph(f"no hot loop to place: {result.report.message}")


def _placed(placed: Placed, result: Result) -> Iterator[RenderableType]:
    assert result.report is not None
    region = placed.region
    where = words.where(region, result.report.target.cwd)
    yield Text.assemble((where, "bold"), f": {words.percent(region.share)} of the run")
    if not placed.spots:
        yield paragraph(f"  cannot be placed: {placed.why}")
        return
    work = placed.spots[0].work
    most = "at most " if work.at_most else ""
    yield paragraph(
        f"one entry: {most}{work.flops:.3g} floating-point and {work.integer:.3g} integer "
        f"operations, {words.size(int(work.bytes))} to be moved at least once: "
        f"{work.intensity:.3g} operations/byte, computed in {work.dtype}"
    )
    table = Table("", "time", "Gop/s", "GB/s", "of the roof", "", "roof", box=None, pad_edge=False)
    for spot in placed.spots:
        table.add_row(
            spot.label,
            words.seconds(spot.seconds),
            f"{spot.rate / 1e9:.3g}",
            f"{spot.traffic / 1e9:.3g}",
            _share(spot),
            str(spot.bound),
            spot.roof.device,
        )
    yield table
    yield from (
        paragraph(f"{s.label}: {kernel.words}") for s in placed.spots for kernel in s.kernels
    )
    best = min(placed.spots, key=lambda spot: spot.seconds)
    yield paragraph(f"{best.label}: {follows(best, result.ceilings)}")
    if not work.flops:
        yield paragraph(
            "whole numbers only: the arithmetic ceiling is that of floating-point multiply-adds, "
            "which is no bound for them; the memory roof is"
        )


def _share(spot: Spot) -> str:
    value = 100.0 * spot.share
    if value > 100.0:
        return f"{value:.0f} % (from cache)"
    return f"{value:.2g} %" if value < 10 else f"{value:.0f} %"


# --------------------------------------------------------------------- JSON
def to_json(result: Result) -> dict[str, Any]:
    """The ceilings and the placed loops as plain values: bytes, operations, seconds."""
    return {
        "schema": SCHEMA,
        "machine": asdict(result.machine),
        "ceilings": asdict(result.ceilings),
        "placed": [_place(placed) for placed in result.placed],
    }


def _place(placed: Placed) -> dict[str, Any]:
    return {
        "file": str(placed.region.site.file),
        "lines": list(placed.region.lines),
        "why": placed.why or None,
        "spots": [
            {
                "label": spot.label,
                "seconds": spot.seconds,
                "flops": spot.work.flops,
                "integer_operations": spot.work.integer,
                "bytes": spot.work.bytes,
                "dtype": spot.work.dtype,
                "operations_per_second": spot.rate,
                "share_of_roof": spot.share,
                "bound": str(spot.bound),
                "roof": spot.roof.device,
                "occupancy": [kernel.words for kernel in spot.kernels],
            }
            for spot in placed.spots
        ],
    }

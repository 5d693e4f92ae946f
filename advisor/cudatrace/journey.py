"""``gpuadvise trace``: the script once as usual, once under the recorder, and what was seen."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from ..errors import UserError
from ..failures import failed_run
from ..gpumodel import LineWork
from ..journey import check_output
from ..model import Stopped
from ..observe.bare import real_run
from ..observe.machine import describe
from ..observe.sandbox import Sandbox
from ..progress import Stages
from ..target import read_sources, resolve
from . import chrome
from .attribute import attribute
from .report import TraceReport, render
from .summaries import summaries
from .traced import trace_run

SLOWDOWN, START = 3.0, 30.0
"""The traced run may take so many bare runs and seconds: 1.2 bare runs were measured."""
SCHEMA = 1
"""Version of the JSON document; it changes when a field's meaning does."""


def trace(
    command: tuple[str, ...],
    module: str | None,
    console: Console,
    *,
    export: Path | None = None,
    json: Path | None = None,
    time_limit: float | None = None,
    tables: bool = True,
) -> TraceReport:
    """Run, record, show, and write what was asked for.

    Raises UsageProblem or UserError before the program runs wherever that can be known.
    """
    target = resolve(command, module)
    for file in (export, json):
        if file is not None:
            check_output(file)
    stages = Stages(console)
    with Sandbox(target) as box:
        sources = read_sources(target)
        stdin = box.root / "stdin"
        with stages.stage("bare run", quiet=True):
            bare = real_run(target, limit=time_limit, record=stdin)
        if not (bare.ok or isinstance(bare.end, Stopped)):
            raise UserError(failed_run(target, bare))
        with stages.stage("traced run"):
            limit = time_limit or SLOWDOWN * bare.wall + START
            traced = trace_run(box, target, limit=limit, stdin=stdin)
        recorded = traced.trace
        report = TraceReport(
            target=target,
            machine=describe(),
            bare=bare,
            traced=None if recorded is None else traced.run,
            trace=recorded,
            attribution=None if recorded is None else attribute(recorded),
            samples=traced.samples,
            sources=dict(sources),
            notes=(*traced.notes, *_notes(report_of=recorded, samples=traced.samples.missing)),
        )
    if report.trace is not None and report.attribution is not None and export is not None:
        chrome.write(report.trace, report.attribution, export)
    if json is not None:
        json.write_text(jsonlib.dumps(to_json(report), indent=1) + "\n", encoding="utf-8")
    render(report, console, tables=tables)
    return report


def _notes(*, report_of: Any, samples: str | None) -> tuple[str, ...]:
    notes = []
    if report_of is not None and report_of.window is not None:
        notes.append(f"recording stopped before the script did: {report_of.window}")
    if report_of is not None and not len(report_of["calls"]):
        notes.append("the script made no CUDA call that could be recorded")
    if samples is not None:
        notes.append(f"no utilisation, power or clocks: {samples}")
    return tuple(notes)


def to_json(report: TraceReport) -> dict[str, Any]:
    """The report as plain values."""
    recorded, work = report.trace, report.attribution
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "program": [*report.target.command],
        "machine": asdict(report.machine),
        "bare_seconds": report.bare.wall,
        "traced_seconds": None if report.traced is None else report.traced.wall,
        "devices": [asdict(device) for device in report.samples.devices],
        "notes": list(report.notes),
    }
    if recorded is None or work is None:
        return document
    return {
        **document,
        "span_seconds": recorded.span * 1e-9,
        "coverage": {kind: list(counts) for kind, counts in work.covered.items()},
        "lines": [_line(line) for line in work.lines],
        "summaries": {s.key: [asdict(row) for row in s.rows] for s in summaries(recorded)},
    }


def _line(work: LineWork) -> dict[str, Any]:
    fields = asdict(work)
    names: Mapping[str, tuple[int, float]] = fields.pop("names")
    kernels = [{"name": n, "count": c, "seconds": s} for n, (c, s) in names.items()]
    return {**fields, "waited": work.waited, "kernel_names": kernels}

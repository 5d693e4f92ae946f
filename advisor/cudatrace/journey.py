"""``gpuadvise trace``: the script once as usual, once under the recorder, and what was seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from ..errors import UserError
from ..failures import failed_run
from ..gpumodel import LineWork
from ..model import Advice, RunResult, Source, Stopped, Target
from ..observe.bare import real_run
from ..observe.machine import describe
from ..observe.sandbox import Sandbox
from ..outputs import check_outputs, write_json
from ..progress import Stages
from ..target import read_sources, resolve
from . import chrome
from .attribute import attribute
from .findings import findings, marks
from .records import Trace
from .report import TraceReport, render
from .summaries import summaries
from .traced import TracedRun, trace_run

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
    check_outputs((export, json), target.script)
    stages = Stages(console)
    with Sandbox(target) as box:
        sources = read_sources(target)
        stdin = box.root / "stdin"
        with stages.stage("bare run", quiet=True):
            bare = real_run(target, limit=time_limit, record=stdin)
        if not (bare.ok or isinstance(bare.end, Stopped)):
            raise UserError(failed_run(target, bare))
        limit = time_limit or SLOWDOWN * bare.wall + START
        with stages.stage("traced run"):
            run = trace_run(box, target, limit=limit, stdin=stdin)
        with stages.stage("rules"):
            report = report_of(target, bare, run, sources)
    recorded, work = report.trace, report.attribution
    if export is not None and recorded is not None and work is not None:
        chrome.write(recorded, work, export, marks(recorded, work, report.findings))
    if json is not None:
        write_json(json, to_json(report))
    if export is not None and recorded is None:
        unwritten = f"{export.name} was not written: there is nothing to show"
        report = replace(report, notes=(*report.notes, unwritten))
    render(report, console, tables=tables)
    return report


def report_of(
    target: Target, bare: RunResult, traced: TracedRun, sources: Mapping[Path, Source]
) -> TraceReport:
    """What a traced run showed, by line, with what the rules find in it."""
    recorded = traced.trace
    report = TraceReport(
        target=target,
        machine=describe(),
        bare=bare,
        traced=None,
        trace=None,
        attribution=None,
        samples=traced.samples,
        sources=dict(sources),
        notes=(*traced.notes, *_notes(recorded, traced.samples.missing)),
    )
    if recorded is None:
        return report
    work = attribute(recorded)
    found = findings(recorded, work, traced.run, sources)
    return replace(report, traced=traced.run, trace=recorded, attribution=work, findings=found)


def _notes(recorded: Trace | None, missing: str | None) -> Iterator[str]:
    if recorded is not None and recorded.window is not None:
        yield f"recording stopped before the script did: {recorded.window}"
    if recorded is not None and recorded.dropped:
        yield f"{recorded.dropped} CUDA records were lost: there was no room for them"
    if recorded is not None and not len(recorded["calls"]):
        yield "the script made no CUDA call that could be recorded"
    if missing is not None:
        yield f"no utilisation, power or clocks: {missing}"


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
        "findings": [_finding(advice) for advice in report.findings],
        "summaries": {s.key: [asdict(row) for row in s.rows] for s in summaries(recorded)},
    }


def _line(work: LineWork) -> dict[str, Any]:
    fields = asdict(work)
    names: Mapping[str, tuple[int, float]] = fields.pop("names")
    kernels = [{"name": n, "count": c, "seconds": s} for n, (c, s) in names.items()]
    return {**fields, "waited": work.waited, "kernel_names": kernels}


def _finding(advice: Advice) -> dict[str, Any]:
    mistake = advice.mistake
    return {
        "rule": advice.rule,
        "file": str(advice.region.source.path),
        "line": mistake.line,
        "what": mistake.what,
        "evidence": mistake.evidence,
        "remedy": mistake.remedy,
        "seconds": mistake.cost,
    }

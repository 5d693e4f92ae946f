"""A traced run on a terminal: the GPU's head, work by line, and the five summaries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..model import Advice, Machine, RunResult, Source, Target
from ..report import words
from ..report.gpu import advice_view, counted, device_words, line_view
from ..report.layout import Hanging, bullet, labelled, paragraph
from .attribute import Attribution
from .records import Trace
from .sampling import Samples
from .summaries import Row, Summary, summaries

LEAST = 0.002
"""Lines below this share of all CUDA and device time are only counted."""
MOST = 20
WIDE = 110
"""Columns from which the summaries show all of nsys's figures."""


@dataclass(frozen=True)
class TraceReport:
    """Everything a renderer of a traced run needs."""

    target: Target
    machine: Machine
    bare: RunResult
    traced: RunResult | None
    trace: Trace | None
    attribution: Attribution | None
    samples: Samples
    sources: dict[Path, Source] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    findings: tuple[Advice, ...] = ()
    """Mistakes in GPU code, named by the rules; nothing of them was tried."""

    @property
    def overhead(self) -> float | None:
        """Wall time of the traced run over the bare run's."""
        if self.traced is None or self.bare.wall <= 0:
            return None
        return self.traced.wall / self.bare.wall


def render(report: TraceReport, console: Console, *, tables: bool = True) -> None:
    """Print the report; ``tables``: the five summaries as well."""
    for part in _sections(report, console, tables):
        console.print(part)


def _sections(report: TraceReport, console: Console, tables: bool) -> Iterator[RenderableType]:
    yield Hanging(Text("gpuadvise trace ", style="bold"), Text(words.program(report.target)))
    yield from _head(report)
    yield Text()
    trace, work = report.trace, report.attribution
    if trace is not None and work is not None:
        yield Text("GPU work by line", style="bold underline")
        yield from _by_line(report, trace, work)
        yield from _findings(report)
        if tables:
            for summary in summaries(trace):
                yield from _summary(summary, console.width)
    if report.notes:
        yield Text("Notes", style="bold underline")
        yield from (bullet(note) for note in dict.fromkeys(report.notes))


def _head(report: TraceReport) -> Iterator[RenderableType]:
    yield labelled("ran", words.seconds(report.bare.wall), words.run_end(report.bare.end), width=6)
    if report.traced is not None and report.overhead is not None:
        times = f"{words.seconds(report.traced.wall)} under the recorder"
        yield labelled("", times, f"{words.factor(report.overhead)} times the bare run", width=6)
    machine = report.machine
    cores = f"{machine.cores} core{'s' * (machine.cores != 1)}"
    yield labelled("on", f"{machine.node}: {machine.cpu}, {cores}", width=6)
    for device in report.samples.devices:
        yield labelled("", device_words(device), width=6)


# -------------------------------------------------------------------- by line
def _by_line(report: TraceReport, trace: Trace, work: Attribution) -> Iterator[RenderableType]:
    span = trace.span * 1e-9
    whole = sum(line.api + line.gpu for line in work.lines) or 1.0
    yield paragraph(
        f"shares are of the main thread's {words.seconds(span)} that were traced; "
        f"{words.percent(work.coverage)} of kernels, copies and synchronisations carry a line"
    )
    yield Text()
    shown = [w for w in work.lines if (w.api + w.gpu + w.idle) / whole >= LEAST][:MOST]
    for line in shown:
        yield from line_view(line, span, report.sources, report.target.cwd)
    rest = len(work.lines) - len(shown)
    if rest > 0:
        yield paragraph(f"{rest} other line{'s' * (rest > 1)} with little GPU work")
        yield Text()


def _findings(report: TraceReport) -> Iterator[RenderableType]:
    """What the rules name; the full journey tries what can be rewritten."""
    if not report.findings:
        return
    count = counted(len(report.findings), "mistake")
    yield Text(f"Findings: {count}, nothing of which was tried", style="bold underline")
    for advice in report.findings:
        yield from advice_view(report, advice)


# ------------------------------------------------------------------ summaries
def _summary(summary: Summary, width: int) -> Iterator[RenderableType]:
    heading = Text(f"{summary.title} ({summary.key})", style="bold underline")
    yield heading
    if not summary.rows:
        yield paragraph("nothing of this kind was recorded")
        yield Text()
        return
    unit, scale = ("ns", 1.0) if summary.unit == "ns" else ("MB", 1e-6)
    head = [f"Total ({unit})"] if unit == "MB" else ["Time (%)", f"Total Time ({unit})"]
    head += [summary.counts, f"Avg ({unit})", f"Med ({unit})"]
    if width >= WIDE:
        head += [f"Min ({unit})", f"Max ({unit})", f"StdDev ({unit})"]
    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in head:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column(summary.named, overflow="ellipsis", no_wrap=True, ratio=1)
    for row in summary.rows[:MOST]:
        table.add_row(*_cells(row, scale, unit, width >= WIDE), Text(row.name))
    yield table
    if len(summary.rows) > MOST:
        yield paragraph(f"and {len(summary.rows) - MOST} more")
    yield Text()


def _cells(row: Row, scale: float, unit: str, wide: bool) -> list[str]:
    def number(value: float) -> str:
        return f"{value * scale:,.0f}" if unit == "ns" else f"{value * scale:,.3f}"

    share = [f"{100 * row.share:.1f}"] if unit == "ns" else []
    cells = [*share, number(row.total), str(row.count), number(row.mean), number(row.median)]
    if wide:
        cells += [number(row.least), number(row.most), number(row.deviation)]
    return cells

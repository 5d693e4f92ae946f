"""A traced run on a terminal: the GPU's head, work by line, and the five summaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..model import Machine, RunResult, Source, Target
from ..report import words
from ..report.code import python_lines
from ..report.layout import Hanging, bullet, labelled, paragraph
from .attribute import Attribution, CopyWork, LineWork
from .records import Trace
from .sampling import DeviceSamples, Samples
from .summaries import Row, Summary, summaries

LEAST = 0.002
"""Lines below this share of all CUDA and device time are only counted."""
MOST = 20
LARGE = 1_000_000
"""Mean bytes of a copy from which its rate is shown."""
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


def device_words(device: DeviceSamples) -> str:
    """One line on a GPU during the run."""
    clocks = [s.clock for s in device.samples if s.clock]
    heat = max((s.temperature for s in device.samples), default=0)
    words_ = [
        device.name,
        f"mean utilisation {device.mean_use:.0f} % (NVML, {len(device.samples)} samples)",
        f"memory in use up to {words.size(device.peak_memory)} of {words.size(device.memory)}",
    ]
    if device.peak_power:
        words_.append(f"up to {device.peak_power:.0f} W, {heat} degrees C")
    if clocks:
        words_.append(f"SM clock {min(clocks)}-{max(clocks)} MHz")
    return ", ".join(words_)


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
        yield from _line(report, line, span)
    rest = len(work.lines) - len(shown)
    if rest > 0:
        yield paragraph(f"{rest} other line{'s' * (rest > 1)} with little GPU work")
        yield Text()


def _line(report: TraceReport, work: LineWork, span: float) -> Iterator[RenderableType]:
    share = words.percent(work.host / span if span else 0.0)
    if work.place is None:
        yield paragraph(("before the script's first line, or in a thread without one", "bold"))
    else:
        file = Path(work.place.file)
        place = f"{words.place(file, report.target.cwd)}:{work.place.line}"
        inside = work.place.function
        where = "at module level" if inside == "<module>" else f"in {inside}"
        yield paragraph((place, "bold"), f" {where}{f', {share} of the time' if work.host else ''}")
        code = code_at(report.sources, file, work.place.line)
        if code:
            yield Hanging(Text("    "), python_lines(code)[0], 8)
    for sentence in line_words(work):
        yield Hanging(Text("  - "), Text(sentence))
    yield Text()


def code_at(sources: Mapping[Path, Source], file: Path, line: int) -> str:
    """The text of a line, without its indentation; empty where it is not known."""
    source = sources.get(file)
    if source is None or not 1 <= line <= len(source.lines):
        return ""
    return source.lines[line - 1].strip()


def line_words(work: LineWork) -> list[str]:
    """What one line did, a sentence for each kind of work."""
    found: list[str] = []
    if work.kernels:
        names = list(work.names.items())
        first = ", ".join(f"{short(name)} {count}" for name, (count, _) in names[:3])
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        average = words.seconds(work.kernel_time / work.kernels)
        found.append(
            f"{counted(work.kernels, 'kernel')}, {words.seconds(work.kernel_time)} on the GPU, "
            f"{average} on average: {first}{more}"
        )
    found += [copy_words(copy) for copy in work.copies]
    if work.syncs:
        found.append(
            f"{counted(work.syncs, 'synchronisation')}: the CPU waited "
            f"{words.seconds(work.sync_wait)}"
        )
    if work.copy_waits and work.copy_wait >= 1e-6:
        found.append(
            f"hidden synchronisation: {words.seconds(work.copy_wait)} of CPU waiting before "
            f"{counted(work.copy_waits, 'copy', 'copies')} could start"
        )
    if work.allocations or work.frees:
        found.append(
            f"{counted(work.allocations, 'allocation')} and {counted(work.frees, 'release')} by "
            f"the driver, {words.seconds(work.memory_api)} of calls"
        )
    idle = f"; the GPU idled {words.seconds(work.idle)} while this line ran" if work.idle else ""
    found.append(f"{counted(work.calls, 'CUDA call')} taking {words.seconds(work.api)}{idle}")
    return found


def copy_words(copy: CopyWork) -> str:
    """``"200 copies device to host (to pageable memory), 32 MB in 1.2 ms on the GPU, 26 GB/s"``."""
    # A small copy's time is latency: its rate would say nothing of the bus.
    large = copy.seconds > 0 and copy.bytes >= LARGE * copy.count
    rate = f", {copy.bytes / copy.seconds / 1e9:.1f} GB/s" if large else ""
    host = copy.target if copy.direction == "device to host" else copy.source
    memory = f" ({host} memory)" if copy.direction in ("device to host", "host to device") else ""
    return (
        f"{counted(copy.count, 'copy', 'copies')} {copy.direction}{memory}, "
        f"{words.size(copy.bytes)} in {words.seconds(copy.seconds)} on the GPU{rate}"
    )


def counted(count: int, one: str, many: str | None = None) -> str:
    """``"1 copy"``, ``"2 copies"``."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def short(name: str, width: int = 48) -> str:
    """A kernel's name that leaves room for the figures."""
    return name if len(name) <= width else f"{name[: width - 3]}..."


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

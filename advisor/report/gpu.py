"""GPU work and mistakes in GPU code on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from rich.console import RenderableType
from rich.text import Text

from ..gpumodel import CopyWork, DeviceSamples, GpuWork, LineWork
from ..model import Advice, Report, Source, Target
from . import words
from .code import python_lines
from .layout import Hanging, bullet, labelled, paragraph

LINES = 5
"""Lines with most GPU work that the main report shows; ``gpuadvise trace`` shows all."""
LARGE = 1_000_000
"""Mean bytes of a copy from which its rate is shown: a small one's time is latency."""


def gpu_view(report: Report, work: GpuWork) -> Iterator[RenderableType]:
    """The devices, and the lines with most work."""
    for device in work.devices:
        yield labelled("", device_words(device), width=2)
    traced = f"{words.seconds(work.span)} were traced"
    yield paragraph(
        f"{traced}; {words.percent(work.coverage)} of kernels, copies and synchronisations carry "
        f"a line; shares are of the main thread's time"
    )
    yield Text()
    for line in work.lines[:LINES]:
        yield from line_view(line, work.span, report.sources, report.target.cwd)


class Shown(Protocol):
    """What a finding's view needs of the report that it is in."""

    @property
    def sources(self) -> Mapping[Path, Source]:
        """The program's files."""

    @property
    def target(self) -> Target:
        """The program."""


def advice_view(
    report: Shown, advice: Advice, *, evidence: bool = True
) -> Iterator[RenderableType]:
    """One mistake: where, what, what it costs, what to write instead."""
    mistake = advice.mistake
    file = advice.region.source.path
    place = f"{words.place(file, report.target.cwd)}:{mistake.line}"
    yield paragraph((place, "bold"), f" {advice.rule}: {mistake.what}")
    code = code_at(report.sources, file, mistake.line)
    if code:
        yield Hanging(Text("    "), python_lines(code)[0], 8)
    label = "measured" if mistake.measured else "not measured"
    if evidence:
        yield bullet(f"{label}: {mistake.evidence}")
    yield bullet(mistake.remedy)
    yield Text()


def device_words(device: DeviceSamples) -> str:
    """One line on a GPU during the run."""
    clocks = [s.clock for s in device.samples if s.clock]
    heat = max((s.temperature for s in device.samples if s.temperature is not None), default=None)
    parts = [device.name]
    if not device.samples:
        return f"{device.name}: the run was too short for a sample of NVML's"
    if device.mean_use is not None:
        count = f"NVML, {counted(len(device.samples), 'sample')}"
        parts.append(f"mean utilisation {device.mean_use:.0f} % ({count})")
    if device.peak_memory is not None:
        most = f"{words.size(device.peak_memory)} of {words.size(device.memory)}"
        parts.append(f"memory in use up to {most}")
    if device.peak_power is not None:
        degrees = "" if heat is None else f", {heat} degrees C"
        parts.append(f"up to {device.peak_power:.0f} W{degrees}")
    if clocks:
        parts.append(f"SM clock {min(clocks)}-{max(clocks)} MHz")
    return ", ".join(parts)


def line_view(
    work: LineWork, span: float, sources: Mapping[Path, Source], root: Path
) -> Iterator[RenderableType]:
    """One source line: place, code, and a sentence for each kind of work."""
    if work.place is None:
        yield paragraph(("before the script's first line, or in a thread without one", "bold"))
    else:
        file = Path(work.place.file)
        inside = work.place.function
        where = "at module level" if inside == "<module>" else f"in {inside}"
        share = f", {words.percent(work.host / span)} of the time" if work.host and span else ""
        yield paragraph(
            (f"{words.place(file, root)}:{work.place.line}", "bold"), f" {where}{share}"
        )
        code = code_at(sources, file, work.place.line)
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

"""The sweep on a terminal: a table for each condition, a plot, who leads where, the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..report import words
from ..report.layout import Hanging, bullet, paragraph
from .curves import Condition, Curves
from .parameters import Parameter
from .result import Result, flat_words, lead_words, verdict
from .versions import Kind

MARKS = {
    Kind.ORIGINAL: ("o", ""),
    Kind.NUMPY: ("n", "cyan"),
    Kind.NUMBA: ("j", "magenta"),
    Kind.PARALLEL: ("p", "red"),
    Kind.CUPY: ("c", "green"),
    Kind.CUDA: ("k", "bold green"),
}
"""A letter for each version, so that the plot needs no colour."""
HEIGHT, WIDTH = 14, 60


def render(result: Result, console: Console) -> None:
    """Print all of it."""
    for part in _sections(result, console.width):
        console.print(part)


def _sections(result: Result, width: int) -> Iterator[RenderableType]:
    yield Hanging(Text("gpuadvise crossover ", style="bold"), _program(result))
    yield paragraph(f"size: {described(result.parameter)}")
    if result.fixed:
        others = ", ".join(f"{p.name} = {p.value} ({p.where})" for p in result.fixed[:6])
        yield paragraph(f"kept as they are: {others}; --size NAME sweeps another one")
    for version in result.versions[1:]:
        yield paragraph(f"{version.kind}: {', '.join(version.rules)}")
    for kind, why in result.elsewhere.items():
        yield paragraph(f"{kind}: {why}")
    yield Text()
    if result.curves.sizes and len(result.versions) > 1:
        yield from _measured(result, width)
    partial = " (partial: a larger --budget would tell more)" if result.partial else ""
    yield paragraph((f"{verdict(result)}{partial}", "bold green"))


def _measured(result: Result, width: int) -> Iterator[RenderableType]:
    for condition in result.conditions:
        yield Text(_heading(result, condition), style="bold underline")
        yield table(result, condition)
        yield Text()
    shown = result.conditions[0]
    if len(result.curves.sizes) > 1:
        run = f"{str(shown).capitalize()}: seconds" if len(result.conditions) > 1 else "Seconds"
        yield Text(f"{run} by size", style="bold underline")
        yield from plot(result.curves, shown, min(WIDTH, width - 12))
        yield Text()
    yield from _remarks(result)
    for condition in result.conditions:
        label = f"{condition}: " if len(result.conditions) > 1 else ""
        yield paragraph((f"{label}{lead_words(result, condition)}", "bold"))


def _program(result: Result) -> Text:
    return Text(words.program(result.report.target))


def described(parameter: Parameter) -> str:
    """``"cells = 150, heat.py, line 50"``."""
    return f"{parameter.name} = {parameter.value}, {parameter.where}"


def _heading(result: Result, condition: Condition) -> str:
    if len(result.conditions) == 1:
        return "The whole program, seconds"
    kept = "compiled code is there" if condition is Condition.LATER else "nothing is compiled yet"
    return f"The whole program, {condition}: {kept}"


# -------------------------------------------------------------------- table
def table(result: Result, condition: Condition) -> Table:
    """Medians with half their range, sizes downwards; the fastest of each size is starred."""
    view = Table(result.parameter.name, box=None, pad_edge=False)
    for version in result.versions:
        view.add_column(str(version.kind), justify="right")
    for size in result.curves.sizes:
        best = result.curves.fastest(size, condition)
        cells = [_cell(result, kind.kind, size, condition, best) for kind in result.versions]
        mark = "  <- yours" if size == result.parameter.value else ""
        unchecked = " +" if size in result.unchecked else ""
        view.add_row(f"{size}{unchecked}{mark}", *cells)
    return view


def _cell(result: Result, kind: Kind, size: int, condition: Condition, best: Kind | None) -> Text:
    point = result.curves.rows[size].get(kind)
    times = point.times(condition) if point is not None else ()
    if not times:
        return Text("-")
    half = (max(times) - min(times)) / 2.0 / median(times)
    spread = f" ±{100 * half:.0f}%" if len(times) > 1 else " n=1"
    star = "*" if kind is best else " "
    return Text(f"{words.seconds(median(times))}{spread}{star}", "bold" if kind is best else "")


# --------------------------------------------------------------------- plot
def plot(curves: Curves, condition: Condition, width: int, height: int = HEIGHT) -> Iterator[Text]:
    """Times over sizes on logarithmic axes, one letter a version."""
    points = [
        (kind, size, seconds)
        for size in curves.sizes
        for kind in curves.rows[size]
        if (seconds := curves.seconds(kind, size, condition)) is not None
    ]
    if not points:
        return
    low, high = min(p[2] for p in points), max(p[2] for p in points)
    columns = _scale([p[1] for p in points], max(10, width))
    rows = _scale([p[2] for p in points], height)
    cells: dict[tuple[int, int], Kind] = {}
    for (kind, _, _), column, row in zip(points, columns, rows, strict=True):
        # Where two fall together the later version in the list, the more elaborate one, is seen.
        cells[height - 1 - row, column] = kind
    for row in range(height):
        label = words.seconds(high) if row == 0 else words.seconds(low) if row == height - 1 else ""
        line = Text(f"{label:>9} |")
        for column in range(max(columns) + 1):
            shown = cells.get((row, column))
            mark, style = MARKS[shown] if shown is not None else (" ", "")
            line.append(mark, style)
        line.rstrip()
        yield line
    yield Text(" " * 10 + "+" + "-" * (max(columns) + 1))
    ends = str(curves.sizes[0]), str(curves.sizes[-1])
    yield Text(" " * 11 + ends[0] + ends[1].rjust(max(1, max(columns) + 1 - len(ends[0]))))
    present = dict.fromkeys(kind for kind, _, _ in points)
    yield Text(" " * 11 + "   ".join(f"{MARKS[kind][0]} {kind}" for kind in present))


def _scale(values: Sequence[float], cells: int) -> list[int]:
    """Cell numbers on a logarithmic axis."""
    logs = [math.log(value) for value in values]
    low, span = min(logs), (max(logs) - min(logs)) or 1.0
    return [round((value - low) / span * (cells - 1)) for value in logs]


# ------------------------------------------------------------------ remarks
def _remarks(result: Result) -> Iterator[RenderableType]:
    remarks = [f"{kind} is out of the race: {why}" for kind, why in result.wrong.items()]
    for size in result.curves.sizes:
        for kind, point in result.curves.rows[size].items():
            if point.why and not point.first and kind not in result.wrong:
                remarks.append(f"{result.parameter.name} = {size}, {kind}: {point.why}")
    if result.unchecked.intersection(result.curves.sizes):
        remarks.append(
            "sizes with +: the versions were compared with one another, not the original"
        )
    if result.silent:
        remarks.append(
            "the program writes nothing: results were compared at your size only, on its states"
        )
    remarks += flat_words(result)
    remarks += result.report.notes[:4]
    for remark in remarks:
        yield bullet(remark)
    if remarks:
        yield Text()

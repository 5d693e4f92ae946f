"""The profile on a terminal: hot functions, and their lines with bars beside the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from ..model import FunctionTime, LineTime, Profile, Report, Source
from . import words
from .code import python_lines
from .layout import Hanging, paragraph

MIN_FUNCTION = 0.03
"""Functions below this share of the run are only counted: as hot-function detection does."""
MIN_LINE = 0.005
"""Lines from this share on are shown with a bar."""
CONTEXT = 1
"""Lines of code shown above and below such a line."""
MAX_FUNCTIONS = 8


@dataclass(frozen=True)
class Glyphs:
    """What bars are drawn with; different shapes, so that they need no colour."""

    python: str = "█"
    native: str = "▒"
    system: str = "░"


ASCII = Glyphs("#", "=", ".")
STYLES = ("magenta", "cyan", "")


def profile_view(report: Report, profile: Profile, width: int, glyphs: Glyphs) -> RenderableType:
    """The whole section; ``width`` columns are at hand."""
    ranked = sorted(profile.functions, key=lambda f: f.share, reverse=True)
    hot = [f for f in ranked if f.share >= MIN_FUNCTION] or ranked[:1]
    parts: list[RenderableType] = [paragraph(_legend(profile, glyphs)), Text()]
    bar = 10 if width < 100 else 20
    for function in hot[:MAX_FUNCTIONS]:
        parts.append(paragraph(_function_line(function, report)))
        source = report.sources.get(function.file)
        if source is not None:
            parts.append(_code(function, profile, source, bar, glyphs))
        parts.append(Text())
    others = ranked[len(hot[:MAX_FUNCTIONS]) :]
    if others:
        rest = words.percent(sum(f.share for f in others))
        named = f"{len(others)} other function{'s' * (len(others) > 1)}"
        parts += [Text(f"{named}: {rest} of {words.whole(profile)} together"), Text()]
    return Group(*parts)


def _legend(profile: Profile, glyphs: Glyphs) -> Text:
    text = Text.assemble(
        f"share of {words.whole(profile)}, as ",
        (glyphs.python, STYLES[0]),
        " Python ",
        (glyphs.native, STYLES[1]),
        f" native code {glyphs.system} waiting; {profile.method}",
    )
    if profile.partial:
        text.append("; the profiled run was cut short")
    return text


def _function_line(function: FunctionTime, report: Report) -> Text:
    name = "module level" if function.qualname == "<module>" else function.qualname
    file = words.place(function.file, report.target.cwd)
    shares = (function.python_share, function.native_share, function.system_share)
    split = ", ".join(
        f"{kind} {words.percent(share)}"
        for kind, share in zip(("Python", "native", "waiting"), shares, strict=True)
        if share >= 0.0005
    )
    return Text.assemble(
        (name, "bold"), f" ({file}, lines {function.first_line}-{function.last_line}): ", split
    )


def _code(
    function: FunctionTime, profile: Profile, source: Source, bar: int, glyphs: Glyphs
) -> RenderableType:
    """The function's hot lines and their neighbours; gaps are marked."""
    times = _own_lines(function, profile)
    shown = _shown_lines(function, times, len(source.lines))
    code = _coloured(source, shown)
    digits = len(str(shown[-1])) if shown else 0
    rows: list[RenderableType] = []
    previous = None
    for line in shown:
        if previous is not None and line > previous + 1:
            rows.append(Text("..."))
        entry = times.get(line)
        share = entry.share if entry is not None else 0.0
        label = words.percent(share) if share >= MIN_LINE else ""
        cells = _bar(entry, function, bar, glyphs) if entry is not None else Text()
        cells.pad_right(bar - cells.cell_len)
        head = Text.assemble(f"{line:{digits}} {label:>6} ", cells, " ")
        indent = len(source.lines[line - 1]) - len(source.lines[line - 1].lstrip())
        rows.append(Hanging(head, code[line], head.cell_len + indent + 8))
        previous = line
    return Group(*rows)


def _coloured(source: Source, shown: Sequence[int]) -> dict[int, Text]:
    """The lines to be shown, each run of neighbours coloured together.

    Not the whole file: ten thousand lines take seconds. A text in triple quotes that begins above
    is coloured as code.
    """
    code: dict[int, Text] = {}
    block: list[int] = []
    for line in (*shown, 0):
        if block and line != block[-1] + 1:
            text = "\n".join(source.lines[number - 1] for number in block)
            code |= zip(block, python_lines(text), strict=False)
            block = []
        block.append(line)
    return code


def _own_lines(function: FunctionTime, profile: Profile) -> dict[int, LineTime]:
    """The function's lines, without those of functions inside it: module level holds them all."""

    def inside(entry: LineTime, owner: FunctionTime) -> bool:
        same_file = entry.file == owner.file
        return same_file and owner.first_line <= entry.line <= owner.last_line

    smaller = [
        other
        for other in profile.functions
        if other.last_line - other.first_line < function.last_line - function.first_line
    ]
    return {
        entry.line: entry
        for entry in profile.lines
        if inside(entry, function) and not any(inside(entry, other) for other in smaller)
    }


def _shown_lines(function: FunctionTime, times: dict[int, LineTime], count: int) -> Sequence[int]:
    hot = [line for line, entry in times.items() if entry.share >= MIN_LINE and line <= count]
    near = {
        line + step
        for line in hot
        for step in range(-CONTEXT, CONTEXT + 1)
        if function.first_line <= line + step <= min(function.last_line, count)
    }
    # The def says whose lines these are.
    head = near and function.qualname != "<module>"
    return sorted(near | ({function.first_line} if head else set()))


def _bar(entry: LineTime, function: FunctionTime, width: int, glyphs: Glyphs) -> Text:
    """``width`` cells are the whole run; the parts are as sampled, else as in the function."""
    parts = (entry.python_share, entry.native_share, entry.system_share)
    if sum(parts) <= 0:
        parts = (function.python_share, function.native_share, function.system_share)
    total = sum(parts) or 1.0
    cells = round(min(1.0, entry.share) * width)
    if cells == 0 and entry.share >= MIN_LINE:
        cells = 1
    text = Text()
    for glyph, style, count in zip(
        (glyphs.python, glyphs.native, glyphs.system),
        STYLES,
        _split(cells, [part / total for part in parts]),
        strict=True,
    ):
        text.append(glyph * count, style)
    return text


def _split(cells: int, shares: Sequence[float]) -> Iterator[int]:
    """Cells for each share, adding up exactly."""
    done, reached = 0, 0.0
    for share in shares:
        reached += share
        upto = round(min(1.0, reached) * cells)
        yield upto - done
        done = upto

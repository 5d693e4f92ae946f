"""A line with a head and a body that wraps below itself, without padding at the right."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

_CONTROL = {code: "?" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
MIN_BODY = 20
"""The body keeps this many columns, however narrow the terminal is."""


@dataclass(frozen=True)
class Hanging:
    """``head`` and behind it ``body``, whose further lines start ``hang`` columns in.

    Nothing is cut and nothing is filled up with spaces, so that a report in a file is clean.
    """

    head: Text
    body: Text
    hang: int | None = None
    """Columns; None: the width of the head."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        hang = self.head.cell_len if self.hang is None else self.hang
        start = self.head.copy()
        for part in _harmless(self.body).split("\n", allow_blank=True) or [Text()]:
            rest: Text | None = part
            while rest is not None:
                room = max(MIN_BODY, options.max_width - start.cell_len)
                line, rest = _first_line(rest, room, console)
                start.append_text(line)
                start.rstrip()
                start.no_wrap, start.overflow = True, "ignore"
                yield start
                start = Text(" " * hang)


def _harmless(text: Text) -> Text:
    """A copy without what a terminal would obey: a script's output may hold escape sequences."""
    copy = text.copy()
    copy.plain = copy.plain.translate(_CONTROL)
    copy.expand_tabs(4)
    return copy


def _first_line(text: Text, room: int, console: Console) -> tuple[Text, Text | None]:
    """What fits into ``room`` columns, broken at a space if there is one, and the rest."""
    if text.cell_len <= room:
        return text, None
    indent = len(text.plain) - len(text.plain.lstrip())
    count = indent + len(text[indent:].wrap(console, max(1, room - indent), overflow="fold")[0])
    rest = text[count:]
    return text[:count], rest[len(rest.plain) - len(rest.plain.lstrip()) :]


def paragraph(*parts: str | Text | tuple[str, str]) -> Hanging:
    """Running text from the left edge; a part may come with its style."""
    return Hanging(Text(), Text.assemble(*parts))


def labelled(label: str, *parts: str | Text, width: int = 12) -> Hanging:
    """A row of a two-column list; the parts are joined by commas."""
    return Hanging(Text(f"  {label}".ljust(width) + " "), joined(", ", parts))


def bullet(text: str | Text) -> Hanging:
    """An item of a list."""
    return Hanging(Text("- "), text if isinstance(text, Text) else Text(text))


def joined(separator: str, parts: tuple[str | Text, ...]) -> Text:
    """The parts as one text with their styles."""
    text = Text()
    for number, part in enumerate(parts):
        text.append(separator if number else "")
        text.append(part)
    return text

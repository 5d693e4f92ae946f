"""Unified diffs that ``git apply`` and ``patch -p1`` take."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from .model import Source


def unified_diff(sources: Mapping[Path, Source], patched: Mapping[Path, bytes], root: Path) -> str:
    """One diff over all changed files, with ``a/`` and ``b/`` paths relative to ``root``.

    A file outside ``root`` appears under its absolute path (apply with ``-d /``). Write the text
    as UTF-8 with ``surrogateescape`` and without newline translation: line ends are the files'.
    """
    parts: list[str] = []
    for path in sorted(patched):
        parts += _file_diff(sources[path].data, patched[path], _shown(path, root))
    return "".join(parts)


def file_diff(old: bytes, new: bytes, context: int = 3) -> list[str]:
    """The hunks of one file as lines without their line ends, headers left out, for display."""
    lines = difflib.unified_diff(_lines(old), _lines(new), n=context, lineterm="\n")
    return [line.rstrip("\r\n") for line in lines][2:]


def _shown(path: Path, root: Path) -> str:
    relative = Path(os.path.relpath(path, root))
    if ".." in relative.parts:
        relative = path.absolute().relative_to(path.absolute().anchor)
    return relative.as_posix()


def _file_diff(old: bytes, new: bytes, name: str) -> Iterator[str]:
    lines = difflib.unified_diff(_lines(old), _lines(new), n=3, lineterm="\n")
    for number, line in enumerate(lines):
        if number < 2:
            yield f"{'---' if number == 0 else '+++'} {_quoted(('a/', 'b/')[number] + name)}\n"
        elif line.endswith("\n"):
            yield line
        else:
            yield f"{line}\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    # str.splitlines would also split at form feeds and U+2028, which are no line ends to patch.
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _quoted(name: str) -> str:
    """As git does: C-style quotes around control characters, a tab behind a name with spaces."""
    if any(c in '"\\' or ord(c) < 32 for c in name):
        special = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
        return (
            '"'
            + "".join(special.get(c, c if ord(c) >= 32 else f"\\{ord(c):03o}") for c in name)
            + '"'
        )
    return f"{name}\t" if " " in name else name

"""Byte-range edits of Python files: made here, checked here, applied to text here.

Everything outside an edit stays byte-equal. Nothing in this module touches the disk; ``undo.py``
writes.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .model import Edit, Source

BOM = b"\xef\xbb\xbf"


class PatchError(ValueError):
    """A file cannot be edited, or an edit would break it; the message is for the user."""


class Overlap(PatchError):
    """Two edits want the same bytes (or define the same new name)."""


# ------------------------------------------------------------------ applying
def apply_edits(source: Source, edits: Iterable[Edit]) -> bytes:
    """The file's new content.

    Identical edits count once; different insertions at one offset keep their order; an insertion
    at the start of a replaced range comes before it. Line ends of the new text become the file's.

    Raises:
        Overlap: two edits claim the same bytes.
        PatchError: the file is not UTF-8, an edit lies outside the file, or the result is not
            a Python program.
    """
    check_encoding(source)
    eol = line_end(source)
    parts: list[bytes] = []
    position = 0
    for edit in _ordered(source, edits):
        parts += [source.data[position : edit.start], _in_file(edit.text, eol)]
        position = edit.end
    parts.append(source.data[position:])
    result = b"".join(parts)
    _check_program(source, result)
    return result


def combine(source: Source, groups: Sequence[tuple[Edit, ...]]) -> bytes:
    """Apply the edits of several rewrites together.

    Raises Overlap where they collide: the same bytes, or one new top-level function name that
    two of them define (the later definition would silently replace the earlier one).
    """
    result = apply_edits(source, (edit for group in groups for edit in group))
    before, after = _definitions(source.tree), _definitions(_parse(result))
    for name, count in after.items():
        if count > 1 and count > before[name]:
            raise Overlap(f"{source.path.name}: two rewrites define {name!r}")
    return result


def composed(source: Source, first: Sequence[Edit], second: Sequence[Edit]) -> tuple[Edit, ...]:
    """Two steps of edits as one: ``second`` edits the text that ``first`` makes of the file.

    Raises PatchError as ``apply_edits`` does.
    """
    middle = Source(source.path, apply_edits(source, first))
    made = _made_ranges(source, first)
    later = [(edit.start, edit.end) for edit in _ordered(middle, second)]
    result = []
    for start, end in _joined([(m.start, m.end) for m in made] + later):
        edits = [
            Edit(e.start - start, e.end - start, e.text)
            for e in _ordered(middle, second)
            if start <= e.start and e.end <= end
        ]
        text = _spliced(middle.data[start:end], edits)
        before = sum(m.growth for m in made if m.end <= start and not start <= m.start)
        inside = sum(m.growth for m in made if start <= m.start and m.end <= end)
        result.append(Edit(start - before, end - before - inside, text))
    return tuple(result)


@dataclass(frozen=True)
class _Made:
    """A range of the text behind an edit."""

    start: int
    end: int
    growth: int


def _made_ranges(source: Source, edits: Sequence[Edit]) -> list[_Made]:
    eol, shift, found = line_end(source), 0, []
    for edit in _ordered(source, edits):
        size = len(_in_file(edit.text, eol))
        start, growth = edit.start + shift, size - (edit.end - edit.start)
        found.append(_Made(start, start + size, growth))
        shift += growth
    return found


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges, those that overlap or touch put together."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _spliced(data: bytes, edits: Sequence[Edit]) -> str:
    parts: list[bytes] = []
    position = 0
    for edit in edits:
        parts += [data[position : edit.start], edit.text.encode("utf-8")]
        position = edit.end
    return b"".join((*parts, data[position:])).decode("utf-8")


def _in_file(text: str, eol: str) -> bytes:
    """New text with the file's line ends."""
    return text.replace("\r\n", "\n").replace("\n", eol).encode("utf-8")


def _ordered(source: Source, edits: Iterable[Edit]) -> list[Edit]:
    """The edits by position, without duplicates, checked against each other and the file."""
    ordered = sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end))
    floor = len(BOM) if source.data.startswith(BOM) else 0
    for edit in ordered:
        if not floor <= edit.start <= edit.end <= len(source.data):
            raise PatchError(f"{source.path.name}: bytes {edit.start}-{edit.end} cannot be edited")
    for first, second in pairwise(ordered):
        if second.start < first.end:
            line = source.data.count(b"\n", 0, second.start) + 1
            raise Overlap(f"{source.path.name}, line {line}: two rewrites change the same code")
    return ordered


def _check_program(source: Source, data: bytes) -> None:
    with warnings.catch_warnings():
        # The user's own invalid escapes and `is 0` are none of our business here.
        warnings.simplefilter("ignore")
        try:
            compile(data, str(source.path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            message = f"{source.path.name}: the edited file would not compile: {error}"
            raise PatchError(message) from error


def _parse(data: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data)


def _definitions(tree: ast.Module) -> Counter[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return Counter(node.name for node in tree.body if isinstance(node, kinds))


def check_encoding(source: Source) -> None:
    """Raise PatchError unless the file is UTF-8, declared or by default.

    ``ast`` counts columns in UTF-8 bytes: in a Latin-1 file, ``é = 1; x = 2`` shifts them all.
    """
    name = source.path.name
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source.data).readline)
    except SyntaxError as error:
        raise PatchError(f"{name}: not valid UTF-8 ({error})") from error
    if encoding not in ("utf-8", "utf-8-sig"):
        raise PatchError(f"{name}: declared as {encoding}; only UTF-8 files are edited")
    try:
        source.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PatchError(f"{name}: not valid UTF-8 ({error})") from error


def line_end(source: Source) -> str:
    r"""The file's line end: ``"\n"``, ``"\r\n"`` or ``"\r"``, the most frequent one."""
    crlf = source.data.count(b"\r\n")
    counts = {
        "\n": source.data.count(b"\n") - crlf,
        "\r\n": crlf,
        "\r": source.data.count(b"\r") - crlf,
    }
    return max(counts, key=counts.__getitem__)

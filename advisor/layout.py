"""Indentation and comments: text moved or put into a file so that it looks at home there.

Generated text uses four spaces a level; ``replace_statement`` turns that into the file's own
indentation. Lines inside multi-line strings are never touched.
"""

from __future__ import annotations

import ast
import io
import tokenize
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .edits import PatchError, check_encoding
from .model import Edit, Source

LEVEL = "    "
"""One level of generated text."""


def indent_unit(source: Source) -> str:
    r"""What the file indents by: most often ``"    "``; the most frequent step wins."""
    steps: Counter[str] = Counter()
    stack = [""]
    for token in _tokens(_normal(source.data.decode("utf-8-sig", "replace"))):
        if token.type == tokenize.INDENT:
            if token.string.startswith(stack[-1]):
                steps[token.string[len(stack[-1]) :]] += 1
            stack.append(token.string)
        elif token.type == tokenize.DEDENT:
            stack.pop()
    return steps.most_common(1)[0][0] if steps else LEVEL


def replace_statement(
    source: Source, node: ast.stmt | Sequence[ast.stmt], new_text_lines: Sequence[str]
) -> Edit:
    """Replace one whole statement, or neighbours of one block, by new lines.

    ``new_text_lines`` start at column 0 and indent by four spaces a level; they get the
    statement's own indentation and the file's unit. Comments of the old text that the new text
    does not hold are put above it.

    Raises:
        PatchError: the statement shares its line with another one (``a = 1; b = 2``,
            ``if x: y = 1``), or the file is not UTF-8.
    """
    check_encoding(source)
    nodes = (node,) if isinstance(node, ast.stmt) else tuple(node)
    start, end = _whole_lines(source, nodes)
    prefix = _prefix(source, start)
    text = "\n".join(line for entry in new_text_lines for line in entry.split("\n"))
    kept = Counter(_comments(text))
    above = []
    for comment in comments_between(source, start, end):
        if kept[comment] > 0:
            kept[comment] -= 1
        else:
            above.append(comment)
    text = "\n".join((*above, text))
    text = _indented(text, prefix, _unit_at(source, nodes[0], prefix))
    return Edit(start, end, text[len(prefix) :])  # the first line's white space stays


def reindent(source: Source, node: ast.stmt | Sequence[ast.stmt], by: int = 1) -> str:
    """The statement's own text, comments included, ``by`` levels of four spaces to the right.

    For ``new_text_lines`` of ``replace_statement``: the block's levels are four spaces here and
    become the file's unit again there. Raises PatchError like it.
    """
    check_encoding(source)
    nodes = (node,) if isinstance(node, ast.stmt) else tuple(node)
    start, end = _whole_lines(source, nodes)
    prefix = _prefix(source, start)
    text = _normal(source.data[start:end].decode("utf-8"))
    return _indented(text, LEVEL * by, LEVEL, outer=prefix)


# ---------------------------------------------------------------- where it is
def _whole_lines(source: Source, nodes: tuple[ast.stmt, ...]) -> tuple[int, int]:
    """Byte range from the first node to the last one's end or the comment behind it."""
    first, last = nodes[0], nodes[-1]
    decorators = getattr(first, "decorator_list", [])
    line = min([first.lineno, *(d.lineno for d in decorators)])
    line_start = source.offset(line, 0)
    rest = source.data[line_start:]
    start = line_start + len(rest) - len(rest.lstrip(b" \t\f"))
    if not decorators and start != source.span(first)[0]:
        raise PatchError(f"line {first.lineno}: the statement shares its line with another one")
    end = source.span(last)[1]
    assert last.end_lineno is not None
    behind = source.data[end : source.line_starts[last.end_lineno]].rstrip(b"\r\n")
    text = behind.strip(b" \t\f")
    if text and not text.startswith(b"#"):
        raise PatchError(f"line {last.end_lineno}: the statement shares its line with another one")
    return start, end + (len(behind.rstrip(b" \t\f")) if text else 0)


def _prefix(source: Source, start: int) -> str:
    """The white space before a statement; a form feed starts the count anew."""
    line_start = max(source.data.rfind(b"\n", 0, start), source.data.rfind(b"\r", 0, start)) + 1
    text = source.data[line_start:start].decode("utf-8").lstrip("\ufeff")
    return text.rpartition("\f")[2]


def _unit_at(source: Source, node: ast.stmt, prefix: str) -> str:
    """What the statement indents its own body by, else the file's unit."""
    body: list[ast.stmt] = getattr(node, "body", [])
    if body and body[0].lineno > node.lineno:
        inner = _prefix(source, source.span(body[0])[0])
        if inner.startswith(prefix) and not inner.strip() and len(inner) > len(prefix):
            return inner[len(prefix) :]
    return indent_unit(source)


def comments_between(source: Source, start: int, end: int) -> Iterator[str]:
    """The comments that begin in a range of bytes."""
    text = _normal(source.data.decode("utf-8-sig"))
    lines = text.split("\n")
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            if start <= source.offset(row, len(lines[row - 1][:column].encode())) < end:
                yield token.string


def _comments(text: str) -> list[str]:
    return [token.string for token in _tokens(text) if token.type == tokenize.COMMENT]


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@lru_cache(maxsize=16)
def _tokens(text: str) -> tuple[tokenize.TokenInfo, ...]:
    try:
        return tuple(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError) as error:
        raise PatchError(f"not Python text: {error}") from error


# ------------------------------------------------------------ shifting blocks
@dataclass(frozen=True)
class _Logical:
    """A logical line: where it starts and how deep, the white space it has and will have."""

    row: int
    last_row: int
    old: str
    new: str


def _indented(text: str, prefix: str, unit: str, *, outer: str = "") -> str:
    """The block with ``prefix`` before every line and ``unit`` for each level.

    ``outer`` is the indentation that the lines after the first have in ``text`` already; a block
    with one cannot be tokenised alone, so it goes below an ``if``.
    """
    head = f"if 1:\n{outer}" if outer else ""
    tokens = _tokens(head + text)
    logical = _logical_lines(tokens, prefix, unit, base=1 if outer else 0)
    frozen = _inside_strings(tokens)
    lines = (head + text).split("\n")
    shifted = [
        line if row in frozen else _shifted(line, row, logical)
        for row, line in enumerate(lines, start=1)
    ]
    return "\n".join(shifted[1 if outer else 0 :])


def _logical_lines(
    tokens: Sequence[tokenize.TokenInfo], prefix: str, unit: str, base: int
) -> list[_Logical]:
    found: list[_Logical] = []
    stack = [""]
    first: int | None = None
    for token in tokens:
        match token.type:
            case tokenize.INDENT:
                stack.append(token.string)
            case tokenize.DEDENT:
                stack.pop()
            case tokenize.NL | tokenize.COMMENT | tokenize.ENDMARKER:
                pass
            case tokenize.NEWLINE:
                if first is not None and len(stack) > base:  # not the "if" put above the block
                    new = prefix + unit * (len(stack) - 1 - base)
                    found.append(_Logical(first, token.start[0], stack[-1], new))
                first = None
            case _:
                first = token.start[0] if first is None else first
    return found


def _shifted(line: str, row: int, logical: Sequence[_Logical]) -> str:
    """One physical line that is not inside a string."""
    if not line.strip():
        return ""
    at = bisect_right(logical, row, key=lambda entry: entry.row) - 1
    if at >= 0 and row <= logical[at].last_row:
        owner = logical[at]  # the logical line itself, or a continuation of it
    else:
        owner = _comment_owner(line, logical[at + 1 :], logical[: at + 1])
    if line.startswith(owner.old):
        return owner.new + line[len(owner.old) :]
    return owner.new + line.lstrip()


def _comment_owner(
    line: str, following: Sequence[_Logical], before: Sequence[_Logical]
) -> _Logical:
    """The code line a comment line belongs to by its indentation: the next, else one before."""
    blank = line[: len(line) - len(line.lstrip())]
    nearest = [*following[:1], *reversed(before)]
    for entry in nearest:
        if entry.old == blank:
            return entry
    return nearest[0] if nearest else _Logical(0, 0, "", "")


def _inside_strings(tokens: Sequence[tokenize.TokenInfo]) -> frozenset[int]:
    """Rows that begin inside a string; their white space is the program's data."""
    rows: set[int] = set()
    starts: list[int] = []
    for token in tokens:
        name = tokenize.tok_name[token.type]
        if name == "STRING":
            rows.update(range(token.start[0] + 1, token.end[0] + 1))
        elif name in ("FSTRING_START", "TSTRING_START"):
            starts.append(token.start[0])
        elif name in ("FSTRING_END", "TSTRING_END"):
            rows.update(range(starts.pop() + 1, token.end[0] + 1))
    return frozenset(rows)

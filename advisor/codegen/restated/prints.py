"""``print`` in a hot loop: what it shows is kept, and printed behind the loop in the same order.

``if step % 100 == 0: print(step, total)`` prevents nothing but that the loop is compiled. The
numbers go into lists; text and formats stay with ``print``.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...loopnest.scope import own_nodes
from ...model import Edit
from .appends import EMPTY
from .draft import Draft

_FORMATS = re.compile(r"%[-+ 0#]*\d*(?:\.\d+)?[feEgGsrd%]")
_SPEC = re.compile(r"(?:.?[<>=^])?[-+ ]?#?0?\d*[,_]?(?:\.\d+)?[feEgGd%]?")
_LATE = "what the loop prints appears when the loop has ended, all at once"


def without_prints(draft: Draft) -> Draft:
    """The draft in which the loop keeps what it prints; unchanged where that cannot be."""
    found = list(_prints(draft))
    shown = [list(_numbers(draft, call)) for _, call in found]
    if not found or not draft.is_builtin("print") or not draft.is_builtin("zip"):
        return draft
    if any(number is None for numbers in shown for number in numbers):
        return draft
    distinct = [{ast.dump(n): n for n in numbers if n}.values() for numbers in shown]
    return _Late(draft, found, [list(numbers) for numbers in distinct]).written()


def _prints(draft: Draft) -> Iterator[tuple[ast.Expr, ast.Call]]:
    nodes = [n for n in own_nodes(draft.loop) if isinstance(n, ast.Expr)]
    for node in sorted(nodes, key=lambda n: (n.lineno, n.col_offset)):
        match node.value:
            case ast.Call(func=ast.Name(id="print")) as call:
                yield node, call


def _numbers(draft: Draft, call: ast.Call) -> Iterator[ast.expr | None]:
    """The numbers that are shown, in order; None for what cannot be kept."""
    for argument in call.args:
        yield from _shown(draft, argument)
    for keyword in call.keywords:
        if keyword.arg not in ("end", "sep", "flush") or not _is_constant(keyword.value):
            yield None


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _shown(draft: Draft, node: ast.expr) -> Iterator[ast.expr | None]:
    match node:
        case ast.Constant():
            return
        case ast.JoinedStr(values=values):
            for value in values:
                yield from _shown(draft, value)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=spec):
            text = "" if spec is None else _text_of(spec)
            whole = text is not None and text.endswith("d")
            fits = text is not None and _SPEC.fullmatch(text) is not None
            yield value if fits and (not whole or _is_whole(draft, value)) else None
        case ast.BinOp(left=ast.Constant(value=str() as text), op=ast.Mod(), right=right):
            values = right.elts if isinstance(right, ast.Tuple) else [right]
            formats = [f for f in _FORMATS.findall(text) if f != "%%"]
            if len(formats) != len(values) or "%" in _FORMATS.sub("", text):
                yield None
                return
            for one, value in zip(formats, values, strict=True):
                yield value if not one.endswith("d") or _is_whole(draft, value) else None
        case ast.Call(func=ast.Name(id="round" | "int" | "float"), args=[inner, *_], keywords=[]):
            yield from _shown(draft, inner)
        case ast.Starred() | ast.FormattedValue() | ast.Lambda():
            yield None
        case _:
            yield node


def _text_of(spec: ast.expr) -> str | None:
    """A format that is written out; None for one that is computed."""
    match spec:
        case ast.JoinedStr(values=[ast.Constant(value=str() as text)]):
            return text
    return None


def _is_whole(draft: Draft, node: ast.expr) -> bool:
    """Whether a value is surely an int: ``%d`` of a NaN raises, and would do so too late."""
    if not isinstance(node, ast.Name):
        return False
    seen = draft.values.get(node.id)
    stores = [
        n
        for n in own_nodes(draft.loop)
        if isinstance(n, ast.Name) and n.id == node.id and not isinstance(n.ctx, ast.Load)
    ]
    if not stores:
        return seen is not None and seen.kind == "int"
    loops = [n for n in (draft.loop, *own_nodes(draft.loop)) if isinstance(n, ast.For)]
    counted = [n.target for n in loops if ast.unparse(n.iter).startswith("range(")]
    return all(any(store is target for target in counted) for store in stores)


class _Late:
    """The lists of what is shown, and the loop that shows it."""

    def __init__(
        self,
        draft: Draft,
        found: Sequence[tuple[ast.Expr, ast.Call]],
        shown: Sequence[Sequence[ast.expr]],
    ) -> None:
        self.draft = draft
        self.found = found
        self.shown = shown
        self.new: list[str] = []

    def _free(self, wanted: str) -> str:
        self.new.append(self.draft.free(wanted, *self.new))
        return self.new[-1]

    def written(self) -> Draft:
        """The draft behind the change."""
        draft = self.draft
        edits: list[Edit] = []
        lists: list[str] = []
        parts: list[tuple[list[str], list[str], str]] = []
        order = self._free("printed") if len(self.found) > 1 else ""
        for number, ((statement, call), values) in enumerate(
            zip(self.found, self.shown, strict=True)
        ):
            kept = [self._free(f"printed_{_hint(v)}") for v in values]
            names = [self._free(f"shown_{_hint(v)}") for v in values]
            appended = [f"{k}.append({ast.unparse(v)})" for k, v in zip(kept, values, strict=True)]
            if order:
                appended.append(f"{order}.append({number})")
            elif not values:
                kept = [self._free("printed")]
                names = [self._free("_")]
                appended = [f"{kept[0]}.append(0)"]
            edits += draft.instead(statement, appended)
            lists += kept
            parts.append((kept, names, self._renamed(call, values, names[: len(values)])))
        lists += [order] if order else []
        above = [f"{name} = []" for name in lists]
        last = self._in_order(order, parts) if order else _at_once(*parts[0])
        draft = draft.advanced(
            [*draft.above(draft.loop, above), *edits], dict.fromkeys(lists, EMPTY)
        )
        draft = draft.finally_(last)
        return replace(
            draft,
            names=draft.names | frozenset(self.new),
            differences=(*draft.differences, _LATE),
        )

    def _renamed(self, call: ast.Call, values: Sequence[ast.expr], names: Sequence[str]) -> str:
        """The call with new names for what it shows."""
        known = {ast.dump(v): n for v, n in zip(values, names, strict=True)}
        if any(isinstance(n, ast.JoinedStr) for n in ast.walk(call)):

            class _Rename(ast.NodeTransformer):
                def visit(self, node: ast.AST) -> ast.AST:
                    name = known.get(ast.dump(node))
                    return self.generic_visit(node) if name is None else ast.Name(name, ast.Load())

            # places inside of f-strings are not known to Python 3.11
            return ast.unparse(_Rename().visit(copy.deepcopy(call)))
        source = self.draft.source
        start, end = source.span(call)
        data = source.data[start:end]
        shown = [n for n in _numbers(self.draft, call) if n is not None]
        for first, last, name in sorted((*source.span(v), known[ast.dump(v)]) for v in shown)[::-1]:
            data = data[: first - start] + name.encode() + data[last - start :]
        return data.decode("utf-8")

    def _in_order(self, order: str, parts: Sequence[tuple[list[str], list[str], str]]) -> list[str]:
        """The lines that print, where there are several calls."""
        which = self._free("which")
        lines = []
        loop = [f"for {which} in {order}:"]
        for number, (kept, names, text) in enumerate(parts):
            loop.append(f"    {'el' if number else ''}if {which} == {number}:")
            if kept:
                rows = self._free("rows")
                lines.append(f"{rows} = zip({', '.join(kept)})")
                comma = "," if len(names) == 1 else ""
                loop.append(f"        {', '.join(names)}{comma} = next({rows})")
            loop += [f"        {line}" for line in text.splitlines()]
        return [*lines, *loop]


def _at_once(kept: Sequence[str], names: Sequence[str], text: str) -> list[str]:
    several = len(kept) > 1
    rows = f"zip({', '.join(kept)})" if several else kept[0]
    return [f"for {', '.join(names)} in {rows}:", *(f"    {line}" for line in text.splitlines())]


def _hint(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
    return "value"

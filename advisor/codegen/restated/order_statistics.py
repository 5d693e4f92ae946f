"""Places of short sorted windows: ``sorted(xs[i - 2 : i + 3])[2]``, ``np.median(image[..])``.

A window of a size that no iteration changes is written out: ``sorted((xs[i - 2], .., xs[i + 2]))``.
Of that arrays can be made: each of its elements is a part of the whole, and sorting is exchanging
neighbours. What is only seen to be constant (half a width) is tested above the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...loopnest.liveness import live_after
from ...loopnest.scope import own_nodes
from ...model import Edit
from ...names import import_edit
from .draft import Draft
from .unrolled import Unrolling

_MOST = 20
_MOST_ITEMS = 25
"""Larger windows take more exchanges than sorting them does."""


@dataclass(frozen=True)
class _Window:
    """A list or part of an array under a name, that only places of its order are read of."""

    name: str
    made: Sequence[ast.stmt]
    """The statements that make and sort it, one behind the other."""
    items: Sequence[ast.expr]
    is_sorted: bool
    found: Unrolling
    later: Sequence[ast.stmt]
    """The statements of the same block behind them."""


def with_written_windows(draft: Draft) -> Draft:
    """The draft with sorted windows written out; the same one where there are none."""
    for _ in range(_MOST):
        new = _without_name(draft) or _in_place(draft)
        if new is None:
            return draft
        draft = new
    return draft


# ------------------------------------------------------------------- under a name
def _without_name(draft: Draft) -> Draft | None:
    """The draft without the first window that has a name; None where no window has."""
    for block in _blocks(draft):
        for start in range(len(block)):
            window = _made(draft, block, start)
            uses = _uses(draft, window) if window is not None else None
            if window is not None and uses:
                return _replaced(draft, window, uses)
    return None


def _blocks(draft: Draft) -> Iterator[list[ast.stmt]]:
    for owner in (draft.loop, *own_nodes(draft.loop)):
        for field in ("body", "orelse"):
            block = getattr(owner, field, None)
            if isinstance(block, list):
                yield block


def _made(draft: Draft, block: Sequence[ast.stmt], start: int) -> _Window | None:
    """The window that the statements from a place on make."""
    found = Unrolling(draft, block[start])
    match block[start]:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])):
            loop = block[start + 1] if start + 1 < len(block) else None
            items = found.appended(loop, name) if isinstance(loop, ast.For) else None
            end, is_sorted = start + 2, False
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            inner = _sorted_items(draft, value)
            items = found.items(value if inner is None else inner)
            end, is_sorted = start + 1, inner is not None
        case _:
            return None
    if not items or len(items) > _MOST_ITEMS or (is_sorted and found.of_rows):
        return None
    window = _Window(name, block[start:end], items, is_sorted, found, block[end:])
    return window if is_sorted else _sorted_next(draft, window)


def _sorted_next(draft: Draft, window: _Window) -> _Window | None:
    """The window with the statement behind it where that sorts it; None if it cannot be."""
    if not window.later:
        return window
    following, *later = window.later
    made = (*window.made, following)
    match following:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="sort"), args=[], keywords=[]
            )
        ) if name == window.name:
            if window.found.of_array:
                return None  # the whole array would be sorted along
            return replace(window, made=made, is_sorted=True, later=later)
        case ast.Assign(targets=[ast.Name(id=other)], value=value):
            match _sorted_items(draft, value):
                case ast.Name(id=name) if name == window.name and not window.found.of_rows:
                    window.found.names |= {name}
                    return replace(window, name=other, made=made, is_sorted=True, later=later)
    return window


def _sorted_items(draft: Draft, node: ast.expr) -> ast.expr | None:
    """``items`` of ``sorted(items)``."""
    match node:
        case ast.Call(func=ast.Name(id="sorted"), args=[items], keywords=[]):
            starred = isinstance(items, ast.Starred)
            return items if draft.is_builtin("sorted") and not starred else None
    return None


def _occurs(draft: Draft, name: str) -> int:
    return _occurs_in([draft.loop], name)


def _occurs_in(nodes: Sequence[ast.AST], name: str) -> int:
    return sum(isinstance(n, ast.Name) and n.id == name for top in nodes for n in ast.walk(top))


def _uses(draft: Draft, window: _Window) -> list[tuple[ast.expr, str | int]] | None:
    """What is read of a window behind it: text, or a place of its order; None if it is more."""
    gone = window.found.names | {window.name}
    read = live_after(draft.source, draft.function, draft.loop)
    if read is None or gone & read:
        return None
    found: list[tuple[ast.expr, str | int]] = []
    for node in (n for s in window.later for n in ast.walk(s)):
        use = _use(draft, window, node) if isinstance(node, ast.expr) else None
        if use is not None:
            found.append(use)
    inside = sum(_occurs_in([node], window.name) for node, _ in found)
    for name in gone:
        own = _occurs_in(window.made, name) + (inside if name == window.name else 0)
        if own != _occurs(draft, name):
            return None
    return found


def _use(draft: Draft, window: _Window, node: ast.expr) -> tuple[ast.expr, str | int] | None:
    count = len(window.items)
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=index, ctx=ast.Load()) if (
            name == window.name and window.is_sorted
        ):
            return _place(window.found, node, _with_length(index, name, count), count)
        case ast.Subscript(value=ast.Call() as call, slice=index, ctx=ast.Load()):
            match _sorted_items(draft, call):
                case ast.Name(id=name) if name == window.name and not window.found.of_rows:
                    return _place(window.found, node, _with_length(index, name, count), count)
        case ast.Call() if (median := _median(draft, node)) is not None:
            function, items = median
            if isinstance(items, ast.Name) and items.id == window.name:
                text = _middle(draft, function, window.items)
                return None if text is None else (node, text)
    return None


def _with_length(index: ast.expr, name: str, count: int) -> ast.expr:
    """``len(window) // 2`` with the number in place of the call."""

    class _Known(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            match node:
                case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=found)]) if found == name:
                    return ast.copy_location(ast.Constant(count), node)
            return node

    changed = _Known().visit(ast.parse(ast.unparse(index), mode="eval").body)
    assert isinstance(changed, ast.expr)
    return changed


def _place(
    found: Unrolling, node: ast.expr, index: ast.expr, count: int
) -> tuple[ast.expr, int] | None:
    value = found.value(index)
    if type(value) is not int or not -count <= value < count:
        return None
    return node, value % count


def _replaced(draft: Draft, window: _Window, uses: Sequence[tuple[ast.expr, str | int]]) -> Draft:
    """The places as variables where the window was made."""
    texts = dict.fromkeys(what for _, what in uses)
    names: dict[str | int, str] = {}
    for what in texts:
        wanted = f"{window.name}_{what}" if isinstance(what, int) else f"{window.name}_middle"
        names[what] = draft.free(wanted, *names.values())
    lines = []
    for what, name in names.items():
        text = _at(window.items, what) if isinstance(what, int) else what
        lines.append(f"{name} = {text}")
    first, last = window.made[0], window.made[-1]
    edits = draft.instead(first, lines)
    rest = Edit(edits[0].start, draft.source.span(last)[1], edits[0].text)
    put = [Edit(*draft.source.span(node), names[what]) for node, what in uses]
    draft = window.found.asked(draft.advanced([rest, *put]))
    return replace(draft, names=draft.names | frozenset(names.values()))


def _at(items: Sequence[ast.expr], place: int) -> str:
    return f"sorted(({', '.join(map(ast.unparse, items))}))[{place}]"


# ----------------------------------------------------------------------- in place
def _in_place(draft: Draft) -> Draft | None:
    """The draft with the first window that stands in an expression written out."""
    for statement in own_nodes(draft.loop):
        if not isinstance(statement, ast.stmt):
            continue
        for node in _own_expressions(statement):
            found = Unrolling(draft, statement)
            text = _written(draft, found, node)
            if text is not None:
                edit = Edit(*draft.source.span(node), text)
                return found.asked(draft.advanced([edit]))
    return None


def _own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement, without those of statements inside."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield from (n for n in ast.walk(child) if isinstance(n, ast.expr))


def _written(draft: Draft, found: Unrolling, node: ast.expr) -> str | None:
    match node:
        case ast.Subscript(value=ast.Call() as call, slice=index, ctx=ast.Load()):
            inner = _sorted_items(draft, call)
            if inner is None or isinstance(inner, ast.Tuple | ast.List | ast.Name):
                return None
            items = found.items(inner)
            if not items or len(items) > _MOST_ITEMS or found.of_rows:
                return None
            place = _place(found, node, index, len(items))
            return None if place is None else _at(items, place[1])
        case ast.Call() if (median := _median(draft, node)) is not None:
            function, inner = median
            items = None if isinstance(inner, ast.Name) else found.items(inner)
            if not items or len(items) > _MOST_ITEMS:
                return None
            return _middle(draft, function, items)
    return None


def _median(draft: Draft, node: ast.Call) -> tuple[str, ast.expr] | None:
    """The module whose ``median`` is called, and of what."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=owner), attr="median"), args=[items], keywords=[]
        ) if not isinstance(items, ast.Starred):
            for module, short in (("numpy", "np"), ("statistics", "statistics")):
                name, edit = import_edit(draft.source, module, short)
                if edit is None and name == owner:
                    return module, items
    return None


def _middle(draft: Draft, module: str, items: Sequence[ast.expr]) -> str | None:
    """What ``median`` gives; None where its type is not known."""
    half, odd = divmod(len(items), 2)
    if module == "statistics":
        return _at(items, half) if odd else None
    if not all(_is_double(draft, item) for item in items):
        return None  # of float32 the median is one, too
    name = import_edit(draft.source, "numpy", "np")[0]
    if odd:
        return f"{name}.float64({_at(items, half)})"
    low, high = (f"{name}.float64({_at(items, k)})" for k in (half - 1, half))
    return f"(({low} + {high}) / 2)"


def _is_double(draft: Draft, item: ast.expr) -> bool:
    """Whether a number is an integer or a double: an element of what was seen to hold them."""
    match item:
        case ast.Subscript(value=value):
            while isinstance(value, ast.Subscript):
                value = value.value
            seen = draft.values.get(ast.unparse(value))
            if seen is None:
                return False
            if seen.kind == "ndarray":
                return (seen.dtype or "").startswith(("int", "uint", "float64"))
            return seen.element is not None and seen.element.kind in ("int", "float")
    return False

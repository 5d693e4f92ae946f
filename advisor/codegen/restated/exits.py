"""Ways out of a loop, ``return``, ``raise`` and ``else``, as flags and ``break``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...model import Edit
from ..nb_values import Unsupported
from .draft import Draft, Loop, constant_info

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


# ------------------------------------------------------------------ for ... else
def without_else(draft: Draft) -> Draft:
    """``else`` of the loop, and of those inside it, as an ``if`` on a flag that ``break`` sets."""
    while (loop := next(_with_else(draft.loop), None)) is not None:
        draft = _else_as_flag(draft, loop)
    return draft


def _with_else(root: ast.stmt) -> Iterator[Loop]:
    for node in ast.walk(root):
        if isinstance(node, ast.For | ast.While) and node.orelse:
            yield node


def _else_as_flag(draft: Draft, loop: Loop) -> Draft:
    flag = draft.free("ended_early")
    edits: list[Edit] = [*draft.above(loop, [f"{flag} = False"])]
    for node in _breaks_of(loop.body):
        edits += draft.instead(node, [f"{flag} = True", "break"])
    start, end = draft.source.span(loop.body[-1])[1], draft.source.span(loop.orelse[0])[0]
    between = draft.source.data[start:end]
    at = between.rfind(b"else")
    if at < 0 or b"else" in between[:at] or b"#" in between[at:]:
        raise Unsupported("comments between a loop and its else", loop.lineno)
    edits.append(Edit(start + at, start + at + len("else"), f"if not {flag}"))
    return draft.advanced(edits, {flag: constant_info(False)})


def _breaks_of(body: list[ast.stmt]) -> Iterator[ast.Break]:
    """The ``break`` statements of a loop itself, not those of loops inside it."""
    for node in body:
        if isinstance(node, ast.Break):
            yield node
        elif isinstance(node, ast.For | ast.While):
            yield from _breaks_of(node.orelse)
        else:
            for field in ("body", "orelse", "finalbody"):
                yield from _breaks_of(getattr(node, field, []))


# ------------------------------------------------------------- return and raise
def without_returns(draft: Draft) -> Draft:
    """``return`` as a flag and ``break``; what is returned is computed behind the loop.

    Nothing runs between the two places, so the names in it have the values they had. ``raise``
    and ``min(())``, which raises, likewise.
    """
    found = list(_leaving(draft.loop))
    if not found:
        return draft
    texts = list(dict.fromkeys(_text(draft, node) for node, _ in found))
    flag = draft.free("returned")
    edits: list[Edit] = [*draft.above(draft.loop, [f"{flag} = {0 if texts[1:] else False}"])]
    around: dict[ast.stmt, None] = {}
    for node, loops in found:
        mark = texts.index(_text(draft, node)) + 1 if texts[1:] else True
        edits += draft.instead(node, [f"{flag} = {mark}", "break"])
        around |= dict.fromkeys(reversed(loops))
    # innermost first: two loops may end at one place
    for loop in sorted(around, key=lambda one: -one.lineno):
        edits += draft.below(loop, [f"if {flag}:", "    break"])
    last: list[str] = []
    for number, text in enumerate(texts, start=1):
        last += [f"if {flag} == {number}:" if texts[1:] else f"if {flag}:", f"    {text}"]
    edits += draft.below(draft.loop, last)
    return draft.advanced(edits, {flag: constant_info(0 if texts[1:] else False)})


def _text(draft: Draft, node: ast.stmt) -> str:
    text = draft.source.text(node)
    if "\n" in text:
        return ast.unparse(node)
    return text


def _leaving(root: Loop) -> Iterator[tuple[ast.stmt, list[ast.stmt]]]:
    """Each statement that leaves all loops, with the loops inside the root around it."""

    def walk(node: ast.AST, loops: list[ast.stmt]) -> Iterator[tuple[ast.stmt, list[ast.stmt]]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt) and _leaves(child):
                yield child, loops
            elif isinstance(child, ast.For | ast.While):
                yield from walk(child, [*loops, child])
            elif not isinstance(child, _SCOPES):
                yield from walk(child, loops)

    yield from walk(root, [])


def _leaves(node: ast.stmt) -> bool:
    match node:
        case ast.Return() | ast.Raise():
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="min" | "max"), args=[ast.Tuple(elts=[])])):
            return True
    return False

"""Variables that are read behind a loop which may have left them without a value.

``for rounds in range(1, most): ..`` and ``print(rounds)`` below: compiled code hands a number back
in any case. Where the loop surely gives it one if it runs at all, that it runs is asked before it;
else a flag says whether it did, and behind the loop the name is deleted again if not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ...loopnest.definite import bound_before, bound_by_one_trip
from ...loopnest.ir import Nest
from ...loopnest.liveness import live_after, read_before_assigned
from ...loopnest.scope import own_nodes
from ...model import Basis, Condition, Edit, ValueInfo
from .draft import Draft, Loop, constant_info
from .generators import is_calm
from .starts import start_of

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)


def with_ends(draft: Draft, nest: Nest) -> Draft:
    """The draft in which every variable that is read behind the loop has a value there."""
    starts = {name: start_of(nest, name) for name in _read_unbound(draft, nest)}
    wanted = {name: start for name, start in starts.items() if start is not None}
    names = [n for n in wanted if not _seen_elsewhere(draft, n)]
    if not names or _is_tried(draft, frozenset(names)):
        return draft
    trip = trip_test(draft)
    sure = bound_by_one_trip(draft.loop) if trip else frozenset[str]()
    asked = [n for n in names if n in sure]
    flagged = [n for n in names if n not in sure and _is_bound_here_only(draft, n)]
    lines = [f"{name} = {wanted[name]!r}" for name in (*asked, *flagged)]
    values = {name: constant_info(wanted[name]) for name in (*asked, *flagged)}
    edits, last = _flags(draft, flagged, lines, values)
    edits = [*draft.above(draft.loop, lines), *edits, *draft.below(draft.loop, last)]
    draft = draft.advanced(edits, values)
    if asked and trip:
        text = "the loop runs at least once"
        draft = draft.asking(trip, Condition(text, Basis.OBSERVED, guarded=True, test=trip))
    return draft


def _read_unbound(draft: Draft, nest: Nest) -> list[str]:
    """Variables that only the loop gives a value, and that are read behind it."""
    known = bound_before(draft.source, draft.function, draft.loop)
    read = live_after(draft.source, draft.function, draft.loop)
    if known is None or read is None:
        return []
    names = (nest.live_out & read) - known - read_before_assigned(draft.loop)
    return [n for n in sorted(names) if n.isidentifier()]


def _seen_elsewhere(draft: Draft, name: str) -> bool:
    """Whether the name was seen at the loop's entry, or other functions may look at it."""
    scope = draft.function or draft.source.tree
    nested = (node for node in own_nodes(scope) if isinstance(node, _NESTED))
    return name in draft.values or any(
        isinstance(n, ast.Name) and n.id == name for node in nested for n in ast.walk(node)
    )


def _is_tried(draft: Draft, names: frozenset[str]) -> bool:
    """Whether somebody may read the names in the same scope behind an exception of the loop."""
    for node in own_nodes(draft.function or draft.source.tree):
        if not isinstance(node, ast.Try | ast.TryStar | ast.With):
            continue
        if not any(inner is draft.loop for inner in ast.walk(node)):
            continue
        if isinstance(node, ast.With) or node.handlers:
            return True
        last = [n for statement in node.finalbody for n in ast.walk(statement)]
        if any(isinstance(n, ast.Name) and n.id in names for n in last):
            return True
    return False


def trip_test(draft: Draft) -> str:
    """A test that holds if the loop runs at all; empty if there is none."""
    if isinstance(draft.loop, ast.While):
        return ast.unparse(draft.loop.test) if _is_calm_test(draft.loop.test) else ""
    match draft.loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]) if _is_plain(stop):
            return f"{ast.unparse(stop)} > 0"
        case ast.Call(func=ast.Name(id="range"), args=[start, stop], keywords=[]) if _is_plain(
            start
        ) and _is_plain(stop):
            return f"{ast.unparse(start)} < {ast.unparse(stop)}"
        case ast.Name(id=name) if draft.values.get(name, _NONE).kind in ("list", "tuple"):
            return f"len({name}) > 0"
    return ""


_NONE = ValueInfo("none", "builtins.NoneType")


def _is_calm_test(node: ast.expr) -> bool:
    """``t < end``: asked once more, it says the same."""
    match node:
        case ast.Compare(left=left, comparators=[right]):
            return _is_plain(left) and _is_plain(right)
    return False


def _is_plain(node: ast.expr) -> bool:
    """Numbers that are the same when the loop asks for them."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name()], keywords=[]):
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return _is_plain(left) and _is_plain(right)
    return is_calm(node)


# ---------------------------------------------------------------------- flags
def _is_bound_here_only(draft: Draft, name: str) -> bool:
    """Whether the name cannot have an older value: ``for run in runs: for x in xs: best = x``."""
    scope = draft.function or draft.source.tree
    inside = set(map(id, ast.walk(draft.loop)))
    nodes = list(own_nodes(scope))
    stored = (n for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    if any(n.id == name and id(n) not in inside for n in stored):
        return False
    loops = (n for n in nodes if isinstance(n, ast.For | ast.While) and id(n) not in inside)
    if any(inner is draft.loop for loop in loops for inner in ast.walk(loop)):
        return False
    binding = [n for _, targets in _bindings(draft.loop) for n in targets if n.id == name]
    every = [n for n in own_nodes(draft.loop) if isinstance(n, ast.Name) and n.id == name]
    if isinstance(draft.loop, ast.For):
        every += [n for n in ast.walk(draft.loop.target) if isinstance(n, ast.Name)]
    stores = {id(n) for n in every if n.id == name and not isinstance(n.ctx, ast.Load)}
    return stores == set(map(id, binding))


def _bindings(loop: Loop) -> Iterator[tuple[ast.stmt, list[ast.Name]]]:
    """Statements of the loop that give names values, itself among them."""
    for node in (loop, *own_nodes(loop)):
        targets: Sequence[ast.expr] = ()
        match node:
            case ast.Assign():
                targets = node.targets
            case ast.AugAssign(target=target) | ast.For(target=target):
                targets = [target]
            case ast.AnnAssign(target=target, value=ast.expr()):
                targets = [target]
        if targets and isinstance(node, ast.stmt):
            names = [n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            yield node, [n for n in names if isinstance(n.ctx, ast.Store)]


def _flags(
    draft: Draft, names: Sequence[str], lines: list[str], values: dict[str, ValueInfo]
) -> tuple[list[Edit], list[str]]:
    """Edits that note what got a value, and the lines below the loop that ask for it.

    Names that get theirs side by side share a flag. ``lines``, the ones above the loop, and
    ``values`` grow by the flags.
    """
    ends = _ends_of_runs(draft.loop)
    places: dict[tuple[ast.stmt, ...], list[str]] = {}
    for name in names:
        found = [node for node, given in _bindings(draft.loop) if name in {n.id for n in given}]
        where = dict.fromkeys(ends.get(node, node) for node in found)
        places.setdefault(tuple(where), []).append(name)
    edits: list[Edit] = []
    last: list[str] = []
    for nodes, same in places.items():
        flag = draft.free(f"has_{same[0]}", *values)
        lines.append(f"{flag} = False")
        values[flag] = constant_info(False)
        for node in nodes:
            set_ = [f"{flag} = True"]
            if isinstance(node, ast.For):
                edits += draft.above(node.body[0], set_)
            else:
                edits += draft.below(node, set_)
        last += [f"if not {flag}:", f"    del {', '.join(same)}"]
    return edits, last


def _ends_of_runs(loop: Loop) -> dict[ast.stmt, ast.stmt]:
    """For each assignment the last one of those that follow it at once: all of them run."""
    found: dict[ast.stmt, ast.stmt] = {}
    for owner in (loop, *own_nodes(loop)):
        for field in ("body", "orelse"):
            block = getattr(owner, field, None)
            following: ast.stmt | None = None
            for node in reversed(block if isinstance(block, list) else []):
                following = (following or node) if isinstance(node, ast.Assign) else None
                if following is not None:
                    found[node] = following
    return found

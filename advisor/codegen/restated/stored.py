"""Lists that get one element in every iteration, as arrays that are stored to.

``means.append(total / window)`` once an iteration is ``means_new[i - first] = total / window``:
iterations of that do not depend on each other. Behind the loop the list gets what was stored.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from ...loopnest.ir import Kind, Nest, Scalar
from ...loopnest.scope import dotted, own_nodes
from ...model import Edit, ValueInfo
from ...names import import_edit
from .appends import EMPTY
from .bounds import added, linear, spelled
from .draft import Draft

DTYPES = {Kind.FLOAT: "float64", Kind.INT: "int64", Kind.BOOL: "bool"}


@dataclass(frozen=True)
class Stored:
    """The draft with arrays, and what hands their elements to the lists."""

    draft: Draft
    tests: tuple[str, ...]
    ahead: tuple[str, ...]
    """Lines that make the arrays; the draft has them, too."""
    behind: tuple[str, ...]
    made: frozenset[str]


@dataclass(frozen=True)
class _Counter:
    """What numbers the iterations from 0 on, how many there are, and the loop's new head."""

    position: str
    count: str
    edits: tuple[Edit, ...] = ()


def with_stores(draft: Draft) -> Stored | None:
    """The draft with an array for each list that every iteration appends to; None without one."""
    appended = _appended(draft)
    counter = counter_of(draft) if appended else None
    nest = draft.restated().nest if counter else None
    if counter is None or not isinstance(nest, Nest):
        return None
    types = {name: element_of(nest, name) for name in appended}
    if None in types.values() or nest.grown - set(appended):
        return None
    numpy, import_ = import_edit(draft.source, "numpy", "np")
    names = {name: draft.free(f"{name}_new") for name in appended}
    if len(set(names.values())) < len(names):
        return None
    lines, values, edits = [], {}, list(counter.edits)
    for name, calls in appended.items():
        type_ = types[name]
        assert type_ is not None
        dtype = DTYPES[type_.kind]
        given = "" if dtype == "float64" else f", dtype={dtype if dtype == 'bool' else 'int'}"
        lines.append(f"{names[name]} = {numpy}.empty({counter.count}{given})")
        values[names[name]] = array_info(dtype)
        for call in calls:
            text = draft.source.text(call.args[0])
            store = f"{names[name]}[{counter.position}] = {text}"
            edits.append(Edit(*draft.source.span(call), store))
    made = frozenset(names.values())
    new = draft.advanced([*draft.above(draft.loop, lines), *edits], values, gone=appended)
    new = replace(new, names=new.names | made).importing(import_)
    behind = tuple(f"{name}.extend({array}.tolist())" for name, array in names.items())
    return Stored(new, tuple(tests_of(draft, list(appended))), tuple(lines), behind, made)


def array_info(dtype: str, ndim: int = 1) -> ValueInfo:
    """What is known of an array that new code makes."""
    return ValueInfo(
        "ndarray",
        "numpy.ndarray",
        dtype=dtype,
        ndim=ndim,
        shape=(None,) * ndim,
        c_contiguous=True,
        writeable=True,
    )


def tests_of(draft: Draft, names: Sequence[str]) -> list[str]:
    """Those that may be older are lists, and none of them is another one or what the loop reads."""
    older = [name for name in names if not _is_made_above(draft, name)]
    read = {dotted(n) for n in ast.walk(draft.loop) if isinstance(n, ast.Name | ast.Attribute)}
    lists = [p for p, seen in draft.values.items() if p in read and seen.kind == "list"]
    others = [path for path in lists if path not in names]
    pairs = [*combinations(older, 2), *product(older, others)]
    return [f"type({name}) is list" for name in older] + [f"{a} is not {b}" for a, b in pairs]


def _is_made_above(draft: Draft, name: str) -> bool:
    """``found = []`` in the same block, and nothing looks at it before the loop."""
    block = next((b for b in _blocks(draft) if draft.loop in b), [])
    above = block[: block.index(draft.loop)] if block else []
    for place, statement in enumerate(above):
        if isinstance(statement, ast.Assign) and _makes(statement, name):
            between = [n for later in above[place + 1 :] for n in ast.walk(later)]
            return not any(isinstance(n, ast.Name) and n.id == name for n in between)
    return False


def _blocks(draft: Draft) -> Iterator[list[ast.stmt]]:
    for owner in ast.walk(draft.function or draft.source.tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(owner, field, None)
            if isinstance(block, list):
                yield block


def _makes(statement: ast.Assign, name: str) -> bool:
    """Whether it gives the name, and only the name, a new empty list."""
    for target in statement.targets:
        match target, statement.value:
            case ast.Name(id=found), ast.List(elts=[]):
                if found == name:
                    return len(statement.targets) == 1
            case ast.Tuple(elts=left), ast.Tuple(elts=right) if len(left) == len(right):
                for one, value in zip(left, right, strict=True):
                    if isinstance(one, ast.Name) and one.id == name:
                        return isinstance(value, ast.List) and not value.elts
    return False


def element_of(nest: Nest, name: str) -> Scalar | None:
    """Type of what is appended: plain Python numbers of one kind; None for anything else."""
    info = nest.arrays.get(name)
    if info is None or not info.element.is_python or info.element.kind not in DTYPES:
        return None
    if name in nest.text:  # characters, which a nest has as numbers
        return None
    return info.element


def _appended(draft: Draft) -> dict[str, list[ast.Call]]:
    """Lists that each iteration appends one element to -> the calls; no other use of them."""
    loop = draft.loop
    if not isinstance(loop, ast.For) or leaves_early(loop):
        return {}
    found: dict[str, list[ast.Call]] = {}
    for name in dict.fromkeys(n for s in ast.walk(loop) if (n := grown_list(s)) is not None):
        calls = appended_once(loop.body, name)
        uses = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
        seen = draft.values.get(name)
        aliases = draft.region.observation.aliases if draft.region.observation else ()
        plain = seen is None or seen.type_name == EMPTY.type_name
        if calls is None or len(uses) != len(calls) or not plain:
            return {}
        if any(name in pair for pair in aliases):
            return {}
        found[name] = calls
    return found


def grown_list(node: ast.AST) -> str | None:
    """The list that a statement appends one element to."""
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[one], keywords=[]
            )
        ) if not isinstance(one, ast.Starred):
            return name
    return None


def appended_once(block: Sequence[ast.stmt], name: str) -> list[ast.Call] | None:
    """The calls of which every way through the block comes to one; None if some do not."""
    found: list[ast.Call] | None = None
    for statement in block:
        calls = None
        if grown_list(statement) == name:
            assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
            calls = [statement.value]
        elif isinstance(statement, ast.If):
            then, other = appended_once(statement.body, name), appended_once(statement.orelse, name)
            calls = None if then is None or other is None else [*then, *other]
        if calls is not None and found is not None:
            return None
        found = calls or found
    return found


def leaves_early(loop: ast.For) -> bool:
    """Whether an iteration may end before its last statement."""
    inner = {id(n) for s in own_nodes(loop) if isinstance(s, ast.For | ast.While) for n in _own(s)}
    for node in own_nodes(loop):
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await):
            return True
        if isinstance(node, ast.Break | ast.Continue) and id(node) not in inner:
            return True
    return bool(loop.orelse)


def _own(loop: ast.For | ast.While) -> list[ast.AST]:
    return [n for s in loop.body for n in ast.walk(s)]


# ------------------------------------------------------------------ iterations
def counter_of(draft: Draft) -> _Counter | None:
    """How the iterations are numbered; None where nothing tells before the loop."""
    loop = draft.loop
    assert isinstance(loop, ast.For)
    stores = [
        n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    match loop.target, loop.iter:
        case ast.Name(id=name), ast.Call(
            func=ast.Name(id="range"), args=[_] | [_, _] as args, keywords=[]
        ) if stores.count(name) == 1 and all(map(_is_sum, args)):
            if any(_names(a) & set(stores) for a in args):
                return None
            low = linear(args[0]) if len(args) > 1 else {}
            count = spelled(added(linear(args[-1]), low, -1))
            return _Counter(spelled(added({name: 1}, low, -1)), f"max({count}, 0)")
        case ast.Name(id=name), ast.Call(
            func=ast.Name(id="range"), args=[start, stop, step], keywords=[]
        ) if stores.count(name) == 1 and _is_sum(start) and _is_sum(stop):
            if linear(step) != {"": -1} or (_names(start) | _names(stop)) & set(stores):
                return None
            count = spelled(added(linear(start), linear(stop), -1))
            return _Counter(spelled(added(linear(start), {name: 1}, -1)), f"max({count}, 0)")
        case ast.Tuple(elts=[ast.Name(id=name), _]), ast.Call(
            func=ast.Name(id="enumerate"), args=[ast.Name(id=over)], keywords=[]
        ) if stores.count(name) == 1 and over not in stores:
            return _Counter(name, f"len({over})")
        case target, ast.Name(id=over) if over not in stores:
            return _numbered(draft, target, f"len({over})")
        case target, ast.Call(func=ast.Name(id="zip"), args=[_, _, *_] as args, keywords=[]):
            names = [a.id for a in args if isinstance(a, ast.Name) and a.id not in stores]
            if len(names) == len(args):
                lengths = dict.fromkeys(f"len({name})" for name in names)
                least = ", ".join(lengths)
                return _numbered(draft, target, f"min({least})" if len(lengths) > 1 else least)
    return None


def _numbered(draft: Draft, target: ast.expr, count: str) -> _Counter:
    """``for number, x in enumerate(xs)``."""
    assert isinstance(draft.loop, ast.For)
    number = draft.free("number")
    head, whole = draft.source.span(target), draft.source.text(target)
    shown = f"({whole})" if isinstance(target, ast.Tuple) and whole[0] != "(" else whole
    over = draft.source.text(draft.loop.iter)
    edits = (
        Edit(*head, f"{number}, {shown}"),
        Edit(*draft.source.span(draft.loop.iter), f"enumerate({over})"),
    )
    return _Counter(number, count, edits)


def _is_sum(node: ast.expr) -> bool:
    """Sums and differences of names, whole numbers and lengths of names."""
    match node:
        case ast.Name():
            return True
        case ast.Constant(value=value):
            return type(value) is int
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
            return type(value) is int
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _is_sum(left) and _is_sum(right)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name()], keywords=[]):
            return True
    return False


def _names(node: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}

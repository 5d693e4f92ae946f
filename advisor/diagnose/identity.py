"""Does the program look at which object a number is that a loop was given and hands on?

A list that went through an array holds equal numbers in other objects. Nobody can tell, but by
``is`` and ``id()``, and by what takes an object to be equal to itself without asking: NaN is in a
list, or a key of a dict, only if it is the very object. ::

    for x in xs:
        if x > low or x != x:
            kept.append(x)
    print(nan in kept, kept == xs, Counter(kept))
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from ..model import Refusal, Region, ValueInfo

_ARRAYS = frozenset({"ndarray", "bytearray"})
_GROW = frozenset({"append", "insert", "extend", "appendleft"})
_SEARCH = frozenset({"count", "index", "remove"})
_KEYED = frozenset({"get", "add", "discard", "setdefault", "pop"})
_HASHED = frozenset({"set", "frozenset", "Counter", "fromkeys"})
_CHOOSE = frozenset({"min", "max"})


@dataclass(frozen=True)
class _Held:
    """What holds numbers that the loop was given: names, and attributes with a dot in front."""

    numbers: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """Both."""
        return self.numbers | self.lists


def objection(region: Region) -> Refusal | None:
    """Why the loop's numbers must stay the same objects; None if nobody would notice."""
    every, floats = _results(region, _given), _results(region, _may_be_float)
    # ``assert result == sorted(data)`` is common, and NaN in what is sorted is not.
    whole = _results(region, _had_nan)
    if not every.all:
        return None
    same = floats.lists | _sources(region)
    inside = set(ast.walk(region.loop))
    for node in region.source.nodes:
        if node in inside:
            continue
        told_apart = _asks_for_the_object(node, every.all) or _finds_nan(node, floats)
        whole_lists = _compares_lists(node, whole.lists) or _compares_copies(node, floats, same)
        if told_apart or whole_lists:
            what = ast.unparse(node)
            reason = f"{what} tells equal numbers apart, and the loop hands on those it was given"
            return Refusal(reason, getattr(node, "lineno", region.loop.lineno))
    return None


# ------------------------------------------------------------- what the loop hands on
def _results(region: Region, wanted: Callable[[ValueInfo], bool]) -> _Held:
    """Where numbers of the wanted kind go, as objects, in the loop and after it."""
    seen = region.observation.values if region.observation else {}
    carried = {_key(name) for name, info in seen.items() if wanted(info)}
    arrays = {_key(name) for name, info in seen.items() if info.kind in _ARRAYS}
    numbers, lists = set[str](), set[str]()
    stores = [store for node in ast.walk(region.loop) for store in _stores(node)]
    before = -1
    while len(carried) > before:
        before = len(carried)
        carried |= set(_iterated(ast.walk(region.loop), carried))
        for target, value in stores:
            holder, depth = _holder(target)
            if holder and holder not in arrays and _handed_on(value) & carried:
                (lists if depth else numbers).add(holder)
                carried.add(holder)
    outside = set(_through_calls(region, lists, numbers))
    numbers |= outside | set(_iterated(region.source.nodes, lists | outside))
    return _Held(frozenset(numbers), frozenset(lists | outside))


def _sources(region: Region) -> frozenset[str]:
    """Lists of floats that the loop was given: their names there, and where they are handed in."""
    seen = region.observation.values if region.observation else {}
    given = {n: i for n, i in seen.items() if i.kind in ("list", "tuple") and _may_be_float(i)}
    found = set(map(_key, given))
    owner = region.function
    if owner is None:
        return frozenset(found)
    parameters = [a.arg for a in (*owner.args.posonlyargs, *owner.args.args)]
    for node in region.source.nodes:
        if isinstance(node, ast.Call) and _function(node) == owner.name:
            pairs = zip(parameters, node.args, strict=False)
            found.update(_holder(argument)[0] for name, argument in pairs if name in given)
    return frozenset(found - {""})


def _key(observed: str) -> str:
    """``self.cells`` as `_holder` calls it."""
    return f".{observed.rpartition('.')[2]}" if "." in observed else observed


def _given(info: ValueInfo) -> bool:
    """A list of numbers, or a number; what is read from an array is a new object each time."""
    return info.kind in ("list", "tuple", "int", "float", "mixed", "object")


def _may_be_float(info: ValueInfo) -> bool:
    if info.kind in ("list", "tuple"):
        # An empty list has nothing to hand on; of an irregular one no rewrite is made.
        return info.element is not None and info.element.kind not in ("int", "bool", "str")
    return info.kind in ("float", "mixed", "object")


def _had_nan(info: ValueInfo) -> bool:
    return info.has_nan or (info.element is not None and info.element.has_nan)


def _stores(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Pairs of a place and what is put there; what is appended goes to an element."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _paired(target, value)
        case (
            ast.NamedExpr(target=target, value=value)
            | ast.AnnAssign(target=target, value=ast.expr() as value)
        ):
            yield target, value
        case ast.Call(func=ast.Attribute(value=place, attr=name), args=[*_, value]) if (
            name in _GROW
        ):
            yield ast.Subscript(place, ast.Constant(0), ast.Store()), value


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, other in zip(targets, values, strict=True):
                yield from _paired(one, other)
        case _:
            yield target, value


def _handed_on(value: ast.expr) -> set[str]:
    """Whose objects this may be; what is computed is a new one."""
    match value:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return {_holder(value)[0]}
        case ast.IfExp(body=one, orelse=other):
            return _handed_on(one) | _handed_on(other)
        case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
            return set[str]().union(*map(_handed_on, values))
        case ast.Call(func=ast.Name(id=name), args=values) if name in _CHOOSE:
            return set[str]().union(*map(_handed_on, values))
    return set()


def _holder(place: ast.expr) -> tuple[str, int]:
    """The name (attributes with a dot in front) that a place belongs to, and its subscripts."""
    depth = 0
    while isinstance(place, ast.Subscript):
        place, depth = place.value, depth + 1
    match place:
        case ast.Name(id=name):
            return name, depth
        case ast.Attribute(attr=name):
            return f".{name}", depth
    return "", depth


# ------------------------------------------------------------- where it goes from there
def _through_calls(region: Region, lists: set[str], numbers: set[str]) -> Iterator[str]:
    """Names that calls of the loop's function are assigned to, and lists they are given."""
    owner = region.function
    if owner is None:
        return
    returned = {
        _holder(node)[0]
        for statement in ast.walk(owner)
        if isinstance(statement, ast.Return) and statement.value is not None
        for node in ast.walk(statement.value)
        if isinstance(node, ast.Name | ast.Attribute)
    }
    comes_back = bool(returned & (lists | numbers))
    parameters = {a.arg for a in (*owner.args.posonlyargs, *owner.args.args)}
    filled = bool(parameters & lists)
    for node in region.source.nodes:
        if isinstance(node, ast.Assign) and comes_back and _function(node.value) == owner.name:
            targets = (part for target in node.targets for part in _parts(target))
            yield from filter(None, (_holder(target)[0] for target in targets))
        if filled and isinstance(node, ast.Call) and _function(node) == owner.name:
            yield from filter(None, (_holder(argument)[0] for argument in node.args))


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _function(node: ast.expr) -> str:
    """The name of what is called; empty if nothing is."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
    return ""


def _iterated(nodes: Iterable[ast.AST], lists: Collection[str]) -> Iterator[str]:
    """Variables of loops over such lists."""
    for node in nodes:
        match node:
            case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over):
                held = (_holder(part)[0] for part in ast.walk(over) if isinstance(part, ast.expr))
                if _function(over) != "range" and not set(lists).isdisjoint(held):
                    items = _parts(target)[_function(over) == "enumerate" :]
                    names = (part for item in items for part in ast.walk(item))
                    yield from (part.id for part in names if isinstance(part, ast.Name))


# ------------------------------------------------------------- who tells them apart
def _asks_for_the_object(node: ast.AST, held: Collection[str]) -> bool:
    """``is`` and ``id()``."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for one, op, other in zip([left, *others], ops, others, strict=False):
                constant = isinstance(one, ast.Constant) or isinstance(other, ast.Constant)
                if isinstance(op, ast.Is | ast.IsNot) and not constant:
                    return _holder(one)[0] in held or _holder(other)[0] in held
        case ast.Call(func=ast.Name(id="id"), args=[thing]):
            return _holder(thing)[0] in held
    return False


def _finds_nan(node: ast.AST, held: _Held) -> bool:
    """Searches and keys, for which an object equals itself."""
    match node:
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[other]):
            return _holder(other)[0] in held.lists or _is_number(left, held)
        case ast.Call(func=ast.Attribute(value=place, attr=name), args=[key, *_]):
            searched = name in _SEARCH and _holder(place)[0] in held.lists
            hashed = name in _HASHED and _holder(key)[0] in held.lists
            return searched or hashed or (name in _KEYED and _is_number(key, held))
        case ast.Call(func=ast.Name(id=name), args=[thing, *_]):
            return name in _HASHED and _holder(thing)[0] in held.lists
        case ast.Set(elts=[ast.Starred(value=thing)]):
            return _holder(thing)[0] in held.lists
        case ast.Subscript(slice=key) | ast.SetComp(elt=key) | ast.DictComp(key=key):
            return _is_number(key, held)
    return False


def _compares_lists(node: ast.AST, lists: Collection[str]) -> bool:
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[other]):
            sides = (_holder(side) for side in (left, other))
            return any(not depth and name in lists for name, depth in sides)
    return False


def _compares_copies(node: ast.AST, held: _Held, same: Collection[str]) -> bool:
    """``kept == values``: of the same objects NaN is equal, too, and of equal numbers it is not.

    It need not have been seen: ``if new == old: break`` would never end on other data.
    """
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[other]):
            one, two = _copied(left), _copied(other)
            return (one in held.lists and two in same) or (two in held.lists and one in same)
    return False


def _copied(side: ast.expr) -> str:
    """The list whose objects this holds in their order; empty for all else."""
    match side:
        case ast.Subscript(value=value, slice=ast.Slice()):
            return _copied(value)
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[value]):
            return _copied(value)
        case ast.Call(func=ast.Attribute(value=value, attr="copy"), args=[]):
            return _copied(value)
        case ast.Name() | ast.Attribute():
            return _holder(side)[0]
    return ""


def _is_number(node: ast.expr, held: _Held) -> bool:
    holder, depth = _holder(node)
    return holder in (held.lists if depth else held.numbers)

"""Lists in which ints and floats stand side by side: ``c = [[0] * m for _ in range(n)]``.

A table that is filled with ``0`` and then given floats holds both types meanwhile; so does a grid
whose border keeps its ``0``. In an array all are floats. That is the same where each element that
is read meets a float, or is compared, before anybody can see which type it was; and what goes back
into the list are only the elements that the loop surely stored.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from ...loopnest.affine import affine, extent_of
from ...loopnest.ir import (
    PY_BOOL,
    PY_INT,
    ArrayInput,
    Break,
    Compare,
    Const,
    Continue,
    Expr,
    For,
    Nest,
    Stmt,
    Store,
    While,
    statements,
)
from ...loopnest.lower import lower
from ...loopnest.scope import own_nodes
from ...model import Refusal, Region, ValueInfo
from .either_text import BITS
from .provenance import proved_list
from .told import is_told

LARGEST = 2**BITS

_TYPES = ("builtins.float | builtins.int", "builtins.int")
_MOST = 3
"""Lists of ints that are tried to be such lists."""

Box = tuple[tuple[Expr, Expr], ...]


def with_either(region: Region) -> Region | None:
    """The region with such lists as lists of floats; None where there are none, or one could tell.

    ``Nest.either`` says which they are.
    """
    if region.observation is None or not isinstance(region.nest, Refusal):
        return None
    seen = region.observation.values
    aliases = {name for pair in region.observation.aliases for name in pair}
    found = [n for n, info in seen.items() if n not in aliases and _may_be(info, n)]
    mixed = tuple(n for n in found if _element(seen[n]).type_name == _TYPES[0])
    whole = sorted((set(found) & _stored(region)) - set(mixed))[:_MOST]
    for count in range(0 if mixed else 1, len(whole) + 1):
        for more in combinations(whole, count):
            new = _lowered(region, (*mixed, *more))
            if new is not None:
                return new
    return None


def _element(info: ValueInfo) -> ValueInfo:
    assert info.element is not None
    return info.element


def _may_be(info: ValueInfo, name: str) -> bool:
    """A list, or a list of lists, of small numbers."""
    if info.kind != "list" or info.ndim not in (1, 2) or not info.regular or info.element is None:
        return False
    low, high = info.minimum, info.maximum
    if low is None or high is None:
        low, high = info.element.minimum, info.element.maximum
    # of elements of two types no range is known
    small = low is None or high is None or -LARGEST <= low <= high <= LARGEST
    known = info.element.type_name in _TYPES and info.writeable and name.isidentifier()
    return known and small and not info.has_nan


def _stored(region: Region) -> set[str]:
    """Names before a subscript that the loop stores at."""
    found = set()
    for node in own_nodes(region.loop):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            base = node.value
            while isinstance(base, ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name):
                found.add(base.id)
    return found


def _lowered(region: Region, names: tuple[str, ...]) -> Region | None:
    """The region with these lists taken for lists of floats."""
    assert region.observation is not None
    number = ValueInfo("float", "builtins.float")
    values = dict(region.observation.values)
    values |= {name: replace(values[name], element=number) for name in names}
    observation = replace(region.observation, values=values, signatures=())
    nest = lower(
        region.loop,
        source=region.source,
        function=region.function,
        observation=observation,
        functions=region.functions,
    )
    if isinstance(nest, Refusal):
        return None
    used = frozenset(names) & nest.arrays.keys()
    boxes = {name: _box(nest, name) for name in used if nest.arrays[name].written}
    if not used or None in boxes.values() or is_told(nest, used):
        return None
    known = {name: box for name, box in boxes.items() if box is not None}
    asked = [test for name, box in known.items() for test in _asked(nest, name, box)]
    arrays = {n: _begun(info) if n in used else info for n, info in nest.arrays.items()}
    nest = replace(
        nest,
        arrays=arrays,
        relies_on=(*nest.relies_on, *dict.fromkeys(asked)),
        either={name: known.get(name, ()) for name in used},
    )
    return replace(region, observation=observation, nest=nest)


def _begun(info: ArrayInput) -> ArrayInput:
    """The list as if it had been filled with a float."""
    made = info.allocation
    fill = None if made is None else made.fill
    if made is None or type(fill) is not int or not proved_list(replace(info, element=PY_INT)):
        return replace(info, allocation=None)
    return replace(info, allocation=replace(made, fill=float(fill)))


# ---------------------------------------------------------------- what is stored
def _box(nest: Nest, name: str) -> Box | None:
    """The bounds, one pair an axis, of the elements that every run of the nest stores."""
    if any(isinstance(s, Break | Continue | While) for s in statements((nest.root,))):
        return None
    stores = [s for s in statements((nest.root,)) if isinstance(s, Store) and s.array == name]
    sure = {id(s): loops for s, loops in _unconditional((nest.root,), ())}
    indices = {tuple(map(affine, s.index)) for s in stores}
    first = next((s for s in stores if id(s) in sure), None)
    if first is None or len(indices) > 1:
        return None
    return _bounds(first, sure[id(first)])


def _unconditional(
    body: tuple[Stmt, ...], loops: tuple[For, ...]
) -> Iterator[tuple[Store, tuple[For, ...]]]:
    """The stores under no condition, with the loops around them."""
    for statement in body:
        if isinstance(statement, Store):
            yield statement, loops
        elif isinstance(statement, For):
            yield from _unconditional(statement.body, (*loops, statement))


def _bounds(store: Store, loops: tuple[For, ...]) -> Box | None:
    by_index: Mapping[str, For] = {loop.index: loop for loop in loops}
    found: list[tuple[Expr, Expr]] = []
    used = []
    for index in store.index:
        form = affine(index)
        if form is None or form.const or len(form.pairs) != 1 or form.pairs[0][1] != 1:
            return None
        loop = by_index.get(form.pairs[0][0])
        if loop is None or loop.step != 1 or loop.values is not None:
            return None
        found.append((loop.start, loop.stop))
        used.append(loop.index)
    bounds = [affine(end) for loop in loops for end in (loop.start, loop.stop)]
    if len(set(used)) < len(used) or len(by_index) < len(loops):
        return None
    if any(form is None or form.symbols & by_index.keys() for form in bounds):
        return None  # a triangle is no box
    return tuple(found)


def _asked(nest: Nest, name: str, box: Box) -> Iterator[Expr]:
    """What must hold for the box to be stored: none of the other loops is empty."""
    sure = {s.array: loops for s, loops in _unconditional((nest.root,), ()) if s.array == name}
    line = nest.root.line
    asked: list[Compare] = []
    for start, stop in box:
        asked.append(Compare(PY_BOOL, line, ">=", start, Const(PY_INT, line, 0)))
        asked.append(Compare(PY_BOOL, line, ">=", stop, start))
    for loop in sure[name]:
        if (loop.start, loop.stop) not in box and loop.values is None:
            low, high = (loop.start, loop.stop) if loop.step > 0 else (loop.stop, loop.start)
            asked.append(Compare(PY_BOOL, line, ">", high, low))
    return (test for test in asked if not _holds(nest, test))


def _holds(nest: Nest, test: Compare) -> bool:
    """Whether the sides differ by a number, or by lengths, that settle it."""
    left, right = affine(test.left), affine(test.right)
    assert left is not None and right is not None
    gap = left - right
    least = 1 if test.op == ">" else 0
    return gap.const >= least and all(k > 0 and _is_length(nest, s) for s, k in gap.pairs)


def _is_length(nest: Nest, symbol: str) -> bool:
    """``len(a)``, or a variable that the code proves to be one."""
    scalar = nest.scalars.get(symbol)
    assigned = symbol in nest.privates
    return extent_of(symbol) is not None or (
        scalar is not None and bool(scalar.equals) and not assigned
    )

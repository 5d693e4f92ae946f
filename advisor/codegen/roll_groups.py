"""Which statements with ``np.roll`` belong together: those that can share one bordered copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ..model import Source
from . import ast_tools as tools
from . import rolls
from .wrapped import Group


def groups(source: Source, holder: ast.AST) -> Iterator[Group]:
    """Statements with rolls of one array each, adjacent simple ones taken together."""
    units: dict[int, tuple[ast.stmt, list[rolls.Roll], dict[str, tuple[int, ...]]]] = {}
    for node in tools.own_nodes(holder):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return):
            found = list(rolls.outermost(source, node))
            bound = _names(source, holder, node, found) if found else None
            if bound is not None:
                unit = units.setdefault(id(bound[0]), (bound[0], [], {}))
                unit[1].extend(found)
                unit[2].update(bound[1])
    done: set[int] = set()
    for identity, (statement, _, names) in units.items():
        if identity in done:
            continue
        block = tools.block_of(source, statement)
        first = block.index(statement)
        while first > 0 and _joins(units, block[first - 1], block[first]):
            first -= 1
        last = first
        while last + 1 < len(block) and _joins(units, block[last], block[last + 1]):
            last += 1
        members = block[first : last + 1]
        done |= {id(member) for member in members}
        every = [roll for member in members for roll in units[id(member)][1]]
        yield Group(
            tuple(members), tuple(every), units[id(members[-1])][2] if last == first else names
        )


def _joins(
    units: Mapping[int, tuple[ast.stmt, list[rolls.Roll], dict[str, tuple[int, ...]]]],
    left: ast.stmt,
    right: ast.stmt,
) -> bool:
    """Whether two neighbours roll the same array, the left one without changing it."""
    if id(left) not in units or id(right) not in units or not isinstance(left, ast.Assign):
        return False
    if isinstance(right, ast.For | ast.AugAssign) or len(left.targets) != 1:
        return False
    bases = {rolls.dotted(r.base) for s in (left, right) for r in units[id(s)][1]}
    target = left.targets[0]
    return len(bases) == 1 and isinstance(target, ast.Name) and {target.id} != bases


def _names(
    source: Source, holder: ast.AST, statement: ast.stmt, found: list[rolls.Roll]
) -> tuple[ast.stmt, dict[str, tuple[int, ...]]] | None:
    """The whole statement with the loops that bind the shifts, and what these loops go through."""
    wanted = {s.name for roll in found for s in roll.shifts.values() if s.name is not None}
    names: dict[str, tuple[int, ...]] = {}
    for roll in found:
        for above in tools.ancestors(source, roll.node):
            if isinstance(above, ast.GeneratorExp):
                names |= _comprehended(source, above)
            elif isinstance(above, ast.stmt):
                break
    # sum(np.roll(u, i, 0) for i in (0, 1)) + np.roll(u, i, 1)    has two different i
    if any(len(tools.stores(statement, name)) != 1 for name in wanted & set(names)):
        return None
    if any(not _in_generator(source, roll, names) for roll in found):
        return None
    unit = statement
    for above in tools.ancestors(source, statement):
        if wanted <= set(names):
            return unit, names
        if above is holder or not isinstance(above, ast.For | ast.If):
            return None
        if isinstance(above, ast.For):
            values = rolls.constants(source, above.iter)
            if values is None or not isinstance(above.target, ast.Name):
                return None
            # for i in (0, 1): i = 2 * i; total += np.roll(u, i, 0)
            if len(tools.stores(above, above.target.id)) != 1:
                return None
            names.setdefault(above.target.id, values)
            unit = above
    return None


def _comprehended(source: Source, node: ast.GeneratorExp) -> dict[str, tuple[int, ...]]:
    """The variables of a generator expression that go through constants."""
    found = {}
    for part in node.generators:
        values = rolls.constants(source, part.iter)
        if values is not None and isinstance(part.target, ast.Name):
            found[part.target.id] = values
    return found


def _in_generator(source: Source, roll: rolls.Roll, names: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether the generator variables a roll is shifted by are those of a generator around it."""
    around = {
        name
        for above in tools.ancestors(source, roll.node)
        if isinstance(above, ast.GeneratorExp)
        for name in _comprehended(source, above)
    }
    used = {shift.name for shift in roll.shifts.values() if shift.name is not None}
    return used & set(names) <= around

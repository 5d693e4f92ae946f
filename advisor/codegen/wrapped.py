"""Slices of an array with a wrapped border in place of rolled copies: the text.

``np.roll(u, 1, axis=0)[i, j]`` is ``u[i - 1, j]`` with wrap-around; in a copy of ``u`` with one
more row at each end it is ``wrapped[i, j + 1]``, a slice for all i and j together.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..model import Source
from . import ast_tools as tools
from . import rolls

Border = tuple[tuple[int, int], ...]
"""Cells before and after the array along each axis."""


@dataclass(frozen=True)
class Group:
    """Adjacent statements of one block that roll one array."""

    statements: tuple[ast.stmt, ...]
    rolled: tuple[rolls.Roll, ...]
    names: Mapping[str, tuple[int, ...]]
    """Values of the loop variables that occur as shifts."""

    @property
    def base(self) -> str:
        """The array as written, ``"self.u"``."""
        return rolls.dotted(self.rolled[0].base) or ""


# ------------------------------------------------------------------ the copy
def extents(base: str, border: Border) -> str:
    """The shape of the copy, as text."""
    grown = {before + after for before, after in border}
    if len(grown) == 1 and len(border) > 1:
        return f"[n + {grown.pop()} for n in {base}.shape]"
    each = [
        f"{base}.shape[{axis}]" + (f" + {sum(pair)}" if any(pair) else "")
        for axis, pair in enumerate(border)
    ]
    return ", ".join(each) if len(each) == 1 else f"({', '.join(each)})"


def wrap_border(base: str, wrapped: str, border: Border) -> list[str]:
    """Statements that fill the copy: the inside, then one axis after the other, corners last."""
    inside = [_between(before, after) for before, after in border]
    lines = [f"{wrapped}[{', '.join(inside)}] = {base}"]
    for axis, (before, after) in enumerate(border):
        for edge, opposite in _edges(before, after):
            index = [":"] * axis + ["{}"] + inside[axis + 1 :]
            place = f"{wrapped}[{', '.join(index)}]"
            lines.append(f"{place.format(edge)} = {place.format(opposite)}")
    return lines


def _between(before: int, after: int) -> str:
    return f"{before or ''}:{f'-{after}' if after else ''}"


def _edges(before: int, after: int) -> Iterator[tuple[str, str]]:
    """Where the border lies along an axis, and which cells of the inside it repeats."""
    if before:
        yield f":{before}", f"-{before + after}:{f'-{after}' if after else ''}"
    if after:
        yield f"-{after}:", f"{before or ''}:{before + after}"


# ----------------------------------------------------------------- statements
def whole_lines(source: Source, first: ast.stmt, last: ast.stmt) -> tuple[int, int]:
    """From the start of the first statement's line to the end of the last one's, comments too."""
    assert last.end_lineno is not None
    start = source.line_starts[first.lineno - 1]
    end = source.span(last)[1]
    rest = source.data[end : source.line_starts[last.end_lineno]]
    return start, end + len(rest.rstrip(b"\r\n"))


def changed_lines(
    source: Source,
    group: Group,
    terms: int | None,
    wrapped: str,
    border: Border,
) -> list[str] | None:
    """The statements with slices for rolls, relative to their column."""
    replacements = [
        (*source.span(roll.node), f"{wrapped}[{slices(roll, group.base, border)}]")
        for roll in group.rolled
    ]
    if terms is not None:
        centre = rolls.Roll(group.rolled[0].node, group.rolled[0].base, {})
        inside = f"{wrapped}[{slices(centre, group.base, border)}]"
        for tree in _sum_trees(source, group):
            start, end = source.span(tree)
            # In parentheses already: (a + b) needs no more, f(a + b) does.
            bare = re.search(rb"(?<![\w\])])\($", source.data[:start]) is None
            bare = bare or source.data[end : end + 1] != b")"
            tail = f".astype({group.base}.dtype, copy=False)"
            if isinstance(tree, ast.Call):
                replacements.append((end, end, tail))
            elif bare:
                replacements += [(start, start, "("), (end, end, ")" + tail)]
            else:
                replacements.append((end + 1, end + 1, tail))
            replacements += [
                (*source.span(leaf), inside) for leaf in _leaves(tree) if rolls.dotted(leaf)
            ]
    start, end = whole_lines(source, group.statements[0], group.statements[-1])
    data = source.data
    for low, high, text in sorted(replacements, key=lambda r: (r[0], r[1]), reverse=True):
        data = data[:low] + text.encode() + data[high:]
    grown = len(data) - len(source.data)
    indent = tools.indent_of(source, group.statements[0])
    lines = data[start : end + grown].decode("utf-8").splitlines()
    return [line.removeprefix(indent) if line.strip() else "" for line in lines]


def slices(roll: rolls.Roll, base: str, border: Border) -> str:
    """The index of the copy under which it equals a rolled copy."""
    ndim = len(border)
    by_axis = {0 if axis is None else axis % ndim: s for axis, s in roll.shifts.items()}
    return ", ".join(
        _slice(by_axis.get(axis, rolls.Shift()), before, after, f"{base}.shape[{axis}]")
        for axis, (before, after) in enumerate(border)
    )


def _slice(shift: rolls.Shift, before: int, after: int, extent: str) -> str:
    """Element i of the rolled array is element i - shift, at i + before - shift in the copy."""
    start, rest = before - shift.constant, after + shift.constant
    if shift.name is None:
        return f"{start or ''}:{f'-{rest}' if rest else ''}"
    sign = "-" if shift.sign > 0 else "+"
    begin = f"{start} {sign} {shift.name}"
    return f"{begin} : {begin} + {extent}"


# ------------------------------------------------------------- small numbers
def pure_sums(source: Source, group: Group) -> int | None:
    """Most terms of a sum, if all rolls stand in sums of nothing but this array's cells."""
    if isinstance(group.statements[0], ast.For):
        return None
    trees = _sum_trees(source, group)
    covered = {id(leaf) for tree in trees for leaf in _leaves(tree)}
    if not trees or not all(id(_summand(source, r.node)) in covered for r in group.rolled):
        return None
    counts = [sum(_times(source, leaf) for leaf in _leaves(tree)) for tree in trees]
    return max(counts) if 2 <= max(counts) <= 127 else None


def _sum_trees(source: Source, group: Group) -> list[ast.expr]:
    """The largest expressions of the form ``roll + roll + array``, or ``sum(roll for ..)``."""
    found: dict[int, ast.expr] = {}
    for roll in group.rolled:
        tree = _summand(source, roll.node)
        while isinstance(holder := tools.parents(source)[tree], ast.BinOp) and _is_sum(
            source, holder, group.base
        ):
            tree = holder
        if isinstance(tree, ast.BinOp) or tree is not roll.node:
            found[id(tree)] = tree
    return list(found.values())


def _summand(source: Source, node: ast.expr) -> ast.expr:
    """The ``sum(..)`` a roll is the element of, else the roll itself."""
    holder = tools.parents(source)[node]
    if isinstance(holder, ast.GeneratorExp) and holder.elt is node:
        call = tools.parents(source)[holder]
        assert isinstance(call, ast.expr)
        return call
    return node


def _is_sum(source: Source, node: ast.expr, base: str) -> bool:
    if isinstance(node, ast.BinOp):
        parts = _is_sum(source, node.left, base) and _is_sum(source, node.right, base)
        return isinstance(node.op, ast.Add) and parts
    if rolls.dotted(node) == base:
        return True
    roll = rolls.parse(source, node)
    if roll is None and isinstance(node, ast.Call) and len(node.args) == 1:
        inner = node.args[0]
        roll = rolls.parse(source, inner.elt) if isinstance(inner, ast.GeneratorExp) else None
    return roll is not None and rolls.dotted(roll.base) == base


def _leaves(tree: ast.expr) -> Iterator[ast.expr]:
    if isinstance(tree, ast.BinOp):
        yield from _leaves(tree.left)
        yield from _leaves(tree.right)
    else:
        yield tree


def _times(source: Source, leaf: ast.expr) -> int:
    """How many terms a leaf stands for: more than one for ``sum(roll for ..)``."""
    times = 1
    if isinstance(leaf, ast.Call) and leaf.args and isinstance(leaf.args[0], ast.GeneratorExp):
        for part in leaf.args[0].generators:
            times *= len(rolls.constants(source, part.iter) or range(999))
    return times


def sums_cells(group: Group) -> bool:
    """Whether the built-in ``sum`` adds the cells, beginning with the integer 0."""
    calls = (n for s in group.statements for n in ast.walk(s) if isinstance(n, ast.Call))
    return any(isinstance(call.func, ast.Name) and call.func.id == "sum" for call in calls)

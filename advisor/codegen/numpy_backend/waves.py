"""Loops over waves in place of two loops, see `wavefront`: what they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...loopnest.affine import Affine
from ...loopnest.fold import reads, substitute
from ...loopnest.ir import Assign, Call, Compare, Expr, For, If, Kind, Nest, Stmt, Var


@dataclass(frozen=True)
class Place:
    """Where ``t[i, j]`` of a wave lies in an array of equal rows: ``flat[start:end:step]``."""

    row: Affine
    start: Affine
    end: Affine
    step: Affine


@dataclass(frozen=True)
class Wave:
    """What a loop along a wave runs over."""

    number: Affine
    """``factor * i + j`` of its elements."""
    factor: int
    rows: str
    """The index ``i``."""
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Sweep:
    """Two loops, one right inside the other, and those around them."""

    outer: tuple[For, ...]
    row: For
    column: For
    factor: int = 1
    """A wave is where ``factor * i + j`` is the same."""

    @property
    def loops(self) -> tuple[For, ...]:
        """All of them, outermost first."""
        return (*self.outer, self.row, self.column)


@dataclass(frozen=True)
class Waves:
    """The nest with waves in place of two loops."""

    root: For
    nest: Nest
    along: Mapping[int, Wave]
    """By ``id`` of the loops along a wave: they become axes."""
    folds: frozenset[int]
    """``id`` of the loops inside that only take the least or the largest of a row of elements."""
    sweep: Sweep
    """What was replaced."""
    seconds: float
    replaced_seconds: float
    """Of the loops as they were, interpreted."""
    required: tuple[Affine, ...]
    """Forms that a test in front shows to be >= 0."""
    equal_required: tuple[tuple[str, Affine], ...]
    """Extents that it shows to be equal to a form."""
    names: frozenset[str]
    """Scalars of the new loops: no test in front may ask for them."""


def is_fold(loop: Stmt) -> bool:
    """``for k in ..: best = max(best, e)`` of integers, or the same with an ``if``."""
    return isinstance(loop, For) and fold_of(loop) is not None


def fold_of(loop: For) -> tuple[str, str, Expr] | None:
    """``(best, "max", e)``, also of ``cost = e``, then ``if cost > best: best = cost``."""
    match loop.body:
        case (statement,):
            return fold_step(statement)
        case (Assign(name=name, value=value), statement):
            found = fold_step(statement)
            if found is None or name == found[0] or found[0] in reads(value):
                return None
            return *found[:2], substitute(found[2], {name: value})
    return None


def fold_step(statement: Stmt) -> tuple[str, str, Expr] | None:
    """``(best, "max", e)``; integers only: among floats a NaN shows which came first."""
    found: tuple[str, str, Expr] | None = None
    match statement:
        case Assign(name=name, value=Call(function="min" | "max" as function, args=(a, b))):
            for best, value in ((a, b), (b, a)):
                if isinstance(best, Var) and best.name == name:
                    found = name, function, value
        case If(
            test=Compare(op="<" | ">" as op, left=left, right=right),
            then=(Assign(name=name, value=value),),
            orelse=(),
        ):
            if value == left and isinstance(right, Var) and right.name == name:
                found = name, "min" if op == "<" else "max", value
            if value == right and isinstance(left, Var) and left.name == name:
                found = name, "max" if op == "<" else "min", value
    if found is None or found[0] in reads(found[2]) or found[2].type.kind is not Kind.INT:
        return None
    return found

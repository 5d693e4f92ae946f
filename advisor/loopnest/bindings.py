"""What a name stands for while a loop is lowered, and how paths of control meet."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..model import Refusal
from .ir import Expr, Scalar
from .scope import Literal


class Stop(Exception):
    """Lowering cannot go on; carries the refusal. Never leaves ``lower``."""

    unsettled = False
    """A type hangs on whether a loop runs."""

    def __init__(self, reason: str, line: int | None, suggestion: str | None = None) -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason, line, suggestion)


@dataclass(frozen=True)
class Private:
    """A scalar variable assigned in the nest."""

    types: frozenset[Scalar]
    """All types it may have here."""
    defined: bool = True
    """Assigned on every path to here."""
    entry: bool = False
    """It may still hold the value it had before the nest."""


@dataclass(frozen=True)
class Given:
    """A helper's parameter that stands for an expression of the caller."""

    expr: Expr


@dataclass(frozen=True)
class View:
    """An array or list under this name, or the part of it under fixed leading indices."""

    array: str
    prefix: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Table:
    """A tuple of numbers, or of equally long tuples of numbers, known from the text."""

    rows: tuple[tuple[Literal, ...], ...] | tuple[Literal, ...]


@dataclass(frozen=True)
class Gone:
    """Not usable here: not yet assigned, or something else on each path."""

    why: str = "may be read before it is assigned"


Binding = Private | Given | View | Table | Gone
Env = dict[str, Binding]


def merge(left: Binding | None, right: Binding | None) -> Binding:
    """What a name stands for where two paths meet."""
    if left is None or right is None:
        known = left or right
        if isinstance(known, Private):
            return Private(known.types, False, known.entry)
        return Gone()
    if left == right:
        return left
    match left, right:
        case Private(), Private():
            return Private(
                left.types | right.types,
                left.defined and right.defined,
                left.entry or right.entry,
            )
        case (Private() as known, Gone()) | (Gone(), Private() as known):
            return Private(known.types, False, known.entry)
    return Gone("does not stand for the same thing on every path")


def merge_envs(envs: Sequence[Env | None]) -> Env | None:
    """The environment where several paths meet; None if no path gets there."""
    reached = [env for env in envs if env is not None]
    if not reached:
        return None
    result = dict(reached[0])
    for env in reached[1:]:
        for name in {*result, *env}:
            result[name] = merge(result.get(name), env.get(name))
    return result


@dataclass
class LoopContext:
    """Where ``continue`` and ``break`` of the innermost loop lead."""

    continues: list[Env | None] = field(default_factory=list)
    breaks: list[Env | None] = field(default_factory=list)


@dataclass
class Frame:
    """The function whose text is being lowered: the user's, or a helper that is inlined."""

    function: ast.FunctionDef | None
    path: tuple[int, ...] = ()
    """Identities of the call nodes that lead here; empty for the user's own text."""
    names: Mapping[str, str] = field(default_factory=dict)
    """A helper's parameters and locals: name in the IR by name in the text."""
    objects: Mapping[str, str] = field(default_factory=dict)
    """Parameters bound to an object: path of the object in the user's text."""
    loops: list[LoopContext] = field(default_factory=list)
    result: str | None = None
    """IR name for the returned value of a helper."""
    width: int = 0
    """How many values it returns as a tuple; 0 for a single value."""
    done: str | None = None
    """IR name of the flag set by a ``return`` inside a loop."""
    returns: list[Env | None] = field(default_factory=list)

    @property
    def is_root(self) -> bool:
        """The user's own text."""
        return not self.path

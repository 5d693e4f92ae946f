"""Where control is: environments, where paths meet, and what statements assign."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..loopnest.scope import dotted, stored_names
from .nb_eval import Evaluator
from .nb_values import Num, Unsupported, Value, View


@dataclass
class Snapshot:
    """The environment at a point of the program."""

    env: dict[str, Value]
    maybe: set[str]


@dataclass
class LoopExits:
    """Where ``break`` and ``continue`` of the innermost loop leave from."""

    breaks: list[Snapshot] = field(default_factory=list)
    continues: list[Snapshot] = field(default_factory=list)


class Paths(ABC):
    """Abstract execution in one scope: the environment and how it splits and meets."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.ev = evaluator
        self.scope = evaluator.scope
        self.state = evaluator.state
        self.exits: list[LoopExits] = []
        self.returns: list[Value | None] = []
        self.ends: dict[str, tuple[ast.expr, ast.expr]] = {}
        """First and last values of the indices of the loops around, where the text shows them."""

    # ------------------------------------------------------------ plumbing
    def snapshot(self) -> Snapshot:
        """A copy of where we are."""
        return Snapshot(dict(self.scope.env), set(self.scope.maybe))

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from there."""
        self.scope.env = dict(snapshot.env)
        self.scope.maybe = set(snapshot.maybe)

    def merged(self, snapshots: list[Snapshot], at: ast.AST) -> Snapshot | None:
        """Where several paths meet; None if there is no path."""
        if not snapshots:
            return None
        result = snapshots[0]
        for other in snapshots[1:]:
            result = self._merge(result, other, at)
        return result

    def _merge(self, left: Snapshot, right: Snapshot, at: ast.AST) -> Snapshot:
        env: dict[str, Value] = {}
        maybe = left.maybe | right.maybe
        for name in {**left.env, **right.env}:
            a, b = left.env.get(name), right.env.get(name)
            if a is None or b is None:
                env[name] = a if a is not None else b  # type: ignore[assignment]
                maybe.add(name)
            elif a == b:
                env[name] = a
            elif isinstance(a, Num) and isinstance(b, Num):
                env[name] = self.ev.join(a, b, at, name)
            elif isinstance(a, View) and isinstance(b, View) and self.same_row(a, b):
                env[name] = a
            else:
                maybe.add(name)
                env[name] = a
        return Snapshot(env, maybe)

    @staticmethod
    def same_row(a: View, b: View) -> bool:
        """Whether two names stand for views of the same kind of one array."""
        return (a.array, a.axis, a.ndim) == (b.array, b.axis, b.ndim)

    # ------------------------------------------------- what the subclass does
    @abstractmethod
    def block(self, body: list[ast.stmt]) -> bool:
        """Execute statements; False if control never reaches the end."""

    @abstractmethod
    def bind(
        self, target: ast.expr, value: Value, node: ast.AST, source: ast.expr | None = None
    ) -> None:
        """Assign a value to a target."""


def as_load(target: ast.expr) -> ast.expr:
    """The target read: same positions, so that text edits still apply."""
    match target:
        case ast.Name():
            copy: ast.expr = ast.Name(target.id, ast.Load())
        case ast.Attribute():
            copy = ast.Attribute(target.value, target.attr, ast.Load())
        case ast.Subscript():
            copy = ast.Subscript(target.value, target.slice, ast.Load())
        case _:
            raise Unsupported(f"assignment to `{ast.unparse(target)}`", target.lineno)
    return ast.copy_location(copy, target)


def assigned_paths(node: ast.AST) -> set[str]:
    """Names and attribute paths that a statement assigns."""
    names = set(stored_names(node))
    for inner in ast.walk(node):
        match inner:
            case ast.Assign(targets=targets):
                names |= {p for t in targets for p in target_paths(t)}
            case ast.AugAssign(target=target):
                names |= set(target_paths(target))
            case _:
                pass
    return names


def target_paths(target: ast.expr) -> Iterator[str]:
    """Names and attribute paths in an assignment target."""
    match target:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            for element in elts:
                yield from target_paths(element)
        case ast.Name() | ast.Attribute():
            path = dotted(target)
            if path is not None:
                yield path


def is_augmented(root: ast.AST, name: ast.AST) -> bool:
    """Whether a stored name is the target of an augmented assignment below ``root``."""
    return any(isinstance(n, ast.AugAssign) and n.target is name for n in ast.walk(root))

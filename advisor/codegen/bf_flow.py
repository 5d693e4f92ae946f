"""What is known of each name before each statement of a loop, and for how long arrays are needed.

An abstract run of the loop until nothing changes. Besides types it follows, for every statement
that makes an array, which names may still hold the array it made one, two or three times ago: so
many buffers have to take turns before the oldest may be overwritten.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..model import Source
from . import ast_tools as tools
from .bf_uses import kept
from .bf_values import (
    Array,
    Env,
    Other,
    Scalar,
    Value,
    dotted,
    is_made,
    join,
    made_by,
    value_of,
)

MOST_BUFFERS = 3


class Unsupported(Exception):
    """A statement whose way through the program is not followed."""


@dataclass
class Flow:
    """The abstract run of one loop."""

    source: Source
    entry: Env
    objects: frozenset[str] = frozenset()
    """Objects whose attributes keep what is assigned to them, and which only the loop assigns."""
    captured: frozenset[str] = frozenset()
    """Names that other functions can see."""
    before: dict[int, Env] = field(default_factory=dict)
    """What holds before each statement, by the identity of the node."""
    held: dict[int, set[int]] = field(default_factory=dict)
    """By statement: ages of the arrays it made that other names hold when it runs again."""
    own: dict[int, set[int]] = field(default_factory=dict)
    """By statement: ages of the arrays that the name it binds holds then."""
    escaped: set[int] = field(default_factory=set)
    consulted: set[str] = field(default_factory=set)
    """Names whose value at the entry of the loop was made use of."""
    _jumps: list[tuple[list[Env], list[Env]]] = field(default_factory=list)

    def buffers(self, statement: ast.stmt, *, apart: bool) -> int | None:
        """How many arrays the statement needs to take turns; None: a new one each time.

        ``apart``: its own operands may not lie in the array that it writes.
        """
        site = id(statement)
        if site in self.escaped or site not in self.held:
            return None
        held = self.held[site] | (self.own[site] if apart else set())
        return next((n for n in range(1, MOST_BUFFERS + 1) if n - 1 not in held), None)

    # ------------------------------------------------------------- statements
    def block(self, statements: Sequence[ast.stmt], env: Env | None) -> Env | None:
        """Run a block; None: its end is not reached."""
        for statement in statements:
            if env is None:
                return None
            known = self.before.get(id(statement))
            env = env if known is None else join(known, env)
            self.before[id(statement)] = env
            env = self._statement(statement, dict(env))
        return env

    def _statement(self, statement: ast.stmt, env: Env) -> Env | None:
        match statement:
            case ast.Assign():
                return self._assign(statement, env)
            case ast.AugAssign():
                return self._augmented(statement, env)
            case ast.If(test=test, body=body, orelse=orelse):
                self._look(test, env)
                return self._either(self.block(body, env), self.block(orelse, env))
            case ast.For() | ast.While():
                return self.loop(statement, env)
            case ast.With(items=items, body=body):
                # with suppress(FloatingPointError): the loop goes on with half of the work done
                if any(self._numpy(item.context_expr) != "errstate" for item in items):
                    raise Unsupported
                return self.block(body, env)
            case ast.Continue() | ast.Break():
                self._jumps[-1][isinstance(statement, ast.Break)].append(env)
                return None
            case ast.Return() | ast.Raise():
                return None
            case ast.Expr() | ast.Pass() | ast.Assert() | ast.AnnAssign():
                self._look(statement, env)
                return self._forget(statement, env)
        raise Unsupported

    def loop(self, loop: ast.For | ast.While, env: Env) -> Env | None:
        """Run a loop until what is known at its head changes no more."""
        test = loop.iter if isinstance(loop, ast.For) else loop.test
        exits: list[Env] = []
        for _ in range(12):
            # for row in u: rows.append(row)
            self._look(test, env, assigned=isinstance(loop, ast.For))
            inner = dict(env)
            if isinstance(loop, ast.For):
                inner = self._forget(loop.target, inner)
                if isinstance(loop.target, ast.Name) and self._is_range(loop.iter):
                    inner[loop.target.id] = Scalar("int")
            heads: list[Env] = []
            self._jumps.append((heads, exits))
            end = self.block(loop.body, inner)
            self._jumps.pop()
            again = env
            for other in [*heads, *([end] if end is not None else [])]:
                again = join(again, other)
            if again == env:
                return self._either(self.block(loop.orelse, env), self._all(exits))
            env = again
        raise Unsupported

    def _all(self, ways: list[Env]) -> Env | None:
        found = None
        for way in ways:
            found = self._either(found, way)
        return found

    def _either(self, a: Env | None, b: Env | None) -> Env | None:
        if a is None or b is None:
            return a if b is None else b
        return join(a, b)

    def _lose(self, values: Iterable[Value]) -> None:
        """Nothing is known any more of who holds these arrays."""
        for value in values:
            self.escaped |= {site for site, _ in made_by(value)}

    # ------------------------------------------------------------- assignments
    def _assign(self, statement: ast.Assign, env: Env) -> Env:
        match statement.targets:
            case [ast.Tuple(elts=targets)] if isinstance(statement.value, ast.Tuple):
                values = statement.value.elts
                names = [dotted(t) for t in targets]
                if len(values) == len(names) and all(isinstance(t, ast.Name) for t in targets):
                    found = [self.value(v, env) if dotted(v) else None for v in values]
                    for value, known in zip(values, found, strict=True):
                        if not isinstance(known, Array):
                            self._look(value, env, assigned=True)
                    env = self._forget(statement, env)
                    for name, known in zip(names, found, strict=True):
                        if known is not None and name is not None:
                            self._bind(name, known, env)
                    return env
            case [ast.Name() | ast.Attribute() as target] if dotted(target):
                return self._assign_name(statement, str(dotted(target)), env)
        self._look(statement, env)
        return self._forget(statement, env)

    def _assign_name(self, statement: ast.Assign, name: str, env: Env) -> Env:
        known = self.value(statement.value, env)
        made = isinstance(known, Array) and is_made(self.source, statement.value)
        if not isinstance(known, Array) or made or not self._is_followed(name):
            self._look(statement, env)
        if known is None:
            return self._forget(statement, env)
        if made and isinstance(known, Array):
            env, known = self._make(id(statement), name, known, env)
        env = self._forget(statement, env)
        self._bind(name, known, env)
        return env

    def _make(self, site: int, name: str, made: Array, env: Env) -> tuple[Env, Array]:
        """The array becomes the statement's newest; those it made before age by one."""
        older: Env = {}
        held = self.held.setdefault(site, set())
        own = self.own.setdefault(site, set())
        for other, value in env.items():
            if isinstance(value, Array | Other):
                ages = {age for by, age in value.made if by == site}
                if other == name:
                    own |= ages
                else:
                    held |= ages
                aged = {
                    (by, min(age + 1, MOST_BUFFERS) if by == site else age)
                    for by, age in value.made
                }
                value = replace(value, made=frozenset(aged))
            older[other] = value
        return older, replace(made, made=frozenset({(site, 0)}), whole=True)

    def _bind(self, name: str, value: Value, env: Env) -> None:
        if self._is_followed(name):
            env[name] = value
        if not self._is_followed(name) or name.partition(".")[0] in self.captured:
            self._lose([value])

    def _is_followed(self, name: str) -> bool:
        """Whether assigning to the name has no effect but that."""
        root, dot, _ = name.partition(".")
        return not dot or (name in self.entry and root in self.objects)

    def _augmented(self, statement: ast.AugAssign, env: Env) -> Env:
        name = dotted(statement.target)
        self._look(statement, env)
        # In place, an ndarray stays the object it is, with its shape and dtype.
        old = self.value(statement.target, env)
        if isinstance(statement.target, ast.Subscript) or isinstance(old, Array):
            return self._forget(statement.value, env)
        env = self._forget(statement, env)
        if isinstance(old, Scalar) and name is not None:
            left = ast.Name("old", ast.Load())
            both = ast.BinOp(left, statement.op, statement.value)
            self.value(statement.value, env)
            new = value_of(self.source, both, {**env, "old": old})
            if isinstance(new, Scalar):
                env[name] = new
        return env

    def _forget(self, node: ast.AST, env: Env) -> Env:
        """Without what the node binds, and what may be reached under that name."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name | ast.Attribute) and not isinstance(inner.ctx, ast.Load):
                name = dotted(inner)
                ending = "." + (inner.attr if isinstance(inner, ast.Attribute) else "")
                gone = [
                    n
                    for n in env
                    if n == name or n.startswith(f"{name}.") or ("." in n and n.endswith(ending))
                ]
                for each in gone:
                    # the name itself is given up; under another name the array lives on
                    if each != name:
                        self._lose([env[each]])
                    del env[each]
        return env

    # ------------------------------------------------------------------ looking
    def value(self, node: ast.expr, env: Env) -> Value | None:
        """What is known of an expression; what was known at the entry is noted as used."""
        found = value_of(self.source, node, env)
        if isinstance(found, Other):
            return None
        if found is not None:
            for inner in ast.walk(node):
                name = dotted(inner)
                if name in env and name in self.entry:
                    self.consulted.add(str(name))
        return found

    def _look(self, node: ast.AST, env: Env, *, assigned: bool = False) -> None:
        """Arrays that the node may hand to others get no buffers."""
        wrapped: ast.AST = node
        if assigned and isinstance(node, ast.expr):
            wrapped = ast.Assign([ast.Name("_", ast.Store())], node)
        elif isinstance(node, ast.expr):
            wrapped = ast.Expr(node)

        def is_array(inner: ast.expr) -> bool:
            return isinstance(self.value(inner, env), Array)

        for name in kept(self.source, wrapped, is_array):
            if name in env:
                self._lose([env[name]])

    def _numpy(self, node: ast.expr) -> str | None:
        return tools.numpy_function(self.source, node)

    def _is_range(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Name(id="range")):
                return tools.is_builtin(self.source, "range")
        return False

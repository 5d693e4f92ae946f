"""The statements of a loop over NumPy arrays, written for copies of the arrays on the device."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...layout import LEVEL
from ...model import Source
from .. import rolls
from ..bf_flow import Flow
from ..bf_halo import halos
from ..bf_text import header
from ..bf_values import Array, Env, dotted
from ..nb_values import Unsupported
from ..numpy_backend.layout import wrapped
from ..wrapped import Border, wrap_border
from .expressions import Expressions, OnDevice
from .fused import Fuser, Piece


@dataclass
class Statements:
    """Writes the new loop, and notes what becomes of the arrays in it."""

    source: Source
    flow: Flow
    expressions: Expressions
    name: Callable[[str], str]
    """A name that nothing in the file has."""
    fuser: Fuser
    rebound: dict[str, None] = field(default_factory=dict)
    """Names that the loop binds to arrays."""
    written: dict[str, None] = field(default_factory=dict)
    """Names through which elements are stored."""
    views: dict[str, None] = field(default_factory=dict)
    """Names that the loop binds to parts of arrays."""
    buffers: dict[str, tuple[str, Border]] = field(default_factory=dict)
    """Copies with a border: the array of whose shape and dtype the inside is, and the border."""
    together: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of names of which one takes over the other's array."""

    def block(self, statements: Sequence[ast.stmt], depth: int) -> list[str]:
        """The statements as lines, ``depth`` levels of four spaces to the right."""
        pieces: list[Piece] = []
        for statement in statements:
            env = self.flow.before.get(id(statement))
            if env is None:
                raise Unsupported("a statement of the loop is never reached", statement.lineno)
            border: list[str] = []
            if isinstance(statement, ast.Assign | ast.AugAssign):
                border = self._bordered(statement.value, env, depth)
            lines = self._statement(statement, env, depth)
            pieces.append(Piece(statement, env, border, lines))
        return self.fuser.lines(pieces, LEVEL * depth)

    def _statement(self, statement: ast.stmt, env: Env, depth: int) -> list[str]:
        match statement:
            case ast.Assign(targets=[target], value=value):
                return self._lines(self._assigned(target, value, env), depth)
            case ast.AugAssign():
                return self._lines(self._augmented(statement, env), depth)
            case ast.Expr(value=ast.Constant()):
                return []
            case ast.Expr(value=value):
                return self._lines(ast.Expr(self._effect(value, env)), depth)
            case ast.Pass() | ast.Continue() | ast.Break():
                return self._lines(statement, depth)
            case ast.If(test=test, body=body, orelse=orelse):
                head = ast.unparse(self.expressions.on_host(test, env))
                lines = [f"{LEVEL * depth}if {head}:", *self.block(body, depth + 1)]
                if orelse:
                    lines += [f"{LEVEL * depth}else:", *self.block(orelse, depth + 1)]
                return lines
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as values, orelse=[]):
                self.expressions.host.add(name)
                head = ast.unparse(self.expressions.on_host(values, env))
                inner = self.block(statement.body, depth + 1)
                return [f"{LEVEL * depth}for {name} in {head}:", *inner]
        first = header(statement, self.source) if hasattr(statement, "body") else ""
        raise Unsupported(f"`{first or ast.unparse(statement)}` in the loop", statement.lineno)

    def _lines(self, statement: ast.stmt, depth: int) -> list[str]:
        text = ast.unparse(ast.fix_missing_locations(statement))
        match statement:
            case ast.Assign(targets=[target], value=ast.Tuple(elts=[_, _, *_] as values)):
                text = f"{_bare(target)} = {', '.join(map(ast.unparse, values))}"
        lines = [text]
        for _ in range(3):  # as deep as brackets are worth breaking
            lines = [part for line in lines for part in wrapped(line, 4 * depth)]
        return [LEVEL * depth + line for line in lines]

    # ----------------------------------------------------------------- borders
    def _bordered(self, value: ast.expr, env: Env, depth: int) -> list[str]:
        """Lines that copy an array with a wrapped border, for slices in place of rolled copies.

        Each roll would be two kernels; filling a border takes two for each axis, for all of them.
        """
        lines: list[str] = []
        taken: set[str] = set()
        for halo in halos(self.source, value, env):
            known = env[halo.base]
            if not isinstance(known, Array) or (like := self._like(known)) is None:
                continue
            wanted = (like, halo.border)
            name = next(
                (n for n, h in self.buffers.items() if h == wanted and n not in taken), None
            )
            name = name or self.name("gpu_wrapped")
            self.buffers[name] = wanted
            taken.add(name)
            for axis, (before, after) in zip(known.shape, halo.border, strict=True):
                self.expressions.need(axis, max(before, after))
            for call in halo.calls:
                self.expressions.parts[id(call.node)] = str(halo.slice_of(call.node, name))
            base = self.expressions.device[halo.base]
            self.expressions.used.add(halo.base)
            lines += [LEVEL * depth + line for line in wrap_border(base, name, halo.border)]
        return lines

    def _like(self, known: Array) -> str | None:
        """An array from before the loop of this shape and dtype."""
        for name, value in self.flow.entry.items():
            same = isinstance(value, Array) and (value.shape, value.dtype)
            if same == (known.shape, known.dtype) and name in self.expressions.device:
                return name
        return None

    # ------------------------------------------------------------ assignments
    def _assigned(self, target: ast.expr, value: ast.expr, env: Env) -> ast.stmt:
        match target, value:
            case ast.Tuple(elts=targets), ast.Tuple(elts=values):
                return self._exchanged(targets, values, env)
            case ast.Subscript(), _:
                part = self._target(target, env)
                return ast.Assign([part.node], self._stored(value, env, _apart(target, value)))
        name = dotted(target)
        if name is None:
            raise Unsupported(f"`{ast.unparse(target)}` is assigned", target.lineno)
        if name not in self.expressions.arrays:
            if not isinstance(target, ast.Name):
                raise Unsupported(f"`{name}` is assigned in the loop", target.lineno)
            new = self.expressions.on_host(value, env)
            self.expressions.host.add(name)
            return ast.Assign([target], new)
        new_array = self._array(value, env)
        self._bound(name, value, new_array)
        return ast.Assign([self._named(name)], new_array.node)

    def _exchanged(self, targets: list[ast.expr], values: list[ast.expr], env: Env) -> ast.stmt:
        """``u, v = v, u``."""
        names = [dotted(target) for target in targets]
        if len(values) != len(names) or any(n not in self.expressions.arrays for n in names):
            raise Unsupported("several names are assigned at once", targets[0].lineno)
        new = [self._array(value, env) for value in values]
        for name, value, array in zip(names, values, new, strict=True):
            self._bound(str(name), value, array)
        left = ast.Tuple([self._named(str(name)) for name in names], ast.Store())
        return ast.Assign([left], ast.Tuple([array.node for array in new], ast.Load()))

    def _bound(self, name: str, value: ast.expr, array: OnDevice) -> None:
        if not array.shape:
            raise Unsupported(f"{name} may become a number", value.lineno)
        self.rebound[name] = None
        if array.view:
            base: ast.expr = value
            while isinstance(base, ast.Subscript):
                base = base.value
            self.together.append((name, str(dotted(base))))
            if base is not value:
                self.views[name] = None

    def _augmented(self, statement: ast.AugAssign, env: Env) -> ast.stmt:
        target, op = statement.target, statement.op
        known = env.get(dotted(target) or "")
        if isinstance(target, ast.Name) and not isinstance(known, Array):
            if target.id in self.expressions.arrays:
                raise Unsupported(f"{target.id} is a number and an array", statement.lineno)
            self.expressions.on_host(ast.Name(target.id, ast.Load(), lineno=target.lineno), env)
            new = self.expressions.on_host(statement.value, env)
            self.expressions.host.add(target.id)
            return ast.AugAssign(target, op, new)
        if isinstance(op, ast.Pow | ast.MatMult):
            raise Unsupported(f"`{ast.unparse(statement)}` in place", statement.lineno)
        part = self._target(target, env)
        # the operation's own exactness, and whether it is known at all
        load = ast.BinOp(_loaded(target), op, statement.value)
        self.expressions.on_device(ast.copy_location(load, statement), env)
        return ast.AugAssign(part.node, op, self._stored(statement.value, env))  # type: ignore[arg-type]

    def _target(self, target: ast.expr, env: Env) -> OnDevice:
        """What elements are stored into."""
        base: ast.expr = target
        while isinstance(base, ast.Subscript):
            base = base.value
        part = self.expressions.on_device(_loaded(target), env)
        name = dotted(base)
        if part is None or name is None:
            raise Unsupported(f"`{ast.unparse(target)}` is assigned", target.lineno)
        self.written[name] = None
        return part

    def _stored(self, value: ast.expr, env: Env, apart: bool = False) -> ast.expr:
        """What is stored into an array; parts of arrays are copied, as they may overlap it.

        ``apart``: it is known that they do not.
        """
        new = self.expressions.on_device(value, env)
        if new is None:
            return value
        if not new.view or apart:
            return new.node
        return ast.Call(ast.Attribute(new.node, "copy", ast.Load()), [], [])

    def _array(self, value: ast.expr, env: Env) -> OnDevice:
        new = self.expressions.on_device(value, env)
        if new is None:
            raise Unsupported(f"`{ast.unparse(value)}` is no array", value.lineno)
        return new

    def _named(self, name: str) -> ast.Name:
        return ast.Name(self.expressions.device[name], ast.Store())

    # ---------------------------------------------------------------- effects
    def _effect(self, value: ast.expr, env: Env) -> ast.expr:
        """``frames.append(u.copy())``, ``print(step, u.max())``."""
        match value:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item], keywords=[]
            ) if self._is_list(name):
                return ast.Call(value.func, [self._item(item, env)], [])
        return self.expressions.on_host(value, env)

    def _is_list(self, name: str) -> bool:
        observation = self.expressions.region.observation
        assert observation is not None
        known = observation.values.get(name)
        return known is not None and known.type_name == "builtins.list"

    def _item(self, item: ast.expr, env: Env) -> ast.expr:
        try:
            return self.expressions.on_host(item, env)
        except Unsupported:
            array = self.expressions.on_device(item, env)
        if array is None or array.view or not array.shape:
            text = ast.unparse(item)
            raise Unsupported(f"`{text}` is kept, which the loop may go on to change", item.lineno)
        # u.copy() is what fetching makes anyway
        match array.node:
            case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[]):
                array = OnDevice(inner, array.shape, array.dtype)
        return ast.Call(ast.Attribute(array.node, "get", ast.Load()), [], [])


def _apart(target: ast.expr, value: ast.expr) -> bool:
    """Whether two parts of one array have no element in common: ``u[0]`` and ``u[1]``."""
    match target, value:
        case ast.Subscript(value=one), ast.Subscript(value=other):
            if dotted(one) is None or dotted(one) != dotted(other):
                return False
            pairs = zip(_indices(target), _indices(value), strict=False)
            numbers = [(rolls.integer(a), rolls.integer(b)) for a, b in pairs]
            # u[0] and u[-1] are one row where there is one
            return any(
                a is not None and b is not None and a != b and (a < 0) == (b < 0)
                for a, b in numbers
            )
    return False


def _indices(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _bare(target: ast.expr) -> str:
    return ast.unparse(target).removeprefix("(").removesuffix(")")


def _loaded(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name(id=name):
            return ast.copy_location(ast.Name(name, ast.Load()), target)
        case ast.Subscript(value=base, slice=index):
            return ast.copy_location(ast.Subscript(base, index, ast.Load()), target)
        case ast.Attribute(value=base, attr=attr):
            return ast.copy_location(ast.Attribute(base, attr, ast.Load()), target)
    return target

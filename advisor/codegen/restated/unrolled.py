"""Short lists written out element by element: ``[image[y + d, x] for d in (-1, 0, 1)]``.

Loops over constants become their iterations. Numbers that no iteration changes and that were seen
to have one value count as constants, by a test above the loop.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...loopnest.scope import own_nodes
from ...model import Basis, Condition
from ...names import import_edit
from .bounds import Form, Known, added, linear, spelled
from .draft import Draft
from .windows import known_at

_MOST = 64
"""Elements of one list."""
_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
Env = Mapping[str, ast.expr]
"""What stands for a name: a number, or an expression of the loop."""


class _Unknown(Exception):
    """Not written out: it hangs on what the loop computes."""


class Unrolling:
    """Writes out what one statement makes, and notes what that rests on."""

    def __init__(self, draft: Draft, statement: ast.stmt) -> None:
        self.draft = draft
        self.known: Known = known_at(draft, statement)
        self.tests: dict[str, None] = {}
        self.names: frozenset[str] = frozenset()
        """Variables that have no value any more."""
        self.of_array = self.of_rows = False
        """The elements are a part of an array, which sorting would sort along; in rows."""
        names = [n for n in ast.walk(draft.loop) if isinstance(n, ast.Name)]
        self.stored = {n.id for n in names if not isinstance(n.ctx, ast.Load)}

    def asked(self, draft: Draft) -> Draft:
        """The draft on the tests."""
        for test in self.tests:
            condition = Condition(test, Basis.OBSERVED, guarded=True, test=test)
            draft = draft.asking(test, condition)
        return draft

    # ------------------------------------------------------------------- lists
    def items(self, node: ast.expr) -> list[ast.expr] | None:
        """The elements of a list, a part of one, or a part of an array; None if unknown."""
        try:
            match node:
                case (
                    ast.ListComp(elt=elt, generators=generators)
                    | ast.GeneratorExp(elt=elt, generators=generators)
                ):
                    return _few(self._comprehension(elt, generators, {}))
                case ast.List(elts=elts) | ast.Tuple(elts=elts):
                    starred = any(isinstance(e, ast.Starred) for e in elts)
                    return None if starred else list(elts)
                case ast.Call(
                    func=ast.Attribute(value=inner, attr="ravel" | "flatten"), args=[], keywords=[]
                ):
                    found = self.items(inner)
                    self.of_rows = False
                    return found
                case ast.Subscript(value=ast.Name(id=name), slice=index):
                    return self._part(name, index)
        except _Unknown:
            pass
        return None

    def appended(self, loop: ast.For, name: str) -> list[ast.expr] | None:
        """What a loop appends to a list that is empty before it."""
        stores = [n for n in ast.walk(loop) if isinstance(n, ast.Name)]
        self.names |= {n.id for n in stores if isinstance(n.ctx, ast.Store)}
        try:
            return _few(self._iterations(loop, name, {}))
        except _Unknown:
            return None

    def _comprehension(
        self, elt: ast.expr, generators: Sequence[ast.comprehension], env: Env
    ) -> Iterator[ast.expr]:
        if not generators:
            yield put(elt, env)
            return
        first, *rest = generators
        for bound in self._bound(first.target, first.iter, env):
            inner = {**env, **bound}
            if all(self._sure(test, inner) for test in first.ifs):
                yield from self._comprehension(elt, rest, inner)

    def _iterations(self, loop: ast.For, name: str, env: Env) -> Iterator[ast.expr]:
        if loop.orelse:
            raise _Unknown
        for bound in self._bound(loop.target, loop.iter, env):
            inner = {**env, **bound}
            yield from self._statements(loop.body, name, inner)

    def _statements(
        self, body: Sequence[ast.stmt], name: str, env: dict[str, ast.expr]
    ) -> Iterator[ast.expr]:
        for statement in body:
            match statement:
                case ast.For():
                    yield from self._iterations(statement, name, env)
                case ast.Assign(targets=[ast.Name(id=found)], value=value):
                    env[found] = put(value, env)
                case ast.If(test=test, body=[ast.Continue()], orelse=[]):
                    if self._sure(test, env):
                        return
                case ast.If(test=test, body=then, orelse=orelse):
                    taken = then if self._sure(test, env) else orelse
                    yield from self._statements(taken, name, env)
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id=found), attr="append"),
                        args=[item],
                        keywords=[],
                    )
                ) if found == name and not isinstance(item, ast.Starred):
                    yield put(item, env)
                case _:
                    raise _Unknown

    def _sure(self, test: ast.expr, env: Env) -> bool:
        value = self.value(test, env)
        if value is None:
            raise _Unknown
        return bool(value)

    def _bound(self, target: ast.expr, over: ast.expr, env: Env) -> Iterator[dict[str, ast.expr]]:
        """What the target of a loop over constants is in each iteration."""
        match over:
            case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if args:
                numbers = [self.value(a, env) for a in args]
                if not self.draft.is_builtin("range") or any(type(n) is not int for n in numbers):
                    raise _Unknown
                values: Sequence[Any] = range(*numbers)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                values = [self.value(e, env) for e in elts]
            case _:
                raise _Unknown
        if len(values) > _MOST or None in values:
            raise _Unknown
        for value in values:
            yield _bound_to(target, value)

    # --------------------------------------------------------------- constants
    def value(self, node: ast.expr, env: Env | None = None) -> Any:
        """A whole number, a truth value or a tuple of these; None for what is not constant."""
        env = env or {}
        match node:
            case ast.Constant(value=bool() | int() as value):
                return value
            case ast.Name(id=name):
                return self.value(env[name]) if name in env else self._observed(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self.value(operand, env)
                return -value if type(value) is int else None
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                value = self.value(operand, env)
                return None if value is None else not value
            case (
                ast.BinOp(left=left, op=op, right=right)
                | ast.Compare(left=left, ops=[op], comparators=[right])
            ) if type(op) in _OPERATORS:
                return _computed(type(op), self.value(left, env), self.value(right, env))
            case ast.BoolOp(op=op, values=parts):
                found = [self.value(p, env) for p in parts]
                if None in found:
                    return None
                return all(found) if isinstance(op, ast.And) else any(found)
            case ast.Tuple(elts=elts):
                found = [self.value(e, env) for e in elts]
                return None if None in found else tuple(found)
        return None

    def _observed(self, name: str) -> int | None:
        """The number that a variable was seen to be, which no iteration changes."""
        seen = self.draft.values.get(name)
        if seen is None or seen.kind != "int" or name in self.stored or seen.minimum is None:
            return None
        if seen.minimum != seen.maximum:
            return None
        self.tests.setdefault(f"type({name}) is int")
        self.tests.setdefault(f"{name} == {int(seen.minimum)}")
        return int(seen.minimum)

    # ------------------------------------------------------------------- parts
    def _part(self, name: str, index: ast.expr) -> list[ast.expr]:
        """The elements of ``xs[a:b]`` and ``image[a:b, c:d]``, which must lie inside."""
        seen = self.draft.values.get(name)
        slices = index.elts if isinstance(index, ast.Tuple) else [index]
        rank = len(slices)
        if seen is None or name in self.stored or _is_stored_into(self.draft, name):
            raise _Unknown
        if seen.kind not in ("list", "ndarray") or seen.ndim != rank or rank > 2:
            raise _Unknown
        places: list[list[Form]] = [[]]
        for axis, one in enumerate(slices):
            size = f"len({name})" if axis == 0 else f"{name}.shape[{axis}]"
            forms = self._positions(one, size)
            places = [[*before, form] for before in places for form in forms]
        if len(places) > _MOST:
            raise _Unknown
        if seen.kind == "ndarray":
            self._is_array(name, rank)
            self.of_array, self.of_rows = True, rank > 1
        texts = (f"{name}[{', '.join(map(spelled, place))}]" for place in places)
        return [ast.parse(text, mode="eval").body for text in texts]

    def _is_array(self, name: str, rank: int) -> None:
        numpy = import_edit(self.draft.source, "numpy", "np")[0]
        self.tests.setdefault(f"type({name}) is {numpy}.ndarray")
        self.tests.setdefault(f"{name}.ndim == {rank}")

    def _positions(self, part: ast.expr, size: str) -> list[Form]:
        match part:
            case ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper, step=None):
                low, high = linear(lower), linear(upper)
            case _:
                raise _Unknown
        width = self._constant(added(high, low, -1))
        if width is None or not 0 < width <= _MOST:
            raise _Unknown
        self._ask(low)
        self._ask(added({size: 1}, high, -1))
        return [added(low, {"": k}) for k in range(width)]

    def _constant(self, form: Form) -> int | None:
        total = form.get("", 0)
        for term, times in form.items():
            if term:
                value = self.value(ast.parse(term, mode="eval").body)
                if type(value) is not int:
                    return None
                total += times * value
        return total

    def _ask(self, form: Form) -> None:
        """Make sure that a form is at least zero, by a test above the loop if need be."""
        least = self.known.least(form)
        if least is None:
            raise _Unknown
        if set(least) <= {""}:
            if least.get("", 0) < 0:
                raise _Unknown
            return
        self.tests.setdefault(f"{spelled(least)} >= 0")


def _computed(op: type[ast.AST], left: Any, right: Any) -> Any:
    """``left op right`` of two numbers or two tuples; None where it is not known."""
    numbers = isinstance(left, int) and isinstance(right, int)
    tuples = isinstance(left, tuple) and isinstance(right, tuple)
    if not (numbers or (tuples and op in (ast.Eq, ast.NotEq))):
        return None
    if op in (ast.FloorDiv, ast.Mod) and not right:
        return None
    return _OPERATORS[op](left, right)


def _few(items: Iterator[ast.expr]) -> list[ast.expr]:
    found = []
    for item in items:
        found.append(item)
        if len(found) > _MOST:
            raise _Unknown
    return found


def _bound_to(target: ast.expr, value: Any) -> dict[str, ast.expr]:
    match target:
        case ast.Name(id=name) if isinstance(value, int):
            return {name: _number(value)}
        case ast.Tuple(elts=elts) if isinstance(value, tuple) and len(elts) == len(value):
            found: dict[str, ast.expr] = {}
            for one, part in zip(elts, value, strict=True):
                found |= _bound_to(one, part)
            return found
    raise _Unknown


def _number(value: int) -> ast.expr:
    return ast.parse(repr(int(value)), mode="eval").body


def put(node: ast.expr, env: Env) -> ast.expr:
    """The expression with what its names stand for, and plain subscripts: ``x[i - 1]``."""

    class _Put(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.expr:
            return env.get(name.id, name) if isinstance(name.ctx, ast.Load) else name

        def visit_Subscript(self, part: ast.Subscript) -> ast.expr:
            self.generic_visit(part)
            index = part.slice
            if isinstance(index, ast.Tuple):
                part.slice = ast.Tuple([_plain(e) for e in index.elts], ast.Load())
            elif not isinstance(index, ast.Slice):
                part.slice = _plain(index)
            return part

    copy = ast.parse(ast.unparse(node), mode="eval").body
    result = _Put().visit(copy)
    assert isinstance(result, ast.expr)
    return result


def _plain(index: ast.expr) -> ast.expr:
    if isinstance(index, ast.Slice | ast.Starred):
        return index
    return ast.parse(spelled(linear(index)), mode="eval").body


def _is_stored_into(draft: Draft, name: str) -> bool:
    for node in own_nodes(draft.loop):
        match node:
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                while isinstance(value, ast.Subscript):
                    value = value.value
                if isinstance(value, ast.Name) and value.id == name:
                    return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id=found))) if found == name:
                return True
    return False

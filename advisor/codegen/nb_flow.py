"""Statements: how values flow through the loop. Conditions narrow ranges on their branches."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from ..loopnest.ir import PY_INT, Kind, Scalar
from ..loopnest.scope import dotted
from .nb_bounded import bounded
from .nb_bytes import byte, holds_bytes
from .nb_calls import helper_of
from .nb_eval import OPERATORS
from .nb_growth import Growth
from .nb_iterables import first_and_last
from .nb_paths import as_load
from .nb_refine import refine
from .nb_state import Stored, fail
from .nb_values import (
    Items,
    Num,
    Target,
    Unsupported,
    Value,
    View,
    compiled,
    dtype_range,
    hull,
)


class Flow(Growth):
    """Executes statements abstractly in one scope."""

    # ----------------------------------------------------------- statements
    def block(self, body: list[ast.stmt]) -> bool:
        """Execute statements; False if control never reaches the end."""
        return all(self.statement(s) for s in body)

    def statement(self, node: ast.stmt) -> bool:
        """Execute one statement; False if control does not go on behind it."""
        if self.list_statement(node):
            return True
        match node:
            case ast.Assign(targets=targets, value=value):
                self._assign_all(targets, value, node)
            case ast.AnnAssign():
                raise Unsupported("an annotated assignment in the loop", node.lineno)
            case ast.AugAssign():
                self._augment(node)
            case ast.If(test=test, body=body, orelse=orelse):
                return self._if(node, test, body, orelse)
            case ast.For():
                return self._for(node)
            case ast.While():
                return self._while(node)
            case ast.Break():
                self.exits[-1].breaks.append(self.snapshot())
                return False
            case ast.Continue():
                self.exits[-1].continues.append(self.snapshot())
                return False
            case ast.Return(value=value) if self.scope.helper:
                self.returns.append(None if value is None else self.ev.value(value))
                return False
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call() as call) if (
                helper_of(self.ev, dotted(call.func) or "") is not None
            ):
                self.ev.value(call)
            case _:
                text = ast.unparse(node).partition("\n")[0]
                raise Unsupported(f"`{text}` cannot be compiled", node.lineno)
        return True

    def _assign_all(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        sink = self._sink(targets[0]) if len(targets) == 1 else None
        match targets[0], value:
            case (
                (ast.Tuple(elts=left) | ast.List(elts=left)),
                (ast.Tuple(elts=right) | ast.List(elts=right)),
            ) if len(targets) == 1 and len(left) == len(right):
                values: list[Value] = [self.ev.value(e) for e in right]
                for target, one, source in zip(left, values, right, strict=True):
                    self.bind(target, one, node, source)
                return
        result = self.ev.value(value, sink)
        stored = [self._stored(t, result, lambda: self.ev.value(value)) for t in targets]
        for target, noted in zip(targets, stored, strict=True):
            self.bind(target, result, node, value)
            if noted is not None:
                self._note(dotted(target) or "", target, noted)

    def _sink(self, target: ast.expr) -> str | None:
        """The dtype of the array an expression is stored to at once."""
        if not isinstance(target, ast.Subscript):
            return None
        base = self.ev.value(target.value)
        return compiled(base.element) if isinstance(base, View) else None

    def bind(
        self, target: ast.expr, value: Value, node: ast.AST, source: ast.expr | None = None
    ) -> None:
        """Assign a value to a target."""
        match target:
            case ast.Name() | ast.Attribute():
                if isinstance(value, Num):
                    value = self._bounded(target, value, node, source)
                self._bind_name(target, value, node)
            case ast.Subscript():
                if not isinstance(value, Num):
                    text = f"`{ast.unparse(target)}` gets more than a number"
                    raise Unsupported(text, target.lineno)
                written = None if isinstance(node, ast.AugAssign) else source
                self._store(target, self._bounded(target, value, node, source), written)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                items = value.items if isinstance(value, Items) else ()
                if len(items) != len(elts):
                    raise _not_unpacked(target, node)
                for one, item in zip(elts, items, strict=True):
                    self.bind(one, item, node)
            case _:
                raise Unsupported(f"assignment to `{ast.unparse(target)}`", target.lineno)

    def _bounded(self, target: ast.expr, value: Num, node: ast.AST, source: ast.expr | None) -> Num:
        augmented = target if isinstance(node, ast.AugAssign) else None
        variable = isinstance(target, ast.Name)
        return bounded(self.state, value, source, augmented, variable)

    def _bind_name(self, target: ast.Name | ast.Attribute, value: Value, node: ast.AST) -> None:
        path = dotted(target)
        line = target.lineno
        if self.scope.helper and isinstance(target, ast.Attribute):
            # compiled functions get attributes as arguments, and cannot hand them back
            raise Unsupported(f"a method called in the loop assigns {path}", line)
        if path is None or (isinstance(target, ast.Attribute) and path not in self.scope.env):
            raise Unsupported(f"assignment to `{ast.unparse(target)}`", line)
        old = self.scope.env.get(path)
        if isinstance(old, View) and not (isinstance(value, View) and self.same_row(old, value)):
            # a, b = b, a  of arrays would have to be undone outside
            raise Unsupported(f"{path} is bound to another array in the loop", line)
        if isinstance(value, View) and old is not None and not isinstance(old, View):
            raise Unsupported(f"{path} is a number first and an array later", line)
        if isinstance(value, Target):
            raise Unsupported(f"{path} stands for a function", line)
        if isinstance(value, Num):
            value = replace(value, entry=False)
            if self.state.recording and not self.scope.helper:
                self._note(path, target, Stored(value.types))
            if value.form is None and (value.lows or value.highs):
                form = self.state.bounded_symbol(path, value.lows, value.highs)
                value = replace(value, form=form)
        self.scope.env[path] = value
        self.scope.maybe.discard(path)

    def _store(self, target: ast.Subscript, value: Num, source: ast.expr | None) -> None:
        base = self.ev.value(target.value)
        if not isinstance(base, View):
            raise Unsupported(f"assignment to `{ast.unparse(target)}`", target.lineno)
        view = self.ev.indexed(base, target)
        if view.ndim:
            raise Unsupported(f"`{ast.unparse(target)}` is a whole row", target.lineno)
        self.state.written.add(view.array)
        if holds_bytes(self.state, view):
            byte(self.state, value, target, source)
            return
        self._storable(view, value, target)
        if self.state.recording and view.element == PY_INT:
            before = self.state.stored.get(view.array, value)
            self.state.stored[view.array] = hull([before, value], PY_INT)

    def _storable(self, view: View, value: Num, target: ast.Subscript) -> None:
        element, line = view.element, target.lineno
        text = ast.unparse(target)
        if element.is_python:
            if value.types != {element}:
                # a list takes any object: its element would change type
                held = " or ".join(sorted(map(str, value.types)))
                raise Unsupported(f"`{text}` of a list of {element} gets {held}", line)
            return
        if value.type.kind is Kind.COMPLEX and element.kind is not Kind.COMPLEX:
            raise Unsupported(f"`{text}` gets a complex number", line)
        if element.kind is Kind.BOOL and value.type.kind is not Kind.BOOL:
            raise Unsupported(f"`{text}` of a bool array gets {value.type}", line)
        limits = dtype_range(compiled(element))
        if limits is None or element.kind is Kind.BOOL:
            return
        if value.type.kind is Kind.FLOAT and not (value.bounded and value.within(*limits)):
            fail(self.state, f"`{text}` may get a float outside the range of {element}", target)
        if value.type == PY_INT and not value.within(*limits):
            fail(self.state, f"`{text}` may get an int outside the range of {element}", target)

    def _augment(self, node: ast.AugAssign) -> None:
        load = as_load(node.target)
        old = self.ev.number(load)
        sink = self._sink(node.target)
        added = self.ev.number(node.value)
        result = self.ev.binary(
            None, OPERATORS.get(type(node.op), "@"), load, node.value, old, added, sink, node
        )
        path = dotted(node.target)
        if path is not None and isinstance(node.op, ast.Add | ast.Sub):
            key = (id(node), path)
            self.state.increments[key] = (
                added
                if isinstance(node.op, ast.Add)
                else Num(added.type, _neg(added.high), _neg(added.low))
            )
        noted = self._stored(node.target, result, lambda: self._augmented(node))
        self.bind(node.target, result, node, node.value)
        if noted is not None:
            self._note(path or "", node.target, noted)

    def _augmented(self, node: ast.AugAssign) -> Value:
        load, op = as_load(node.target), OPERATORS.get(type(node.op), "@")
        old, added = self.ev.number(load), self.ev.number(node.value)
        return self.ev.binary(None, op, load, node.value, old, added, None, node)

    # ---------------------------------------------------------------- types
    def _note(self, path: str, target: ast.expr, stored: Stored) -> None:
        place = (target.lineno, target.col_offset)
        self.state.stores.setdefault(path, {})[place] = stored

    def _stored(
        self, target: ast.expr, result: Value, compute: Callable[[], Value]
    ) -> Stored | None:
        """How the new type hangs on the old one: ``c += 1`` keeps it, ``c += a[i]`` does not."""
        path = dotted(target)
        old = self.scope.env.get(path or "")
        if path is None or self.scope.helper or not self.state.recording:
            return None
        if not isinstance(old, Num) or not isinstance(result, Num) or not result.also:
            return None
        after: dict[Scalar, frozenset[Scalar]] = {}
        self.state.quiet += 1
        try:
            for type_ in old.types:
                self.scope.env[path] = replace(old, type=type_, also=frozenset())
                new = compute()
                if isinstance(new, Num):
                    after[type_] = new.types
        except Unsupported:
            return None
        finally:
            self.scope.env[path] = old
            self.state.quiet -= 1
        return Stored(result.types, after)

    # ---------------------------------------------------------------- paths
    def _if(
        self, node: ast.If, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]
    ) -> bool:
        self.ev.test(test)
        before = self.snapshot()
        ends = []
        for branch, truth in ((body, True), (orelse, False)):
            self.restore(before)
            if refine(self.ev, test, truth) and self.block(branch):
                ends.append(self.snapshot())
        after = self.merged(ends, node)
        if after is None:
            return False
        self.restore(after)
        return True

    def _while(self, node: ast.While) -> bool:
        def head(recording: bool) -> bool:
            del recording
            self.ev.test(node.test)
            return refine(self.ev, node.test, True)

        def leave() -> bool:
            return refine(self.ev, node.test, False)

        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return self.run_loop(node, head, leave, sure=False, endless=endless)

    def _for(self, node: ast.For) -> bool:
        bind, sure = self.iteration(node)
        if self.state.assumption.trips and not sure:
            self.trip_guard(node)
            sure = True
        around = self.ends
        self.ends = {**around, **first_and_last(node)}

        def head(recording: bool) -> bool:
            bind()
            return True

        facts = len(self.state.facts)
        try:
            return self.run_loop(node, head, lambda: True, sure=sure)
        finally:
            self.ends = around
            del self.state.facts[facts:]


def _neg(bound: int | float | None) -> int | float | None:
    return None if bound is None else -bound


def _not_unpacked(target: ast.expr, node: ast.AST) -> Unsupported:
    """Why ``for x, y in points`` cannot be compiled: what the tuples hold is not known."""
    match node:
        case ast.For(iter=whole):
            what = f"the items of `{ast.unparse(whole)}`"
        case ast.Assign(value=value):
            what = f"`{ast.unparse(value)}`"
        case _:
            what = "something"
    text = f"{what} taken apart into `{ast.unparse(target)}`: compiled code knows no such tuples"
    advice = "keep each variable's numbers in a list or an array of its own"
    return Unsupported(text, target.lineno, advice)

"""Calls of built-ins, ``math`` and NumPy scalars, and generator expressions in them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..model import SiteObservation, Source
from . import typing_rules as typing
from .bindings import Frame, Private, Stop
from .ir import (
    PY_BOOL,
    PY_FLOAT,
    PY_INT,
    Call,
    Const,
    Expr,
    Kind,
    Scalar,
    Var,
)
from .lower_assignments import Item, place
from .lower_conditions import ConditionLowering
from .lower_text import no_number


class CallLowering(ConditionLowering):
    """Calls in expressions and statements."""

    def __init__(
        self,
        source: Source,
        observation: SiteObservation,
        local: frozenset[str],
        taken: frozenset[str],
        functions: Mapping[str, ast.FunctionDef],
    ) -> None:
        super().__init__(source, observation, local, taken)
        self.functions = functions
        self.stack: list[ast.FunctionDef] = []
        self.generated: dict[int, ast.stmt] = {}
        """Loops written for generator expressions, by the expression's node."""

    def call(self, node: ast.Call) -> Expr:
        """A call used as a number. Raises Stop."""
        item = self.call_item(node)
        if isinstance(item, Expr):
            return item
        raise Stop(f"{ast.unparse(node)} is not a number", node.lineno)

    def call_item(self, node: ast.Call) -> Item:
        """A call; helpers may return a tuple."""
        line = node.lineno
        path = self.path(node.func)
        if path is None:
            found = self.text_method(node) or self.method(node)
            if found is None:
                raise Stop(f"{ast.unparse(node.func)}() is called inside the loop", line)
            return found
        helper = self.helper(path)
        if helper is not None:
            return self.inline(node, path, helper)
        if path == "map" and self.is_builtin(path) and (each := _mapped(node)) is not None:
            return tuple(self.item(call) for call in each)
        if any(isinstance(a, ast.Starred) for a in node.args) or node.keywords:
            if self.pure_name(path) is None:
                raise Stop(f"{path}() is called inside the loop", line)
            raise Stop(f"{ast.unparse(node)}: keywords or * in a call", line)
        name = self.pure_name(path)
        if name == "len":
            return self.length(node)
        if name in ("sum", "any", "all") and len(node.args) == 1:
            return self.over_generator(name, node)
        if name is None:
            method = self.text_method(node) or self.method(node)
            if method is not None:
                return method
            raise Stop(
                f"{path}() is called inside the loop", line, "it may do anything: move it out"
            )
        unbounded = no_number(node) if name == "float" else None
        if unbounded is not None:
            return Const(PY_FLOAT, line, unbounded)
        return self.pure_call(name, path, node)

    def pure_name(self, path: str) -> str | None:
        """The canonical name of a built-in, ``math`` or NumPy function; None for others."""
        names = typing.BUILTINS | {"len", "sum", "any", "all", "ord", "chr"}
        if path in names and self.is_builtin(path):
            return path
        canonical = self.canonical(path)
        if canonical is None:
            return None
        if canonical.startswith(("math.", "numpy.")) or canonical in typing.BUILTINS:
            return canonical
        return None

    def pure_call(self, name: str, path: str, node: ast.Call) -> Expr:
        """A call without effects, typed by trying it."""
        line = node.lineno
        args = [self.expr(a) for a in node.args]
        of_text = self.text_call(name, args, line)
        if of_text is not None:
            return of_text
        kinds: set[Scalar] = set()
        for arg in args:
            self.wide(arg, f"an argument of {path}")
            kinds |= self.types_of(arg)
        kind = typing.call_type(name, tuple(a.type for a in args))
        if kind is None:
            words = ", ".join(str(a.type) for a in args)
            raise Stop(f"{path}({words}) inside the loop", line)
        if path != name or "." in name:
            self.note_module(path)
        result = Call(kind, line, name, tuple(args))
        if name in ("min", "max") and len(kinds) > 1:
            return self.spread(result, frozenset(kinds))
        if name == "abs" and len(kinds) > 1:
            found = {typing.call_type(name, (k,)) for k in self.types_of(args[0])}
            return self.spread(result, frozenset(k for k in found if k is not None))
        return result

    def method(self, node: ast.Call) -> Expr | None:
        """``z.conjugate()``, ``a.item(i)`` and the like; None if unknown."""
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="conjugate"), args=[]):
                path = self.path(owner)
                if path is not None and self.canonical(path) is not None:
                    return None
                value = self.settled(self.expr(owner))
                kind = typing.call_type("conjugate", (value.type,))
                return None if kind is None else Call(kind, node.lineno, "conjugate", (value,))
        return None

    def length(self, node: ast.Call) -> Expr:
        """``len`` of an array, list, row or constant tuple."""
        if len(node.args) != 1:
            raise Stop(f"{ast.unparse(node)}", node.lineno)
        rows = self.table(node.args[0])
        if rows is not None:
            return Const(PY_INT, node.lineno, len(rows.rows))
        view = self.view(node.args[0])
        if view is None or not self.rank(view):
            raise Stop(f"{ast.unparse(node)} inside the loop", node.lineno)
        return self.length_of(view, len(view.prefix), node.lineno)

    def over_generator(self, name: str, node: ast.Call) -> Expr:
        """``sum``, ``any``, ``all`` of a generator: a loop before the statement."""
        line = node.lineno
        argument = node.args[0]
        if not isinstance(argument, ast.GeneratorExp | ast.ListComp):
            return self.over_row(name, argument, line)
        if self.hoist is None:
            raise Stop(f"{name}() of a generator inside a condition", line, "use a statement")
        return self.generator_loop(name, argument.elt, argument.generators, argument, line)

    def over_row(self, name: str, argument: ast.expr, line: int) -> Expr:
        """``sum(row)``: as a generator over the row's elements."""
        view = self.view(argument)
        if view is None or self.rank(view) != 1 or self.hoist is None:
            raise Stop(f"{name}({ast.unparse(argument)}) inside the loop", line)
        element = ast.Name(id="?", ctx=ast.Load(), lineno=line, col_offset=0)
        target = ast.Name(id="?", ctx=ast.Store(), lineno=line, col_offset=0)
        generator = ast.comprehension(target=target, iter=argument, ifs=[], is_async=0)
        return self.generator_loop(name, element, [generator], argument, line)

    def generator_loop(
        self,
        name: str,
        element: ast.expr,
        generators: list[ast.comprehension],
        key: ast.expr,
        line: int,
    ) -> Expr:
        """The loop of ``sum(e for x in xs if c)``, ``any(...)`` or ``all(...)``."""
        if any(g.is_async for g in generators) or (name != "sum" and len(generators) > 1):
            raise Stop(f"{name}() of this generator inside the loop", line)
        result = self.invent(name)
        names = {
            n.id
            for g in generators
            for n in ast.walk(g.target)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        outer = self.frame
        self.frame = Frame(
            outer.function,
            (*outer.path, id(key)),
            {**outer.names, **{n: self.invent(n if n != "?" else "item") for n in sorted(names)}},
            outer.objects,
        )
        assert self.hoist is not None
        try:
            where = place(line)
            start: int | bool = 0 if name == "sum" else name == "all"
            kind = PY_INT if name == "sum" else PY_BOOL
            self.hoist.append(self.put(result, Const(kind, line, start), where))
            if id(key) not in self.generated:
                # made once: the fix point over loop heads knows loops by their nodes
                self.generated[id(key)] = _generator_body(name, element, generators, line)
            body = self.generated[id(key)]
            self.sums.append(result)
            self.frame_result(result)
            self.hoist += self.block([body])
        finally:
            self.frame = outer
        found = self.env.get(result) if self.env is not None else None
        assert isinstance(found, Private)
        if name == "sum" and any(t.is_python and t.kind is Kind.FLOAT for t in found.types):
            # Python 3.12 adds floats in sum() with compensation: not the sequential sum
            raise Stop("sum() of floats, which newer Pythons compensate", line, "add in a loop")
        return self.spread(
            Var(self.joined(found.types, "the sum", line), line, result), found.types
        )

    def frame_result(self, result: str) -> None:
        """Let the generator's loop body write its result under a name no one else uses."""
        names = dict(self.frame.names)
        names["!result"] = result
        self.frame.names = names

    sums: list[str]

    def helper(self, path: str) -> ast.FunctionDef | None:
        """The user's function under a name at the call site."""
        raise NotImplementedError

    def inline(self, node: ast.Call, path: str, helper: ast.FunctionDef) -> Item:
        """The helper's body in place of the call."""
        raise NotImplementedError


def _generator_body(
    name: str, element: ast.expr, generators: list[ast.comprehension], line: int
) -> ast.stmt:
    """The loop a generator expression stands for, writing to the name ``!result``."""

    def at(node: ast.AST) -> ast.AST:
        return ast.copy_location(node, element)

    target = ast.Name(id="!result", ctx=ast.Store())
    body: ast.stmt
    if name == "sum":
        body = ast.AugAssign(target=target, op=ast.Add(), value=element)
        body = ast.fix_missing_locations(at(body))  # type: ignore[assignment]
        inner: list[ast.stmt] = [body]
    else:
        value = ast.Constant(value=name == "any")
        test = element if name == "any" else ast.UnaryOp(op=ast.Not(), operand=element)
        put = ast.Assign(targets=[target], value=value)
        body = ast.If(test=test, body=[put, ast.Break()], orelse=[])
        inner = [body]
    for generator in reversed(generators):
        for condition in reversed(generator.ifs):
            inner = [ast.If(test=condition, body=inner, orelse=[])]
        inner = [ast.For(target=generator.target, iter=generator.iter, body=inner, orelse=[])]
    for node in ast.walk(inner[0]):
        if isinstance(node, ast.stmt | ast.expr) and not hasattr(node, "lineno"):
            ast.copy_location(node, element)
    return inner[0]


def _mapped(node: ast.Call) -> list[ast.expr] | None:
    """The calls of ``map(radians, (a, b))``, which is taken apart where it stands."""
    match node:
        case ast.Call(
            args=[
                ast.Name() | ast.Attribute() as function,
                ast.Tuple(elts=elts) | ast.List(elts=elts),
            ],
            keywords=[],
        ) if not any(isinstance(e, ast.Starred) for e in elts):
            calls = [ast.Call(function, [item], []) for item in elts]
            return [ast.copy_location(call, node) for call in calls]
    return None

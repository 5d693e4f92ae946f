"""Statements over vectors: branches, loops and returns around the assignments."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..nb_values import Unsupported
from .vector_assignments import Assignments
from .vector_values import Env, Function, Number, Other, Value, Vector, element_type, flat, joined

if TYPE_CHECKING:
    from .vector_functions import Functions

_ROUNDS = 5
_LONGEST = 88


class Statements(Assignments):
    """The edits of one scope: the loop, or the body of a function that it calls."""

    def __init__(self, functions: Functions, local: frozenset[str], env: Env) -> None:
        super().__init__(functions, local, env)
        self.results: list[Value] = []
        """What the scope's ``return`` statements give."""
        self.after: dict[str, Value] = {}
        """What variables may be where a loop is left or begun anew early."""

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Statements one after the other. Raises Unsupported."""
        for node in body:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        """One statement. Raises Unsupported."""
        self.first, self.impure, self.known = [], [], {}
        match node:
            case ast.Assign(targets=[target], value=value):
                self.assign(node, target, value)
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                self.number_only(node, value)
                self.env[target.id] = self.assigned(target.id, self.value(value))
            case ast.AugAssign():
                self.augmented(node)
            case ast.Expr(value=value):
                self.expression(node, value)
            case ast.If():
                self.branch(node)
            case ast.While():
                self.repeated(node, node.test)
            case ast.For():
                self.loop(node)
            case ast.Return():
                self.leave(node)
            case ast.Break() | ast.Continue():
                self.after = (
                    joined(self.after, self.env, node.lineno) if self.after else {**self.env}
                )
            case ast.Pass():
                pass
            case _:
                self.untouched(node)
        if self.impure and self.functions.is_helper(self.local):
            call = self.impure[0]
            raise Unsupported(f"{ast.unparse(call.func)}() may do anything", call.lineno)

    def expression(self, node: ast.Expr, value: ast.expr) -> None:
        """``rows.append(v)``, and calls for their effect."""
        if isinstance(value, ast.Constant):
            return
        if self.functions.is_helper(self.local):
            raise Unsupported("a function does more than compute", node.lineno)
        match value:
            case ast.Call(func=ast.Attribute(attr="append"), args=[argument], keywords=[]):
                found = self.value(argument)
                if isinstance(found, Vector):
                    if found.owners and found.kind != "tuple":
                        raise Unsupported("a vector is kept in a list", node.lineno)
                    self.put(argument, self.number_of(found, node).node)
                    self.hoisted(node)
                    return
        self.number_only(node, value)

    def branch(self, node: ast.If) -> None:
        """``if``: either way, joined behind it."""
        self.put(node.test, self.number(node.test).node)
        if self.first and self.draft.source.text(node).startswith("elif"):
            raise Unsupported("a vector is computed for an elif", node.lineno, "compute it above")
        self.hoisted(node)
        before = dict(self.env)
        self.block(node.body)
        then, self.env = self.env, before
        self.block(node.orelse)
        ends = [e for e, body in ((then, node.body), (self.env, node.orelse)) if not _leaves(body)]
        if len(ends) == 2:
            self.env = joined(ends[0], ends[1], node.lineno)
        elif ends:
            self.env = ends[0]

    def repeated(self, node: ast.For | ast.While, test: ast.expr | None) -> None:
        """The body until what the variables may be stays the same, then once for the text."""
        outer, self.after = self.after, {}
        for _ in range(_ROUNDS):
            before = dict(self.env)
            kept = len(self.edits)
            self.head(node, test)
            self.block(node.body)
            ends = joined(self.env, self.after, node.lineno) if self.after else self.env
            self.env = joined(before, ends, node.lineno)
            if {n: self.env[n] for n in before} == before:
                break
            del self.edits[kept:]
        else:
            raise Unsupported("types of variables that go on changing", node.lineno)
        self.after = outer
        self.block(node.orelse)

    def head(self, node: ast.For | ast.While, test: ast.expr | None) -> None:
        """The test of a ``while``, the targets of a ``for``."""
        self.first, self.impure, self.known = [], [], {}
        if test is not None:
            self.put(test, self.number(test).node)
            if self.first:
                raise Unsupported("a vector is computed for a while", node.lineno)
            return
        assert isinstance(node, ast.For)
        self.bind_rows(node.target, node.iter, node)

    def loop(self, node: ast.For) -> None:
        """``for``."""
        if not isinstance(node.iter, ast.Name):
            found = self.number(node.iter)
            self.put(node.iter, found.node)
            self.hoisted(node)
        elif self.is_vectorial(node.iter.id):
            raise Unsupported("a loop over a vector", node.lineno, "write out its components")
        self.repeated(node, None)

    def bind_rows(self, target: ast.expr, iterable: ast.expr, node: ast.For) -> None:
        """The targets of a loop: numbers, and rows of lists of vectors."""
        match target, iterable:
            case ast.Name(id=name), ast.Name() | ast.Attribute():
                self.env[name] = self.row_named(name, self.value(iterable), node.lineno)
                return
            case ast.Name(id=name), ast.Call(func=ast.Name(id="range")):
                self.env[name] = Number(ast.Name(name, ast.Load()), "int")
                return
            case (
                ast.Tuple(elts=[ast.Name(id=place), row]),
                ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]),
            ):
                self.env[place] = Number(ast.Name(place, ast.Load()), "int")
                self.bind_rows(row, inner, node)
                return
            case (
                ast.Tuple(elts=elts),
                ast.Call(func=ast.Name(id="zip"), args=args, keywords=[]),
            ) if len(elts) == len(args):
                for part, inner in zip(elts, args, strict=True):
                    self.bind_rows(part, inner, node)
                return
        for found in ast.walk(target):
            if isinstance(found, ast.Name) and isinstance(found.ctx, ast.Store):
                self.env[found.id] = Other(ast.Name(found.id, ast.Load()))

    def row_named(self, name: str, owner: Value, line: int) -> Value:
        """A row of a list of vectors under the loop's name for it, or an element."""
        here = ast.Name(name, ast.Load())
        if not isinstance(owner, Other) or owner.info is None:
            return Other(here)
        number = element_type(owner.info)
        if owner.rank == 1 and number is not None:
            return Number(here, number)
        if owner.rank != 2:
            return Other(here)
        row = self.row_at(owner, ast.Constant(0), line)
        return Other(here) if row is None else self.placed(name, row)

    def leave(self, node: ast.Return) -> None:
        """``return``: of functions only."""
        if not self.functions.is_helper(self.local) or node.value is None:
            raise Unsupported("return inside the loop", node.lineno)
        found = self.value(node.value)
        if isinstance(found, Function):
            raise Unsupported("a function is returned", node.lineno)
        self.results.append(found)
        if not isinstance(found, Vector):
            self.put(node.value, self.number_of(found, node).node)
            self.hoisted(node)
            return
        numbers = list(flat(found))
        self.refuse_repeated_calls(node, numbers)
        text = ", ".join(ast.unparse(n.node) for n in numbers)
        lines = [f"return {text}"]
        if len(text) > _LONGEST:
            parts = (f"    {ast.unparse(n.node)}," for n in numbers)
            lines = ["return (", *parts, ")"]
        self.edits += self.draft.instead(node, [*self.first, *lines])


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a block ends in a jump."""
    return bool(body) and isinstance(body[-1], ast.Return | ast.Break | ast.Continue)

"""Functions and methods that are given records, written out where they are called.

Compiled code can be given numbers and arrays, no objects: ``p.move(dt)`` becomes what ``move``
does to ``p``, and the attributes become columns afterwards.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...loopnest.scope import declared, dotted, local_names, module_of, own_nodes, stored_names
from ...model import Edit
from ..nb_values import Unsupported
from .draft import Draft
from .generators import evaluated_first, is_calm, unconditional
from .records import Table, record_names, tables_of

_MOST = 40
"""Calls that one loop may have written out."""


@dataclass(frozen=True)
class Call:
    """A call that is given a record."""

    statement: ast.stmt
    node: ast.Call
    function: ast.FunctionDef
    receiver: ast.expr | None
    """The object in front of the dot."""


def without_calls(draft: Draft) -> Draft:
    """Each call of the loop that is given a record, written out."""
    for _ in range(_MOST):
        found = next(_calls(draft), None)
        if found is None:
            return draft
        draft = _Inline(draft, found).written()
    raise Unsupported("too many calls in one loop", draft.loop.lineno)


# --------------------------------------------------------------------- search
def _calls(draft: Draft) -> Iterator[Call]:
    tables = tables_of(draft)
    if not tables:
        return
    records = record_names(draft.loop, tables)
    for statement in own_nodes(draft.loop):
        if not isinstance(statement, ast.stmt):
            continue
        for node in _own_expressions(statement):
            if isinstance(node, ast.Call):
                found = _called(draft, statement, node, tables, records)
                if found is not None:
                    yield found


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Expressions of a statement, without those of the statements inside it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield from ast.walk(child)


def _called(
    draft: Draft,
    statement: ast.stmt,
    node: ast.Call,
    tables: Mapping[str, Table],
    records: Mapping[str, str],
) -> Call | None:
    """The call with its function, if it is given a record and the function is known."""

    def table_of(part: ast.expr) -> Table | None:
        match part:
            case ast.Name(id=name) if name in records:
                return tables[records[name]]
            case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Slice):
                return tables.get(dotted(value) or "")
        return None

    match node.func:
        case ast.Name(id=name):
            function = module_of(draft.source).functions.get(name)
            given = [*node.args, *(k.value for k in node.keywords)]
            if function is None or not any(table_of(part) for part in given):
                return None
            return Call(statement, node, function, None)
        case ast.Attribute(value=receiver, attr=name):
            table = table_of(receiver)
            if table is None or table.owner is None:
                return None
            methods = [
                n for n in table.owner.body if isinstance(n, ast.FunctionDef) and n.name == name
            ]
            replaced = any(
                isinstance(n, ast.Attribute) and n.attr == name and isinstance(n.ctx, ast.Store)
                for n in draft.source.nodes
            )
            if len(methods) != 1 or methods[0].decorator_list or replaced:
                return None
            return Call(statement, node, methods[0], receiver)
    return None


# ----------------------------------------------------------------------- text
class _Inline:
    """One call, written out."""

    def __init__(self, draft: Draft, call: Call) -> None:
        self.draft = draft
        self.call = call
        self.new: list[str] = []
        self.first: list[str] = []
        """Lines that give parameters their values."""
        self.given: dict[str, ast.expr] = {}
        """What stands for a parameter or a variable of the function."""

    def written(self) -> Draft:
        """The draft behind the change. Raises Unsupported."""
        draft, call = self.draft, self.call
        body = self._body()
        self._check(body)
        self._bind()
        match body:
            case [ast.Return(value=ast.expr() as value)] if not self.first:
                text = f"({ast.unparse(self._renamed(value))})"
                return self._done([Edit(*draft.source.span(call.node), text)])
        *rest, last = body
        if isinstance(call.statement, ast.Expr) and call.statement.value is call.node:
            lines = [*self.first, *self._lines(body, None)]
            return self._done(draft.instead(call.statement, lines))
        root = evaluated_first(draft, call.statement)
        if root is None or not any(n is call.node for n in unconditional(root)):
            text = f"{call.function.name}() is called inside a condition or a larger expression"
            raise Unsupported(text, call.node.lineno, "assign its result before")
        del rest, last
        result = self._free(call.function.name.strip("_") or "result")
        lines = [*self.first, *self._lines(body, result)]
        edit = Edit(*draft.source.span(call.node), result)
        return self._done([*draft.above(call.statement, lines), edit])

    def _done(self, edits: Sequence[Edit]) -> Draft:
        draft = self.draft.advanced(edits)
        return replace(draft, names=draft.names | frozenset(self.new))

    def _free(self, wanted: str) -> str:
        self.new.append(self.draft.free(wanted, *self.new))
        return self.new[-1]

    def _body(self) -> list[ast.stmt]:
        match self.call.function.body:
            case [ast.Expr(value=ast.Constant(value=str())), *rest]:
                return rest
        return self.call.function.body

    def _check(self, body: list[ast.stmt]) -> None:
        """What can be written out: branches and loops, ``return`` at the ends of branches."""
        function, line = self.call.function, self.call.node.lineno
        name = function.name
        odd = (ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda, ast.FunctionDef, ast.ClassDef)
        if declared(function) or any(isinstance(n, odd) for n in own_nodes(function)):
            raise Unsupported(f"{name}() does more than can be written out", line)
        for loop in (n for n in own_nodes(function) if isinstance(n, ast.For | ast.While)):
            if any(isinstance(n, ast.Return) for n in ast.walk(loop)):
                raise Unsupported(f"{name}() returns from inside a loop", line)
        if any(_calls_itself(n, name) for n in own_nodes(function)):
            raise Unsupported(f"{name}() calls itself", line)
        own = local_names(function)
        scope = local_names(self.draft.function)
        for node in own_nodes(function):
            if isinstance(node, ast.Name) and node.id not in own:
                known = hasattr(builtins, node.id) or module_of(self.draft.source).bound(node.id)
                if node.id in scope or not known:
                    text = f"{name}() uses the global {node.id}, which is a local here"
                    raise Unsupported(text, line)

    def _bind(self) -> None:
        """Give every parameter what stands for it. Raises Unsupported."""
        function, node = self.call.function, self.call.node
        args = function.args
        if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs:
            raise Unsupported(f"{function.name}() has parameters of another kind", node.lineno)
        names = [a.arg for a in args.args]
        receiver = [self.call.receiver] if self.call.receiver is not None else []
        values: dict[str, ast.expr] = dict(zip(names, [*receiver, *node.args], strict=False))
        values |= {k.arg: k.value for k in node.keywords if k.arg is not None}
        defaults = dict(zip(reversed(names), reversed(args.defaults), strict=False))
        too_many = len(receiver) + len(node.args) > len(names)
        if too_many or any(isinstance(v, ast.Starred) for v in values.values()):
            raise Unsupported(f"{function.name}() is called with other arguments", node.lineno)
        stored = stored_names(function)
        for name in names:
            value = values.get(name, defaults.get(name))
            if value is None or (name not in values and not isinstance(value, ast.Constant)):
                raise Unsupported(f"{function.name}() needs {name}", node.lineno)
            if name not in stored and (is_calm(value) or _is_place(value)):
                self.given[name] = value
            else:
                variable = self._free(name)
                self.first.append(f"{variable} = {ast.unparse(value)}")
                self.given[name] = ast.Name(variable, ast.Load())
        for name in sorted(stored - set(names)):
            self.given[name] = ast.Name(self._free(name), ast.Load())

    def _renamed(self, node: ast.AST) -> ast.AST:
        given = self.given

        class _Rename(ast.NodeTransformer):
            def visit_Name(self, name: ast.Name) -> ast.expr:
                if name.id not in given:
                    return name
                found = copy.deepcopy(given[name.id])
                if isinstance(found, ast.Name):
                    found.ctx = name.ctx
                return found

        return _Rename().visit(copy.deepcopy(node))  # type: ignore[no-any-return]

    def _lines(self, body: Sequence[ast.stmt], result: str | None) -> list[str]:
        """The statements, with ``return`` as the end of a branch."""
        lines: list[str] = []
        for position, node in enumerate(body):
            rest = body[position + 1 :]
            if isinstance(node, ast.Return):
                if result is not None:
                    if node.value is None:
                        raise Unsupported("a function may return None", self.call.node.lineno)
                    lines.append(f"{result} = {ast.unparse(self._renamed(node.value))}")
                return lines or ["pass"]
            if isinstance(node, ast.If) and any(isinstance(n, ast.Return) for n in ast.walk(node)):
                test = ast.unparse(self._renamed(node.test))
                then = self._lines([*node.body, *rest], result)
                orelse = self._lines([*node.orelse, *rest], result)
                lines += [f"if {test}:", *(f"    {t}" for t in then)]
                return [*lines, "else:", *(f"    {t}" for t in orelse)]
            lines += ast.unparse(ast.fix_missing_locations(self._renamed(node))).split("\n")
        if result is not None:
            raise Unsupported("a function may return None", self.call.node.lineno)
        return lines or ["pass"]


def _calls_itself(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] == name


def _is_place(node: ast.expr) -> bool:
    """``bodies[i]``: evaluated again it is the same."""
    match node:
        case ast.Subscript(value=ast.Name() | ast.Attribute(), slice=ast.Name() | ast.Constant()):
            return True
    return False

"""A loop body with the functions of the file that it calls written out in it.

What a function computes into new arrays each time can go into buffers only where they outlive the
call: in the loop. The functions themselves stay as they are, for their other callers.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast
from weakref import WeakKeyDictionary

from ..model import Region, Source
from ..names import free_name
from . import ast_tools as tools
from . import rolls
from .bf_values import dotted

MAX_STATEMENTS = 60
"""Longer bodies are not written out: nobody would want to read them."""


_PERHAPS = (
    *(ast.Lambda, ast.IfExp, ast.BoolOp),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
_NOT_WRITTEN_OUT = (
    *_PERHAPS[:1],
    *_PERHAPS[3:],
    *(ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.JoinedStr, ast.Starred),
)


WRITTEN_OUT: WeakKeyDictionary[ast.stmt, list[str]] = WeakKeyDictionary()
"""For the first statement that stands for a call: the original, as comment lines."""


class CannotInline(Exception):
    """The call stays a call."""


@dataclass
class Inliner:
    """Rewrites the statements of one loop; a new tree, the file's own is left alone."""

    region: Region
    taken: set[str] = field(default_factory=set)
    used: list[ast.FunctionDef] = field(default_factory=list)
    receivers: dict[str, str] = field(default_factory=dict)
    """Objects whose methods were written out, with the class's name."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Observed names for new ones."""

    def name(self, wanted: str) -> str:
        """A name that nothing in the file has; at module level it starts with an underscore."""
        prefix = "_" if self.region.function is None and not wanted.startswith("_") else ""
        found = free_name(self.region.source, prefix + wanted, self.taken)
        self.taken.add(found)
        return found

    # -------------------------------------------------------------- statements
    def block(self, statements: list[ast.stmt], depth: int = 0) -> list[ast.stmt]:
        """The statements, calls written out."""
        found: list[ast.stmt] = []
        for statement in statements:
            new = self.statement(statement, depth)
            if depth == 0 and new and new[0] is not statement and _is_simple(statement):
                lines = self.region.source.text(statement).split("\n")
                WRITTEN_OUT[new[0]] = [f"# {line.strip()}" for line in lines]
            found += new
        if len(found) > MAX_STATEMENTS:
            raise CannotInline
        return found

    def statement(self, statement: ast.stmt, depth: int) -> list[ast.stmt]:
        """One statement as one or more."""
        match statement:
            case ast.If() | ast.For() | ast.While() | ast.With():
                changed = copy.copy(statement)
                changed.body = self.block(statement.body, depth)
                if not isinstance(changed, ast.With):
                    changed.orelse = self.block(changed.orelse, depth)
                same = changed.body == statement.body and (
                    isinstance(changed, ast.With) or changed.orelse == statement.orelse  # type: ignore[union-attr]
                )
                return [statement if same else changed]
            case ast.Assign(value=ast.Call() as call) | ast.Expr(value=ast.Call() as call):
                whole = self._whole_call(statement, call, depth)
                if whole is not None:
                    return whole
        if isinstance(statement, ast.Assign | ast.AugAssign):
            return self._split(self._calls_inside(statement, depth))
        return [statement]

    def _whole_call(self, statement: ast.stmt, call: ast.Call, depth: int) -> list[ast.stmt] | None:
        """``u = step(u)``: all that the function does, then the assignment of its result."""
        try:
            before, result = self._expand(call, depth)
        except CannotInline:
            return None
        if isinstance(statement, ast.Assign):
            value = result if result is not None else ast.Constant(None)
            last = ast.copy_location(ast.Assign(statement.targets, value), statement)
            return [*before, *self._split([ast.fix_missing_locations(last)])]
        # The value of  step(u)  alone is thrown away, but computing it may warn.
        if result is None or dotted(result) is not None:
            return before
        if isinstance(result, ast.Tuple) and all(dotted(e) for e in result.elts):
            return before
        return None

    def _calls_inside(self, statement: ast.Assign | ast.AugAssign, depth: int) -> list[ast.stmt]:
        """``u = u + dt * laplacian(u)``: what the function does first, if it only computes."""
        inliner = self
        hoisted: list[ast.stmt] = []

        class Replace(ast.NodeTransformer):
            def visit_Call(self, node: ast.Call) -> ast.AST:
                self.generic_visit(node)
                try:
                    before, result = inliner._expand(node, depth)
                except CannotInline:
                    return node
                if result is None or not all(inliner._only_computes(s) for s in before):
                    return node
                hoisted.extend(before)
                return result

            def visit(self, node: ast.AST) -> ast.AST:
                # x if small else f(x): perhaps f is not called at all
                return node if isinstance(node, _PERHAPS) else super().visit(node)

        changed = copy.deepcopy(statement)
        taken, used = set(self.taken), list(self.used)
        changed.value = cast(ast.expr, Replace().visit(changed.value))
        # u = noise(u) + laplacian(u): what noise does must come first
        if self.used == used or rolls.unknown_call(self.region.source, changed) is not None:
            self.taken, self.used = taken, used
            return [statement]
        return [*hoisted, ast.fix_missing_locations(changed)]

    def _split(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """``u, v = u + a, v + b`` as assignments of one array each, the targets last."""
        last = statements[-1]
        match last:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(
                targets
            ) == len(values) and not all(dotted(v) for v in values):
                if _independent(targets, values):
                    pairs = zip(targets, values, strict=True)
                    new: list[ast.stmt] = [
                        ast.copy_location(ast.Assign([t], v), last) for t, v in pairs
                    ]
                    return [*statements[:-1], *map(ast.fix_missing_locations, new)]
                first: list[ast.stmt] = []
                names: list[ast.expr] = []
                for target, value in zip(targets, values, strict=True):
                    known = dotted(target)
                    if known is None or isinstance(value, ast.Starred):
                        return statements
                    if dotted(value):
                        names.append(value)
                        continue
                    name = self.name(f"{known.rpartition('.')[2]}_new")
                    first.append(ast.Assign([ast.Name(name, ast.Store())], value))
                    names.append(ast.Name(name, ast.Load()))
                swap = ast.Assign(last.targets, ast.Tuple(names, ast.Load()))
                new = [
                    ast.fix_missing_locations(ast.copy_location(s, last)) for s in (*first, swap)
                ]
                return [*statements[:-1], *new]
        return statements

    # ------------------------------------------------------------------- calls
    def _expand(self, call: ast.Call, depth: int) -> tuple[list[ast.stmt], ast.expr | None]:
        """The body of the called function with the arguments in place, and its result.

        Raises CannotInline.
        """
        function, receiver = self._callee(call)
        if depth > 3:
            raise CannotInline
        body = list(function.body)
        if ast.get_docstring(function, clean=False) is not None:
            body = body[1:]
        result = None
        if body and isinstance(body[-1], ast.Return):
            last = body.pop()
            assert isinstance(last, ast.Return)
            result = last.value
        simple: tuple[type[ast.stmt], ...]
        simple = (ast.Assign, ast.AugAssign, ast.Expr, ast.Pass, ast.For, ast.If, ast.While)
        every = [n for part in body for n in ast.walk(part) if isinstance(n, ast.stmt)]
        simple += (ast.Break, ast.Continue, ast.Raise, ast.Assert, ast.With)
        if not all(isinstance(n, simple) for n in every):
            raise CannotInline
        holder = ast.Module([*body, *([ast.Expr(result)] if result else [])], [])
        if any(isinstance(n, _NOT_WRITTEN_OUT) for n in ast.walk(holder)):
            raise CannotInline
        if tools.reads_frames(function) is not None:
            raise CannotInline
        start, mapping = self._bind(call, function, receiver, holder)
        self._locals(holder, mapping)
        renamed = _Rename(mapping).visit(copy.deepcopy(holder))
        ast.fix_missing_locations(renamed)
        new: list[ast.stmt] = renamed.body
        value = None
        if result is not None:
            ending = new.pop()
            assert isinstance(ending, ast.Expr)
            value = ending.value
        self.used.append(function)
        new = self.block([*start, *new], depth + 1)
        if value is not None:
            inner = ast.Assign([ast.Name("_", ast.Store())], value)
            *more, inner_changed = self._calls_inside(ast.fix_missing_locations(inner), depth + 1)
            assert isinstance(inner_changed, ast.Assign)
            new += more
            value = inner_changed.value
        return new, value

    def _callee(self, call: ast.Call) -> tuple[ast.FunctionDef, str | None]:
        """The function called, and what the method is called on. Raises CannotInline."""
        name = dotted(call.func)
        function = self.region.functions.get(name or "")
        source = self.region.source
        if function is None or name is None or not _is_plain(function):
            raise CannotInline
        if function not in source.nodes or function is self.region.function:
            raise CannotInline
        home = tools.parents(source)[function]
        receiver = name.rpartition(".")[0]
        if not receiver and isinstance(home, ast.Module):
            # def step(u): ...  and later  step = compiled(step)
            if tools.bound_names(source).get(name) != 1:
                raise CannotInline
            return function, None
        if isinstance(home, ast.ClassDef) and receiver and "." not in receiver:
            self._check_method(source, home, function, receiver)
            self.receivers[receiver] = home.name
            return function, receiver
        raise CannotInline

    def _check_method(
        self, source: Source, home: ast.ClassDef, function: ast.FunctionDef, receiver: str
    ) -> None:
        """Whether ``receiver.method`` is this method for objects of exactly this class."""
        info = self.region.observation.values.get(receiver) if self.region.observation else None
        if info is None or info.type_name.rpartition(".")[2] != home.name:
            raise CannotInline
        module_level = isinstance(tools.parents(source)[home], ast.Module)
        if not module_level or tools.bound_names(source).get(home.name) != 1:
            raise CannotInline
        if (
            home.keywords
            or home.decorator_list
            or self.receivers.get(receiver)
            not in (
                None,
                home.name,
            )
        ):
            raise CannotInline
        for node in source.nodes:
            # model.step = faster_step    or  setattr(model, name, faster_step)
            named = node.attr if isinstance(node, ast.Attribute) else None
            stored = named == function.name and not isinstance(getattr(node, "ctx", None), ast.Load)
            if stored or named == "__dict__":
                raise CannotInline
            if isinstance(node, ast.Name) and node.id in ("setattr", "vars"):
                raise CannotInline

    def _bind(
        self, call: ast.Call, function: ast.FunctionDef, receiver: str | None, holder: ast.Module
    ) -> tuple[list[ast.stmt], dict[str, ast.expr]]:
        """Assignments of arguments, and what parameters become. Raises CannotInline."""
        arguments = function.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
            raise CannotInline
        names = [argument.arg for argument in arguments.args]
        given: dict[str, ast.expr] = {}
        mapping: dict[str, ast.expr] = {}
        if receiver is not None and not function.decorator_list:
            mapping[names.pop(0)] = ast.Name(receiver, ast.Load())
        if len(call.args) > len(names) or any(isinstance(a, ast.Starred) for a in call.args):
            raise CannotInline
        given.update(zip(names, call.args, strict=False))
        for keyword in call.keywords:
            if keyword.arg is None or keyword.arg in given or keyword.arg not in names:
                raise CannotInline
            given[keyword.arg] = keyword.value
        defaults = zip(reversed(names), reversed(arguments.defaults), strict=False)
        for name, default in defaults:
            if name not in given and isinstance(default, ast.Constant):
                given[name] = default
        if set(given) != set(names):
            raise CannotInline
        rebound = self._attributes_set(holder)
        start: list[ast.stmt] = []
        for name in names:
            value = given[name]
            # def f(z): self.u = 0 * z; return z    with z = self.u
            plain = isinstance(value, ast.Constant | ast.Name) or (
                isinstance(value, ast.Attribute) and dotted(value) and value.attr not in rebound
            )
            if plain and not tools.stores(holder, name):
                mapping[name] = value
                continue
            new = self.name(name)
            mapping[name] = ast.Name(new, ast.Load())
            start.append(ast.fix_missing_locations(ast.Assign([ast.Name(new, ast.Store())], value)))
        return start, mapping

    def _attributes_set(self, holder: ast.AST) -> set[str]:
        """Attributes that the code may bind, or a function of the file that it may call."""
        found: set[str] = set()
        todo, seen = [holder], set()
        while todo:
            for node in ast.walk(todo.pop()):
                if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                    found.add(node.attr)
                called = getattr(node, "attr", getattr(node, "id", None))
                if isinstance(called, str) and called not in seen:
                    seen.add(called)
                    every = self.region.source.nodes
                    todo += [
                        f for f in every if isinstance(f, ast.FunctionDef) and f.name == called
                    ]
        return found

    def _locals(self, holder: ast.Module, mapping: dict[str, ast.expr]) -> None:
        for name in dict.fromkeys(n.id for n in tools.names_in(holder)):
            if tools.stores(holder, name) and name not in mapping:
                mapping[name] = ast.Name(self._local_name(name), ast.Load())
            elif name not in mapping and self._is_local_here(name):
                # The function's global k is not the loop's own k.
                raise CannotInline

    def _local_name(self, name: str) -> str:
        """The function's own name for it where the loop's function and the module lack it."""
        function = self.region.function
        if (
            function is None
            or name in self.taken
            or name
            in {n.id for n in tools.names_in(function)}
            | {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}
        ):
            return self.name(name)
        at_top = (n for n in tools.own_nodes(self.region.source.tree) if not isinstance(n, ast.arg))
        if any(name in tools._bound_by(node) for node in at_top):
            return self.name(name)
        self.taken.add(name)
        return name

    def _is_local_here(self, name: str) -> bool:
        function = self.region.function
        if function is None:
            return False
        every = ast.walk(function)
        return any(isinstance(n, ast.arg) and n.arg == name for n in every) or bool(
            tools.stores(function, name)
        )

    def _only_computes(self, statement: ast.stmt) -> bool:
        """Whether it changes nothing but new names, so that it may be done earlier."""
        plain = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        return plain and rolls.unknown_call(self.region.source, statement) is None


def _independent(targets: list[ast.expr], values: list[ast.expr]) -> bool:
    """``u, v = a + 1, b + 1``: no value reads what is bound before it."""
    if not all(isinstance(target, ast.Name) for target in targets):
        return False
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return not any(n.id in names for value in values for n in tools.names_in(value)) and not any(
        isinstance(value, ast.Starred) for value in values
    )


def _is_simple(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr)


def _is_plain(function: ast.FunctionDef) -> bool:
    names = [getattr(decorator, "id", "") for decorator in function.decorator_list]
    return names in ([], ["staticmethod"])


class _Rename(ast.NodeTransformer):
    def __init__(self, mapping: Mapping[str, ast.expr]) -> None:
        self.mapping = mapping

    def visit_Name(self, node: ast.Name) -> ast.expr:
        new = self.mapping.get(node.id)
        if new is None:
            return node
        if isinstance(new, ast.Name):
            return ast.Name(new.id, node.ctx)
        return copy.deepcopy(new)

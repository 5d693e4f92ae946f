"""Helper functions and methods of the user, in place of their calls."""

from __future__ import annotations

import ast
import builtins

from . import typing_rules as typing
from .bindings import Frame, Given, Private, Stop, View, merge_envs
from .calls import CallLowering
from .evaluated import comes_first
from .ir import (
    PY_BOOL,
    PY_INT,
    Break,
    Call,
    Const,
    Expr,
    If,
    Len,
    Load,
    Select,
    Stmt,
    Store,
    Var,
    statements,
    walk,
)
from .lower_assignments import Item, place
from .lower_statements import contains_return
from .scope import declared, dotted, literal, own_nodes, parameters, stored_names

_DEEPEST = 6
"""Helpers inside helpers; deeper ones are refused rather than blown up."""
_GENERATORS = (ast.Yield, ast.YieldFrom, ast.Await)


class InlineLowering(CallLowering):
    """Inlining: parameters bound, locals renamed, early returns made into structure."""

    def helper(self, path: str) -> ast.FunctionDef | None:
        """The user's function under a name at the call site."""
        found = self.functions.get(path)
        if found is None and not ("." in path or path in self.local or path in self.frame.names):
            found = self.module.functions.get(path)
        info = self.observation.values.get(path)
        if found is None or info is None:
            return found
        # neighbours = fast_neighbours; neighbours = numba.njit(neighbours): not that text any more
        if info.kind != "function" or info.target_line not in (None, *_lines_of(found)):
            return None
        return found

    def inline(self, node: ast.Call, path: str, helper: ast.FunctionDef) -> Item:
        """The helper's body in place of the call; its value as an expression."""
        line = node.lineno
        self.check_helper(helper, path, line)
        if path not in self.helpers:
            self.helpers.append(path)
        outer = self.frame
        frame = self.frame_for(node, path, helper)
        body = _without_docstring(helper.body)
        self.stack.append(helper)
        try:
            match body:
                case [ast.Return(value=ast.expr() as value)]:
                    self.frame = frame
                    return self.item(value)
            if self.hoist is None:
                raise Stop(
                    f"{path}() is called inside a condition", line, "assign its result before"
                )
            return self.inline_body(node, frame, body)
        finally:
            self.frame = outer
            self.stack.pop()

    def inline_body(self, node: ast.Call, frame: Frame, body: list[ast.stmt]) -> Item:
        """A helper of several statements: hoisted, its returned value in a variable."""
        assert self.hoist is not None and frame.function is not None
        where = place(node.lineno)
        name = frame.function.name
        frame.width = _returned_width(body, node.lineno, name)
        frame.result = self.invent(name)
        results = [f"{frame.result}{k}" for k in range(frame.width)] or [frame.result]
        if frame.width != 1:  # a tuple of one is not its element
            self.inlined.append((tuple(results), node))
        looping = any(contains_return(s, loops_only=True) for s in body)
        if looping:
            frame.done = self.invent(f"{name}_done")
            self.hoist.append(self.put(frame.done, Const(PY_BOOL, node.lineno, False), where))
        in_order = self.alone(node) or self.comes_first(node)
        self.frame = frame
        produced = self.returning(body)
        if any(isinstance(s, Store) for s in statements(tuple(produced))) and not in_order:
            raise Stop(f"{name}() changes an array and is part of a larger expression", node.lineno)
        self.hoist += produced
        self.env = merge_envs([self.env, *frame.returns])
        return self.result_of(frame, node)

    def result_of(self, frame: Frame, node: ast.Call) -> Item:
        """The returned value, one variable each."""
        assert frame.result is not None
        if frame.width:
            return tuple(self.returned(f"{frame.result}{k}", node) for k in range(frame.width))
        return self.returned(frame.result, node)

    def returned(self, name: str, node: ast.Call) -> Expr:
        """Read a result variable."""
        found = self.env.get(name) if self.env is not None else None
        if found is None and node in self.for_effect:
            return Const(PY_INT, node.lineno, 0)
        if not isinstance(found, Private) or not found.defined:
            if node in self.for_effect:
                return Const(PY_INT, node.lineno, 0)
            raise Stop(f"{ast.unparse(node.func)}() may return None", node.lineno)
        kind = self.joined(found.types, "the result", node.lineno)
        return self.spread(Var(kind, node.lineno, name), found.types)

    def alone(self, node: ast.Call) -> bool:
        """Whether the call is a statement of its own or all of a right-hand side."""
        return node in self.for_effect or node in self.whole_values

    def comes_first(self, node: ast.Call) -> bool:
        """Whether nothing that its statement evaluates before the call can see what it stores."""
        return self.running is not None and comes_first(self.running, node, self.is_moved)

    def is_moved(self, node: ast.Call) -> bool:
        """Whether a call is a helper's of several statements, which run above the statement."""
        path = self.path(node.func)
        found = None if path is None else self.helper(path)
        return found is not None and len(_without_docstring(found.body)) > 1

    inlined: list[tuple[tuple[str, ...], ast.Call]]
    """Calls made statements, with the variables of what they return."""
    for_effect: list[ast.Call]
    whole_values: list[ast.Call]

    def inline_statement(self, call: ast.Call, node: ast.stmt) -> None:
        """A helper called for its effect; anything else is refused by name."""
        path = self.path(call.func)
        if path is None or self.helper(path) is None:
            if path is not None and self.pure_name(path) is not None:
                self.expr(call)
                return
            text = path or ast.unparse(call.func)
            raise Stop(f"{text}() is called inside the loop", node.lineno, _hint(text))
        self.for_effect.append(call)
        self.call_item(call)

    def assignment(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> list[Stmt]:
        """See ``StatementLowering``; remembers that a call is the whole right-hand side."""
        if isinstance(value, ast.Call):
            self.whole_values.append(value)
        return super().assignment(targets, value, node)

    def check_helper(self, helper: ast.FunctionDef, path: str, line: int) -> None:
        """Refuse what cannot be inlined, by name. Raises Stop."""
        args = helper.args
        if helper in self.stack:
            raise Stop(f"{path}() calls itself", line)
        if len(self.stack) >= _DEEPEST:
            raise Stop(f"{path}() is nested too deeply in helpers", line)
        if args.vararg or args.kwarg:
            raise Stop(f"{path}() takes * arguments", line)
        if [d for d in helper.decorator_list if dotted(d) != "staticmethod"]:
            raise Stop(f"{path}() is decorated", line, "a decorator may change what it does")
        if declared(helper):
            raise Stop(f"{path}() assigns globals", line)
        for inner in own_nodes(helper):
            if isinstance(inner, _GENERATORS):
                raise Stop(f"{path}() is a generator", line)
            if isinstance(inner, ast.FunctionDef | ast.ClassDef | ast.Lambda):
                raise Stop(f"{path}() defines another function", inner.lineno)

    def frame_for(self, node: ast.Call, path: str, helper: ast.FunctionDef) -> Frame:
        """A frame with the parameters bound and the locals renamed."""
        own = parameters(helper)
        locals_ = sorted(stored_names(helper) | set(own))
        self.check_globals(helper, path, frozenset(locals_), node.lineno)
        names = {n: self.invent(n) for n in locals_}
        objects: dict[str, str] = {}
        frame = Frame(helper, (*self.frame.path, id(node)), names, objects)
        changed = stored_names(helper)
        for name, value in self.arguments(node, path, helper):
            self.bind_parameter(name, value, frame, objects, changed, helper)
        for name in objects:
            del names[name]
        return frame

    def arguments(
        self, node: ast.Call, path: str, helper: ast.FunctionDef
    ) -> list[tuple[str, ast.expr | str | Const]]:
        """Each parameter with its argument: an expression, an object's path or a default."""
        args = helper.args
        names = [a.arg for a in (*args.posonlyargs, *args.args)]
        bound: dict[str, ast.expr | str | Const] = {}
        given: list[ast.expr | str] = list(node.args)
        static = any(dotted(d) == "staticmethod" for d in helper.decorator_list)
        if isinstance(node.func, ast.Attribute) and names[:1] == ["self"] and not static:
            owner = path.rpartition(".")[0]
            given.insert(0, owner)
        if len(given) > len(names):
            raise Stop(f"{path}() is given too many arguments", node.lineno)
        bound.update(zip(names, given, strict=False))
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in bound:
                raise Stop(f"{path}() is called with ** or twice the same", node.lineno)
            bound[keyword.arg] = keyword.value
        defaults = dict(zip(reversed(names), reversed(args.defaults), strict=False))
        defaults.update(
            (a.arg, d)
            for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)
            if d is not None
        )
        result: list[tuple[str, ast.expr | str | Const]] = []
        for name in (*names, *(a.arg for a in args.kwonlyargs)):
            if name in bound:
                result.append((name, bound[name]))
                continue
            default = literal(defaults[name]) if name in defaults else None
            if default is None:
                raise Stop(f"{path}() needs {name}, or its default is no number", node.lineno)
            kind = typing.type_of_value(default)
            assert kind is not None
            result.append((name, Const(kind, node.lineno, default)))
        return result

    def bind_parameter(
        self,
        name: str,
        value: ast.expr | str | Const,
        frame: Frame,
        objects: dict[str, str],
        changed: frozenset[str],
        helper: ast.FunctionDef,
    ) -> None:
        """Bind one parameter in the caller's frame: array, object, expression or temporary."""
        assert self.env is not None
        if isinstance(value, str):
            objects[name] = value
            return
        if not isinstance(value, Const):
            path = self.path(value) if isinstance(value, ast.Name | ast.Attribute) else None
            if path is not None and self.is_object(path):
                objects[name] = path
                return
        item = value if isinstance(value, Const) else self.item(value)
        key = frame.names[name]
        if isinstance(item, View):
            self.env[key] = item
            return
        if isinstance(item, tuple):
            raise Stop(f"a tuple is passed to {helper.name}()", helper.lineno)
        # Nothing that plain arithmetic reads can change while the helper runs; an element could.
        calm = len(self.types_of(item)) == 1 and not any(
            isinstance(e, Load | Len | Call | Select) for e in walk(item)
        )
        if name not in changed and calm:
            self.env[key] = Given(item)
        elif self.hoist is not None:
            self.hoist.append(self.put(key, item, place(item.line)))
        elif name not in changed:
            self.env[key] = Given(item)
        else:
            raise Stop(f"{helper.name}() is called inside a condition", item.line)

    def is_object(self, path: str) -> bool:
        """Whether the path was seen to be an object, not a number or array."""
        if self.env is not None and path in self.env:
            return False
        info = self.observation.values.get(path)
        if info is None:
            return any(p.startswith(f"{path}.") for p in self.observation.values)
        return info.kind == "object"

    def check_globals(
        self, helper: ast.FunctionDef, path: str, own: frozenset[str], line: int
    ) -> None:
        """The helper's free names must mean in the caller's text what they mean in the helper's."""
        same_file = id(helper) in self.module.nodes
        for inner in own_nodes(helper):
            if not (isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)):
                continue
            name = inner.id
            if name in own or (hasattr(builtins, name) and not self.module.bound(name)):
                continue
            if not same_file:
                raise Stop(f"{path}() of another file uses its global {name}", line)
            if name in self.local:
                raise Stop(f"{path}() uses the global {name}, which is a local here", line)

    # ----------------------------------------------------------- returns
    def returning(self, body: list[ast.stmt]) -> list[Stmt]:
        """A helper's statements, early returns turned into if/else around what follows."""
        result: list[Stmt] = []
        for position, node in enumerate(body):
            if self.env is None:
                break
            if not isinstance(node, ast.If) or not contains_return(node):
                if contains_return(node, loops_only=True):
                    return result + self.block(body[position:])
                result += self.statement(node)
                continue
            return result + self.early(node, body[position + 1 :])
        return result

    def early(self, node: ast.If, rest: list[ast.stmt]) -> list[Stmt]:
        """An ``if`` with a return in it: what follows moves into the arms that fall through."""
        self.budget -= 1
        if self.budget < 0:
            raise Stop("a helper with too many returns", node.lineno)
        saved, self.hoist = self.hoist, []
        outer, self.running = self.running, node
        try:
            test = self.truth(self.test(node.test))
            before = self.copy_env()
            then = self.returning([*node.body, *rest])
            after_then, self.env = self.env, before
            orelse = self.returning([*node.orelse, *rest])
            self.env = merge_envs([after_then, self.env])
            branch = If(node.lineno, node, test, tuple(then), tuple(orelse))
            return [*self.hoist, branch]
        finally:
            self.hoist, self.running = saved, outer

    budget: int

    def leave(self, node: ast.Return) -> list[Stmt]:
        """``return value`` of a helper."""
        frame = self.frame
        if frame.result is None:
            raise Stop("return inside the loop", node.lineno, "keep the result and break")
        result: list[Stmt] = []
        if node.value is not None and not (
            isinstance(node.value, ast.Constant) and node.value.value is None
        ):
            item = self.item(node.value)
            values = item if isinstance(item, tuple) else (item,)
            for position, value in enumerate(values):
                if not isinstance(value, Expr):
                    raise Stop("an array returned from a helper", node.lineno)
                key = f"{frame.result}{position}" if frame.width else frame.result
                self.invented.add(key)
                result.append(self.put(key, value, node))
        if frame.done is not None and frame.loops:
            result.append(self.put(frame.done, Const(PY_BOOL, node.lineno, True), node))
            frame.loops[-1].breaks.append(self.copy_env())
            result.append(Break(node.lineno, node))
        else:
            frame.returns.append(self.copy_env())
        self.env = None
        return result


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest] if rest:
            return rest
    return body


def _returned_width(body: list[ast.stmt], line: int, name: str) -> int:
    """How many values the helper returns as a tuple, 0 for one; all returns must agree."""
    widths: set[int] = set()
    for statement in body:
        for node in (statement, *own_nodes(statement)):
            if isinstance(node, ast.Return) and node.value is not None:
                is_tuple = isinstance(node.value, ast.Tuple)
                widths.add(len(node.value.elts) if isinstance(node.value, ast.Tuple) else 0)
                if is_tuple and not widths:
                    continue
    if len(widths) > 1:
        raise Stop(f"{name}() returns different numbers of values", line)
    return widths.pop() if widths else 0


def _lines_of(function: ast.FunctionDef) -> tuple[int, ...]:
    return (function.lineno, *(d.lineno for d in function.decorator_list))


def _hint(text: str) -> str:
    if text == "print":
        return "collect what is printed and print after the loop"
    return "it may do anything: move it out of the loop"

"""Python statements, except loops, to IR statements."""

from __future__ import annotations

import ast

from ..model import SiteObservation, Source
from .bindings import Env, Given, Gone, Private, Stop, View, merge_envs
from .fold import loads, reads
from .ir import (
    PY_BOOL,
    PY_INT,
    Append,
    Assign,
    Break,
    Call,
    Compare,
    Const,
    Continue,
    Dim,
    Expr,
    If,
    Kind,
    Load,
    Scalar,
    Stmt,
    Store,
    Unary,
    Var,
)
from .lower_expressions import ExpressionLowering, binary_operator
from .scope import dotted

Item = Expr | View | tuple["Item", ...]
"""What can be assigned or looped over: a scalar, a row, a tuple of such."""

_REFUSED: dict[type[ast.stmt], str] = {
    ast.Try: "try/except",
    ast.With: "a with block",
    ast.Raise: "raise",
    ast.Assert: "assert",
    ast.Delete: "del",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.FunctionDef: "a function defined",
    ast.AsyncFunctionDef: "a function defined",
    ast.ClassDef: "a class defined",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.Match: "match",
    ast.AsyncFor: "async",
    ast.AsyncWith: "async",
    ast.TryStar: "try/except",
}


class StatementLowering(ExpressionLowering):
    """Assignments, branches, stores, appends."""

    def __init__(
        self,
        source: Source,
        observation: SiteObservation,
        local: frozenset[str],
        taken: frozenset[str],
    ) -> None:
        super().__init__(source, observation, local)
        self.taken = taken
        """Identifiers of the file: invented names keep clear of them."""
        self.invented: set[str] = set()
        self.all_types: dict[str, set[Scalar]] = {}
        self.written: set[str] = set()
        self.appended: dict[str, set[Scalar]] = {}
        self.rebound: dict[str, int] = {}
        """Names that stand for arrays or rows inside, with a line: no one may read them after."""

    # ------------------------------------------------------------ blocks
    def block(self, body: list[ast.stmt]) -> list[Stmt]:
        """Statements in order; what follows a jump is dead and dropped."""
        result: list[Stmt] = []
        for position, node in enumerate(body):
            if self.env is None:
                break
            result += self.statement(node)
            if self.frame.done and self.env is not None and contains_return(node, loops_only=True):
                return result + self.after_return(node, body[position + 1 :])
        return result

    def after_return(self, node: ast.stmt, rest: list[ast.stmt]) -> list[Stmt]:
        """What follows a loop with a ``return`` in it runs only if that return was not reached."""
        assert self.frame.done is not None
        done = Var(PY_BOOL, node.lineno, self.frame.done)
        if self.frame.loops:
            saved = self.copy_env()
            self.frame.loops[-1].breaks.append(saved)
            jump = If(node.lineno, node, done, (Break(node.lineno, node),), ())
            return [jump, *self.block(rest)]
        returned = self.copy_env()
        assert returned is not None
        for name, bound in returned.items():
            # this path is taken only after a return, which did give the result a value
            if name.startswith(self.frame.result or "?") and isinstance(bound, Private):
                returned[name] = Private(bound.types)
        tail = self.returning(rest)
        self.env = merge_envs([returned, self.env])
        if not tail:
            return []
        test = Unary(PY_BOOL, node.lineno, "not", done)
        return [If(node.lineno, node, test, tuple(tail), ())]

    def statement(self, node: ast.stmt) -> list[Stmt]:
        """One statement, with what had to be hoisted before it."""
        saved, self.hoist = self.hoist, []
        try:
            produced = self.dispatch(node)
            return [*self.hoist, *produced]
        finally:
            self.hoist = saved

    def dispatch(self, node: ast.stmt) -> list[Stmt]:
        """The statement by its kind. Raises Stop."""
        line = node.lineno
        match node:
            case ast.Assign(targets=targets, value=value):
                return self.assignment(targets, value, node)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self.assignment([target], value, node)
            case ast.AnnAssign() | ast.Pass() | ast.Expr(value=ast.Constant()):
                return []
            case ast.AugAssign():
                return self.augmented(node)
            case ast.If():
                return self.branch(node)
            case ast.For() | ast.While():
                return self.loop(node)
            case ast.Break():
                self.frame.loops[-1].breaks.append(self.env)
                self.env = None
                return [Break(line, node)]
            case ast.Continue():
                self.frame.loops[-1].continues.append(self.env)
                self.env = None
                return [Continue(line, node)]
            case ast.Expr(value=ast.Call() as call):
                return self.call_statement(call, node)
            case ast.Return():
                return self.leave(node)
            case ast.Expr(value=ast.Yield() | ast.YieldFrom() | ast.Await()):
                raise Stop("yield or await inside the loop", line)
            case ast.Expr(value=value):
                self.expr(value)
                return []
        raise Stop(f"{_REFUSED.get(type(node), type(node).__name__)} inside the loop", line)

    def copy_env(self) -> Env | None:
        """The environment as it is now."""
        return None if self.env is None else dict(self.env)

    # -------------------------------------------------------- assignment
    def assignment(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> list[Stmt]:
        """``a = b = value`` with any targets."""
        item = self.item(value)
        result: list[Stmt] = []
        if len(targets) > 1:
            item = self.held(item, node, result, always=True)
        for target in targets:
            result += self.assign(target, item, node)
        return result

    def item(self, node: ast.expr) -> Item:
        """What stands right of ``=`` or comes out of an iterator."""
        match node:
            case ast.Tuple(elts=elts):
                if any(isinstance(e, ast.Starred) for e in elts):
                    raise Stop("a starred expression", node.lineno)
                return tuple(self.item(e) for e in elts)
            case ast.Attribute(value=value, attr="shape"):
                owner = self.view(value)
                if owner is not None and self.used_arrays[owner.array].kind == "ndarray":
                    first = len(owner.prefix)
                    return tuple(
                        Dim(PY_INT, node.lineno, owner.array, first + k)
                        for k in range(self.rank(owner))
                    )
            case ast.Call():
                return self.call_item(node)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            table = isinstance(node, ast.Subscript) and self.table(node.value) is not None
            if table:
                return self.expr(node)
            view = self.view(node)
            if view is not None and self.rank(view):
                return View(view.array, self.frozen_prefix(view, node.lineno))
        return self.expr(node)

    def frozen_prefix(self, view: View, line: int) -> tuple[Expr, ...]:
        """Indices whose value cannot change while the view lives."""
        result: list[Expr] = []
        for index in view.prefix:
            if loads(index):
                if self.hoist is None:
                    raise Stop("a row chosen inside a condition", line)
                name = self.invent("row")
                self.hoist.append(self.put(name, index, _no_node(line)))
                index = Var(index.type, line, name)
            result.append(index)
        return tuple(result)

    def held(self, item: Item, node: ast.stmt, out: list[Stmt], *, always: bool = False) -> Item:
        """The item with its value fixed now, in a temporary if it is not constant."""
        if isinstance(item, tuple):
            return tuple(self.held(part, node, out, always=always) for part in item)
        if isinstance(item, View | Const | Dim) or (isinstance(item, Var) and not always):
            return item
        name = self.invent("held")
        out.append(self.put(name, item, node))
        kind = self.joined(self.types_of(item), "the value", node.lineno)
        return self.spread(Var(kind, node.lineno, name), self.types_of(item))

    def assign(self, target: ast.expr, item: Item, node: ast.stmt) -> list[Stmt]:
        """Bind one target. Raises Stop."""
        match target:
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return self.unpack(elts, item, node)
            case ast.Name(id=name):
                return self.assign_name(self.key(name), item, node)
            case ast.Attribute():
                return self.assign_attribute(target, item, node)
            case ast.Subscript():
                if not isinstance(item, Expr):
                    raise Stop(f"a whole row stored in {ast.unparse(target)}", node.lineno)
                return self.store(target, item, node)
        raise Stop(f"assignment to {ast.unparse(target)}", node.lineno)

    def assign_name(self, key: str, item: Item, node: ast.stmt) -> list[Stmt]:
        """A local or global name."""
        assert self.env is not None
        if isinstance(item, tuple):
            raise Stop(f"a tuple kept in the variable {key}", node.lineno, "unpack it")
        if isinstance(item, View):
            self.kill(key)
            self.env[key] = item
            if self.frame.is_root:
                self.rebound.setdefault(key, node.lineno)
            return []
        return [self.put(key, item, node)]

    def put(self, key: str, value: Expr, node: ast.stmt) -> Assign:
        """An assignment to a scalar, with its types recorded."""
        assert self.env is not None
        types = self.types_of(value)
        self.kill(key)
        self.env[key] = Private(types)
        self.all_types.setdefault(key, set()).update(types)
        return Assign(node.lineno, node, key, value)

    def kill(self, key: str) -> None:
        """Views whose indices read the name stop being what they were."""
        assert self.env is not None
        for name, bound in self.env.items():
            if isinstance(bound, View) and any(key in reads(index) for index in bound.prefix):
                self.env[name] = Gone(f"was chosen with an older {key}")
            elif isinstance(bound, Given) and key in reads(bound.expr):
                self.env[name] = Gone(f"depends on {key}, which changes")

    def assign_attribute(self, target: ast.Attribute, item: Item, node: ast.stmt) -> list[Stmt]:
        """``self.total = ...``: a scalar attribute of an object seen at entry."""
        path = self.path(target)
        text = ast.unparse(target)
        if path is None or not isinstance(item, Expr):
            raise Stop(f"{text} is bound to something else inside the loop", node.lineno)
        # class P: x = property(...) with a setter that does anything at all
        if path.rpartition(".")[2] in self.module.computed_attributes or path not in (
            self.observation.values
        ):
            raise Stop(f"{text} may be a property", node.lineno, "use a local variable")
        return [self.put(path, item, node)]

    def unpack(self, targets: list[ast.expr], item: Item, node: ast.stmt) -> list[Stmt]:
        """``a, b = ...`` with Python's order: all values first, then targets left to right."""
        if any(isinstance(t, ast.Starred) for t in targets):
            raise Stop("a starred target", node.lineno)
        parts = self.parts(item, len(targets), node)
        result: list[Stmt] = []
        values: list[Item] = []
        for position, part in enumerate(parts):
            earlier = targets[:position]
            values.append(
                self.held(part, node, result, always=True)
                if self.disturbed(part, earlier)
                else part
            )
        for target, value in zip(targets, values, strict=True):
            result += self.assign(target, value, node)
        return result

    def disturbed(self, item: Item, earlier: list[ast.expr]) -> bool:
        """Whether assigning the earlier targets could change the value of the item."""
        if isinstance(item, tuple):
            return any(self.disturbed(part, earlier) for part in item)
        if isinstance(item, View):
            return False
        names = reads(item)
        for target in earlier:
            for inner in ast.walk(target):
                match inner:
                    case ast.Subscript(ctx=ast.Store()):
                        if loads(item):
                            return True
                    case ast.Name(id=name, ctx=ast.Store()):
                        if self.key(name) in names:
                            return True
                    case ast.Attribute(ctx=ast.Store()):
                        if self.path(inner) in names:
                            return True
                    case _:
                        pass
        return False

    def parts(self, item: Item, count: int, node: ast.stmt) -> tuple[Item, ...]:
        """The item taken apart into ``count`` parts."""
        if isinstance(item, tuple):
            if len(item) != count:
                raise Stop(f"{len(item)} values for {count} targets", node.lineno)
            return item
        if isinstance(item, Expr):
            raise Stop("a number unpacked into several names", node.lineno)
        info = self.used_arrays[item.array]
        axis = len(item.prefix)
        assert info.shape is not None
        if info.shape[axis] != count:
            raise Stop(
                f"{item.array} is unpacked into {count} names, but its extent varies", node.lineno
            )
        dim = Dim(PY_INT, node.lineno, item.array, axis)
        self.rely(Compare(PY_BOOL, node.lineno, "==", dim, Const(PY_INT, node.lineno, count)))
        return tuple(
            self.down(item, Const(PY_INT, node.lineno, k), node.lineno) for k in range(count)
        )

    def rely(self, condition: Expr) -> None:
        """Remember a condition that only the observation supports."""
        if condition not in self.relies:
            self.relies.append(condition)

    def down(self, view: View, index: Expr, line: int) -> Expr | View:
        """One axis further into an array: an element or a row."""
        deeper = View(view.array, (*view.prefix, index))
        if self.rank(deeper):
            return deeper
        kind = self.element_of(self.used_arrays[view.array])
        assert kind is not None
        return Load(kind, line, view.array, deeper.prefix)

    def augmented(self, node: ast.AugAssign) -> list[Stmt]:
        """``x += e``: read, compute, write, the target's index evaluated once."""
        op = binary_operator(node.op, node.lineno)
        target = node.target
        if isinstance(target, ast.Subscript):
            view = self.view(target)
            if view is None:
                raise Stop(f"{ast.unparse(target)}: not an array or list", node.lineno)
            old = self.load(view, node.lineno, ast.unparse(target))
            value = self.binary(op, old, self.expr(node.value), node.lineno)
            return self.store_at(view, value, node, ast.unparse(target))
        current = self.name_or_attribute(target)
        value = self.binary(op, current, self.expr(node.value), node.lineno)
        return self.assign(target, value, node)

    # ------------------------------------------------------------ stores
    def store(self, target: ast.Subscript, value: Expr, node: ast.stmt) -> list[Stmt]:
        """``a[i, j] = value``."""
        view = self.view(target)
        text = ast.unparse(target)
        if view is None:
            raise Stop(f"{text}: not an array or list of numbers", node.lineno)
        return self.store_at(view, value, node, text)

    def store_at(self, view: View, value: Expr, node: ast.stmt, text: str) -> list[Stmt]:
        """Write one element, if the container takes the value as it is."""
        info = self.used_arrays[view.array]
        if self.rank(view):
            raise Stop(f"a whole row {text} is assigned", node.lineno, "assign its elements")
        if info.kind == "tuple":
            raise Stop(f"{view.array} is a tuple", node.lineno)
        element = self.element_of(info)
        assert element is not None
        if info.kind == "ndarray":
            self.wide(value, "the stored value")
            if value.type.kind is Kind.COMPLEX and element.kind is not Kind.COMPLEX:
                raise Stop(f"a complex number stored in {view.array} of {element}", node.lineno)
        else:
            self.settled(value)
            if value.type != element:
                # xs = [0] * n; xs[i] = 0.5: the list would hold both types afterwards
                raise Stop(
                    f"the list {view.array} holds {element} and is given {value.type}",
                    node.lineno,
                    f"fill the list with {value.type} values from the start",
                )
        self.written.add(view.array)
        return [Store(node.lineno, node, view.array, view.prefix, value)]

    def call_statement(self, call: ast.Call, node: ast.stmt) -> list[Stmt]:
        """``out.append(x)``, or a helper called for its effect."""
        match call:
            case ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[arg], keywords=[]):
                path = self.path(owner)
                if path is not None:
                    return self.append(path, arg, node)
        self.inline_statement(call, node)
        return []

    def append(self, path: str, arg: ast.expr, node: ast.stmt) -> list[Stmt]:
        """Growth of a list that the nest does nothing else with."""
        info = self.observation.values.get(path)
        env = self.env if self.env is not None else {}
        if (
            path in env
            or info is None
            or info.kind != "list"
            or path.split(".")[0] in (self.frame.names.values())
        ):
            raise Stop(f"append to {path}, which is not a list from before the loop", node.lineno)
        value = self.item(arg)
        if not isinstance(value, Expr):
            raise Stop(f"a row or tuple appended to {path}", node.lineno)
        self.settled(value)
        self.appended.setdefault(path, set()).add(value.type)
        return [Append(node.lineno, node, path, value)]

    # ------------------------------------------------------------ branch
    def branch(self, node: ast.If) -> list[Stmt]:
        """``if``/``elif``/``else``."""
        test = self.truth(self.test(node.test))
        before = self.copy_env()
        then = self.block(node.body)
        after_then, self.env = self.env, before
        orelse = self.block(node.orelse)
        self.env = merge_envs([after_then, self.env])
        if not then and not orelse:
            return []
        return [If(node.lineno, node, test, tuple(then), tuple(orelse))]

    def truth(self, expr: Expr) -> Expr:
        """A tested value; complex and every other number may be tested as it is."""
        self.wide(expr, "the tested value")
        return expr

    def invent(self, stem: str) -> str:
        """A fresh name that reads like the text around it."""
        name = f"{stem}_"
        number = 2
        while name in self.taken or name in self.invented:
            name = f"{stem}_{number}"
            number += 1
        self.invented.add(name)
        return name

    # ------------------------------------------------- filled in elsewhere
    def loop(self, node: ast.For | ast.While) -> list[Stmt]:
        """A loop statement."""
        raise NotImplementedError

    def returning(self, body: list[ast.stmt]) -> list[Stmt]:
        """A helper's statements, returns made into structure."""
        raise NotImplementedError

    def leave(self, node: ast.Return) -> list[Stmt]:
        """A return."""
        raise NotImplementedError

    def call_item(self, node: ast.Call) -> Item:
        """A call whose value may be a tuple."""
        raise NotImplementedError

    def inline_statement(self, call: ast.Call, node: ast.stmt) -> None:
        """A call for its effect."""
        raise NotImplementedError


def contains_return(node: ast.stmt, *, loops_only: bool = False) -> bool:
    """Whether a return sits below; with ``loops_only`` one inside a loop of the statement."""
    if isinstance(node, ast.Return):
        return not loops_only
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            inside = isinstance(node, ast.For | ast.While)
            if contains_return(child, loops_only=loops_only and not inside):
                return True
    return False


def _no_node(line: int) -> ast.stmt:
    return ast.Pass(lineno=line, col_offset=0, end_lineno=line, end_col_offset=0)


def place(line: int) -> ast.stmt:
    """A stand-in node for statements that have no statement of their own in the text."""
    return _no_node(line)


def dotted_or_none(node: ast.expr) -> str | None:
    """See ``scope.dotted``."""
    return dotted(node)


__all__ = ["Call", "Item", "StatementLowering", "contains_return", "place"]

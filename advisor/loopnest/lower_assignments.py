"""Assignments: names, attributes, elements, tuples, with Python's order of evaluation."""

from __future__ import annotations

import ast

from ..model import SiteObservation, Source
from .bindings import Given, Gone, Private, Stop, View
from .fold import loads, measures, reads
from .ir import (
    PY_BOOL,
    PY_INT,
    Assign,
    Compare,
    Const,
    Dim,
    Expr,
    Kind,
    Load,
    Scalar,
    Stmt,
    Store,
    Var,
)
from .lower_expressions import ExpressionLowering, binary_operator
from .text import STRINGS

Item = Expr | View | tuple["Item", ...]
"""What can be assigned or looped over: a scalar, a row, a tuple of such."""


class AssignmentLowering(ExpressionLowering):
    """Everything right and left of ``=``."""

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
            if loads(index) or measures(index):
                if self.hoist is None:
                    raise Stop("a row chosen inside a condition", line)
                name = self.invent("row")
                self.hoist.append(self.put(name, index, place(line)))
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
        if info.kind in ("tuple", *STRINGS):
            raise Stop(f"{view.array} is a {info.kind}", node.lineno)
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
                    _one_type(view.array, element, value.type),
                )
        self.written.add(view.array)
        return [Store(node.lineno, node, view.array, view.prefix, value)]

    def invent(self, stem: str) -> str:
        """A fresh name that reads like the text around it."""
        name = f"{stem}_"
        number = 2
        while name in self.taken or name in self.invented:
            name = f"{stem}_{number}"
            number += 1
        self.invented.add(name)
        return name

    def call_item(self, node: ast.Call) -> Item:
        """A call whose value may be a tuple."""
        raise NotImplementedError


def place(line: int) -> ast.stmt:
    """A stand-in node for statements that have none of their own in the text."""
    return ast.Pass(lineno=line, col_offset=0, end_lineno=line, end_col_offset=0)


def _one_type(array: str, element: Scalar, value: Scalar) -> str:
    """What makes a list hold one type only."""
    if element.is_python and not value.is_python and element.kind is value.kind:
        return f"convert with {element.kind}() before it is stored"
    if element.kind is Kind.INT and value.kind is Kind.FLOAT:
        return f"fill {array} with 0.0 instead of 0"
    if element.kind is Kind.FLOAT and value.kind is Kind.INT:
        return "store a float: 0.0 instead of 0"
    return f"store {element} values only"

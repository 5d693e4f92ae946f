"""Expressions over vectors, component by component."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...loopnest.scope import dotted, module_of
from ..nb_values import Unsupported
from .vector_values import (
    FLOAT64,
    WIDEST,
    Env,
    Function,
    Number,
    Object,
    Other,
    Value,
    Vector,
    element_type,
    flat,
    is_atom,
    result_type,
    seen_number,
)

if TYPE_CHECKING:
    from .vector_functions import Functions

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.Lambda)


class Expressions:
    """The value of each expression of one scope; lines that must come first are collected."""

    def __init__(self, functions: Functions, local: frozenset[str], env: Env) -> None:
        self.functions = functions
        self.draft = functions.draft
        self.local = local
        """Names of the scope, which are no globals."""
        self.env: dict[str, Value] = dict(env)
        self.known: dict[int, tuple[ast.expr, Value]] = {}
        """What expressions of the statement are worth; with the node, whose id is its own then."""
        self.one_of_many = False
        """Whether only an element is taken of the row that is looked at, wherever it is."""
        self.first: list[str] = []
        """Lines in front of the statement that is looked at."""
        self.impure: list[ast.Call] = []
        """Calls in it that may do anything."""

    # ---------------------------------------------------------------- values
    def value(self, node: ast.expr) -> Value:
        """What an expression is worth, looked at once a statement. Raises Unsupported."""
        known = self.known.get(id(node))
        if known is None:
            known = self.known[id(node)] = (node, self.found(node))
        return known[1]

    def found(self, node: ast.expr) -> Value:
        """What an expression is worth. Raises Unsupported."""
        match node:
            case ast.Name(id=name):
                return self.named(node, name)
            case ast.Constant(value=value):
                kind = type(value).__name__
                return Number(node, kind if kind in ("bool", "int", "float") else "")
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return self.literal(node, elts)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(node, self.value(left), op, self.value(right))
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(node, op, self.value(operand))
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.Call():
                return self.call(node)
            case ast.ListComp():
                return self.comprehension(node)
        return self.plain(node)

    def named(self, node: ast.expr, name: str) -> Value:
        """A variable, a function of the module, or a global constant."""
        found = self.env.get(name)
        if found is not None:
            return found
        info = self.draft.values.get(name)
        if name not in self.local:
            module = module_of(self.draft.source)
            if name in module.functions and (info is None or info.kind == "function"):
                return Function(name)
            constant = module.constant(name)
            if constant is not None:
                return Number(node, type(constant).__name__)
        elif self.functions.is_helper(self.local):
            return Other(node)
        if info is None:
            return Other(node)
        if info.kind == "function" and (known := self.functions.handed_over(name, info)):
            return Function(known)
        if name not in self.local and (vector := self.functions.global_vector(name, info)):
            return vector
        number = seen_number(info)
        if number is not None:
            return Number(node, number)
        rank = info.ndim or 0
        return Other(node, info, rank)

    def attribute(self, node: ast.Attribute) -> Value:
        """``self.mass``, ``math.pi``."""
        path = dotted(node) or ""
        head = path.partition(".")[0]
        match self.env.get(head):
            case Object() as owner if path == f"{head}.{node.attr}":
                part = self.functions.needed(owner, node.attr)
                return self.functions.methods.attribute(owner, node.attr, part, node.lineno)
            case Object():
                raise Unsupported(f"{path}: an object in an object", node.lineno)
        if head in self.env:
            return self.plain(node)
        info = self.draft.values.get(path)
        if info is not None and not (head in self.local and self.functions.is_helper(self.local)):
            number = seen_number(info)
            return Number(node, number) if number is not None else Other(node, info, info.ndim or 0)
        imports = module_of(self.draft.source).imports
        constant = imports.get(head) in ("math", "numpy") and node.attr in ("pi", "e", "tau", "inf")
        return Number(node, "float") if constant and head not in self.local else Other(node)

    def number(self, node: ast.expr) -> Number:
        """An expression that must be one number."""
        found = self.value(node)
        match found:
            case Number():
                return found
            case Other(node=same):
                return Number(same)
            case Vector(kind="tuple" | "list"):
                return Number(self.display(found))
        raise Unsupported(f"{ast.unparse(node)} is used as a whole", node.lineno)

    def display(self, found: Vector) -> ast.expr:
        """A list or tuple written with its components; a new one, as the value is."""
        if found.kind == "list" and found.owners:
            raise Unsupported("a list that may change later is used as a whole")
        items = [self.display(i) if isinstance(i, Vector) else i.node for i in found.items]
        if found.kind == "tuple":
            return ast.Tuple(items, ast.Load())
        if found.kind == "list":
            return ast.List(items, ast.Load())
        raise Unsupported("an array is kept in a list or tuple", None, "keep its numbers")

    def plain(self, node: ast.expr) -> Number:
        """An expression of numbers; the same node where nothing in it is a vector."""
        if isinstance(node, _COMPREHENSIONS):
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            self.impure += [n for n in ast.walk(node) if isinstance(n, ast.Call)]
            if any(self.is_vectorial(name) for name in names):
                raise Unsupported(f"{ast.unparse(node)} reads a vector", node.lineno)
            return Number(node)
        if isinstance(node, ast.NamedExpr):
            raise Unsupported(f"{ast.unparse(node)} assigns inside an expression", node.lineno)
        changed = False
        new = copy.copy(node)
        for field, child in ast.iter_fields(node):
            if isinstance(child, ast.expr):
                part = self.number(child).node
                changed |= part is not child
                setattr(new, field, part)
            elif isinstance(child, list) and child and isinstance(child[0], ast.expr):
                parts = [self.number(c).node for c in child]
                changed |= any(p is not c for p, c in zip(parts, child, strict=True))
                setattr(new, field, parts)
        kind = "bool" if isinstance(node, ast.Compare) else ""
        if isinstance(node, ast.IfExp):
            one, other = self.value(node.body), self.value(node.orelse)
            if isinstance(one, Number) and isinstance(other, Number) and one.type == other.type:
                kind = one.type
        return Number(new if changed else node, kind)

    def is_vectorial(self, name: str) -> bool:
        """Whether the variable has components of its own, or is a function that stands for one."""
        found = self.env.get(name)
        return isinstance(found, Function) or (isinstance(found, Vector) and not found.place)

    # -------------------------------------------------------------- literals
    def literal(self, node: ast.expr, elts: Sequence[ast.expr]) -> Value:
        """``(a, b)`` and ``[a, b]``."""
        if any(isinstance(e, ast.Starred) for e in elts) or not 1 <= len(elts) <= WIDEST:
            return self.plain(node)
        items: list[Number | Vector] = []
        for part in elts:
            found = self.value(part)
            if isinstance(found, Vector):
                items.append(found)
            elif isinstance(found, Function | Object):
                raise Unsupported("a function or an object kept in a list or tuple", node.lineno)
            else:
                items.append(found if isinstance(found, Number) else Number(found.node))
        return Vector("tuple" if isinstance(node, ast.Tuple) else "list", tuple(items))

    def array(self, found: Value, line: int) -> Vector:
        """``np.array`` of a vector: floats only, each of them NumPy's."""
        if not isinstance(found, Vector):
            raise Unsupported("an array is made of something else than a few numbers", line)
        numbers = [i for i in found.items if isinstance(i, Number)]
        types = {n.type for n in numbers}
        if len(numbers) != len(found.items) or not types <= {"int", "float", FLOAT64}:
            raise Unsupported("an array is made of what may be no numbers", line)
        if types == {"int"}:
            raise Unsupported("an array of whole numbers is made in the loop", line)
        items = tuple(self.float64(n) for n in numbers)
        self.functions.vectors += 1
        return Vector("ndarray", items)

    def float64(self, number: Number) -> Number:
        """The number as NumPy has it."""
        if number.type == FLOAT64:
            return number
        numpy = ast.Name(self.functions.numpy, ast.Load())
        cast = ast.Attribute(numpy, "float64", ast.Load())
        return Number(ast.Call(cast, [number.node], []), FLOAT64)

    def comprehension(self, node: ast.ListComp) -> Value:
        """``[x + h * k for x, k in zip(xs, ks)]`` over vectors, written out."""
        match node.generators:
            case [ast.comprehension(target=target, iter=iterable, ifs=[], is_async=0)]:
                rows = self.iterated(iterable)
            case _:
                rows = None
        if rows is None:
            return self.plain(node)
        before = dict(self.env)
        items: list[Number | Vector] = []
        try:
            for row in rows:
                self.known = {}
                self.bind_item(target, row)
                found = self.value(node.elt)
                if not isinstance(found, Number | Vector):
                    raise Unsupported("a list of what may be no numbers", node.lineno)
                items.append(found)
        finally:
            self.env, self.known = before, {}
        self.functions.vectors += 1
        return Vector("list", tuple(items))

    def iterated(self, node: ast.expr) -> list[Number | Vector] | None:
        """The items that an iteration over vectors goes through; None for other iterables."""
        match node:
            case ast.Call(func=ast.Name(id="zip"), args=args, keywords=[]) if args:
                columns = [self.iterated(a) for a in args]
                if any(c is None for c in columns):
                    return None
                known = [c for c in columns if c is not None]
                return [Vector("tuple", row) for row in zip(*known, strict=False)]
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]):
                rows = self.iterated(inner)
                if rows is None:
                    return None
                places = [Number(ast.Constant(k), "int") for k in range(len(rows))]
                return [Vector("tuple", pair) for pair in zip(places, rows, strict=True)]
            case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))]):
                if count > WIDEST:
                    return None
                return [Number(ast.Constant(k), "int") for k in range(count)]
            case ast.Name() | ast.Subscript():
                found = self.value(node)
                return list(found.items) if isinstance(found, Vector) else None
        return None

    def bind_item(self, target: ast.expr, item: Number | Vector) -> None:
        """Names of a comprehension stand for the items themselves."""
        match target, item:
            case ast.Name(id=name), _:
                self.env[name] = item
                return
            case ast.Tuple(elts=elts), Vector(items=items) if len(elts) == len(items):
                for part, inner in zip(elts, items, strict=True):
                    self.bind_item(part, inner)
                return
        raise Unsupported("a comprehension unpacks something else", target.lineno)

    # ------------------------------------------------------------ arithmetic
    def binary(self, node: ast.BinOp, left: Value, op: ast.operator, right: Value) -> Value:
        """``left op right``, for each component where one of them is an array."""
        if not isinstance(left, Vector) and not isinstance(right, Vector):
            a, b = self.as_number(left, node), self.as_number(right, node)
            same = a.node is node.left and b.node is node.right
            new = node if same else ast.BinOp(a.node, op, b.node)
            return Number(new, result_type(op, a.type, b.type, b.node))
        arrays = [v for v in (left, right) if isinstance(v, Vector)]
        if any(v.kind != "ndarray" for v in arrays) or len({len(v.items) for v in arrays}) != 1:
            raise Unsupported(f"{ast.unparse(node)}: arithmetic of other than arrays", node.lineno)
        self.functions.vectors += 1
        if isinstance(op, ast.Pow) and isinstance(right, Number):
            return self.squared(node, left, right)
        if not isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div):
            raise Unsupported(f"{ast.unparse(node)}: no component form", node.lineno)
        width = len(arrays[0].items)
        pairs = zip(self.spread(left, width, node), self.spread(right, width, node), strict=True)
        items = tuple(Number(ast.BinOp(a.node, op, b.node), FLOAT64) for a, b in pairs)
        return Vector("ndarray", items)

    def as_number(self, found: Value, node: ast.expr) -> Number:
        """An operand that must be one number."""
        if isinstance(found, Number):
            return found
        if isinstance(found, Other):
            return Number(found.node)
        raise Unsupported(f"{ast.unparse(node)} is used as a whole", node.lineno)

    def spread(self, found: Value, width: int, node: ast.expr) -> list[Number]:
        """The operand of each component: a scalar is the same for all."""
        if isinstance(found, Vector):
            return list(flat(found))
        number = self.as_number(found, node)
        if not number.type:
            raise Unsupported(f"{ast.unparse(number.node)} may be no number", node.lineno)
        if any(isinstance(n, ast.Call) for n in ast.walk(number.node)):
            number = self.kept(number, "factor")
        return [number] * width

    def squared(self, node: ast.BinOp, left: Value, right: Number) -> Vector:
        """``v ** 2``, which NumPy computes as a product."""
        match right.node:
            case ast.Constant(value=2 | 2.0) if isinstance(left, Vector):
                parts = [self.atom(n, "part") for n in flat(left)]
                items = tuple(Number(ast.BinOp(p.node, ast.Mult(), p.node), FLOAT64) for p in parts)
                return Vector("ndarray", items)
        raise Unsupported(f"{ast.unparse(node)}: NumPy's power of arrays", node.lineno)

    def unary(self, node: ast.UnaryOp, op: ast.unaryop, found: Value) -> Value:
        """``-v``."""
        if not isinstance(found, Vector):
            inner = self.as_number(found, node)
            new = node if inner.node is node.operand else ast.UnaryOp(op, inner.node)
            kept = inner.type if isinstance(op, ast.USub) and inner.type != "bool" else ""
            return Number(new, "bool" if isinstance(op, ast.Not) else kept)
        if found.kind != "ndarray" or not isinstance(op, ast.USub):
            raise Unsupported(f"{ast.unparse(node)}: no component form", node.lineno)
        self.functions.vectors += 1
        items = tuple(Number(ast.UnaryOp(op, n.node), n.type) for n in flat(found))
        return Vector("ndarray", items)

    def atom(self, number: Number, stem: str) -> Number:
        """The number as something that may be written twice."""
        return number if is_atom(number.node) else self.kept(number, stem)

    def kept(self, number: Number, stem: str) -> Number:
        """The number in a variable of its own, assigned in front of the statement."""
        name = self.functions.free(stem)
        self.first.append(f"{name} = {ast.unparse(number.node)}")
        return Number(ast.Name(name, ast.Load()), number.type)

    # ------------------------------------------------------------ subscripts
    def subscript(self, node: ast.Subscript) -> Value:
        """``v[0]``, ``rows[i]``, ``rows[i, :]``."""
        before, self.one_of_many = self.one_of_many, not isinstance(node.slice, ast.Constant)
        owner = self.value(node.value)
        self.one_of_many = before
        if isinstance(owner, Vector):
            return self.component(node, owner)
        if isinstance(owner, Other) and owner.rank == 2 and owner.info is not None:
            row = self.row(node, owner)
            if row is not None:
                return row
        index = node.slice
        if isinstance(index, ast.Slice):
            return Other(self.plain(node).node)
        number = self.plain(node)
        if not isinstance(owner, Other) or owner.info is None:
            return number
        deep = len(index.elts) if isinstance(index, ast.Tuple) else 1
        if deep < owner.rank:
            return Other(number.node, owner.info, owner.rank - deep)
        return Number(number.node, element_type(owner.info) or "")

    def component(self, node: ast.Subscript, owner: Vector) -> Value:
        """An item of a vector by a constant; by a variable where it is an object that is there."""
        match node.slice:
            case ast.Constant(value=int(place)) if -len(owner.items) <= place < len(owner.items):
                return owner.items[place]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(place))) if (
                1 <= place <= len(owner.items)
            ):
                return owner.items[-place]
            case ast.Name(id=name) if (known := self.known_place(name)) is not None:
                if known < len(owner.items):
                    return owner.items[known]
        if owner.place and not isinstance(node.slice, ast.Slice):
            types = {n.type for n in flat(owner)}
            index = self.number(node.slice).node
            new = node if index is node.slice else ast.Subscript(node.value, index, node.ctx)
            return Number(new, types.pop() if len(types) == 1 else "")
        text = f"{ast.unparse(node)}: which component is not known before the loop runs"
        raise Unsupported(text, node.lineno)

    def known_place(self, name: str) -> int | None:
        """What a variable of a comprehension that is written out is in this copy."""
        match self.env.get(name):
            case Number(node=ast.Constant(value=int(place))) if place >= 0:
                return place
        return None

    def row(self, node: ast.Subscript, owner: Other) -> Vector | None:
        """A short row of an array or of a list of lists."""
        info = owner.info
        assert info is not None
        index = node.slice
        match index:
            case ast.Tuple(elts=[first, ast.Slice(lower=None, upper=None, step=None)]) if (
                info.kind == "ndarray"
            ):
                index = first
        if isinstance(index, ast.Tuple | ast.Slice):
            return None
        place = self.number(index)
        return self.row_at(owner, place.node, node.lineno)

    def row_at(self, owner: Other, index: ast.expr, line: int) -> Vector | None:
        """The row at a place, if the rows are short and all of one length."""
        info = owner.info
        assert info is not None
        number, width = element_type(info), (info.shape or (None, None))[1]
        path = dotted(owner.node)
        if number is None or width is None or not 1 <= width <= WIDEST or path is None:
            return None
        if not is_atom(index):
            index = self.kept(Number(index, "int"), "at").node
            self.functions.vectors += 1
        if not self.one_of_many:
            self.functions.rely_on_width(path, info.kind, width)
        items = []
        for k in range(width):
            if info.kind == "ndarray":
                where: ast.expr = ast.Tuple([index, ast.Constant(k)], ast.Load())
                element = ast.Subscript(owner.node, where, ast.Load())
            else:
                row = ast.Subscript(owner.node, index, ast.Load())
                element = ast.Subscript(row, ast.Constant(k), ast.Load())
            items.append(Number(element, number))
        kind = "ndarray" if info.kind == "ndarray" else "list"
        return Vector(kind, tuple(items), place=True, owners=frozenset({path}))

    def call(self, node: ast.Call) -> Value:
        """What a call is worth."""
        raise NotImplementedError

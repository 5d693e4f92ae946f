"""Assignments of vectors, each written with the components."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...model import Edit
from ..nb_values import Unsupported
from .vector_calls import Calls
from .vector_values import (
    Env,
    Function,
    Number,
    Other,
    Value,
    Vector,
    flat,
    is_atom,
    owners_of,
    result_type,
)

if TYPE_CHECKING:
    from .vector_functions import Functions

_LONGEST = 88


class Assignments(Calls):
    """The edits that assignments need."""

    def __init__(self, functions: Functions, local: frozenset[str], env: Env) -> None:
        super().__init__(functions, local, env)
        self.edits: list[Edit] = []

    # ----------------------------------------------------------------- edits
    def put(self, node: ast.expr, new: ast.expr) -> None:
        """A new expression in the place of one; nothing where it is the same."""
        if new is node or ast.dump(new) == ast.dump(_loaded(node)):
            return
        self.edits.append(Edit(*self.draft.source.span(node), ast.unparse(new)))

    def hoisted(self, node: ast.stmt) -> None:
        """The lines that must come first, in front of the statement."""
        if self.first and self.impure:
            call = ast.unparse(self.impure[0].func)
            raise Unsupported(f"{call}() beside arithmetic of vectors", node.lineno)
        self.edits += self.draft.above(node, self.first)

    def instead(self, node: ast.stmt, targets: Sequence[str], values: Sequence[Number]) -> None:
        """Components assigned at once, in place of the statement."""
        self.refuse_repeated_calls(node, values)
        names = ", ".join(targets)
        texts = [ast.unparse(v.node) for v in values]
        line = f"{names} = {', '.join(texts)}"
        received = f"{', '.join(texts)} = "
        if len(texts) > 1 and self.first and self.first[-1].startswith(received):
            line = f"{names} = {self.first.pop().removeprefix(received)}"
            texts = []
        lines = [line]
        if len(line) > _LONGEST and len(texts) > 1:
            lines = [f"{names} = (", *(f"    {text}," for text in texts), ")"]
        if self.first and self.impure:
            self.hoisted(node)
        self.edits += self.draft.instead(node, [*self.first, *lines])

    def refuse_repeated_calls(self, node: ast.stmt, values: Sequence[Number]) -> None:
        """Calls that may do anything keep their number and order. Raises Unsupported."""
        found = [n for v in values for n in ast.walk(v.node) if isinstance(n, ast.Call)]
        texts = [ast.unparse(c) for c in self.impure]
        inside = [ast.unparse(n) for n in found if ast.unparse(n) in texts]
        if texts and inside != texts:
            raise Unsupported(f"{texts[0]} beside arithmetic of vectors", node.lineno)

    def number_only(self, node: ast.stmt, value: ast.expr) -> None:
        """An expression that stays one number, in its place."""
        self.put(value, self.number(value).node)
        self.hoisted(node)

    def untouched(self, node: ast.stmt) -> None:
        """Statements of other kinds, which must not touch vectors."""
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if any(self.is_vectorial(name) for name in names) or self.functions.is_helper(self.local):
            raise Unsupported(f"{type(node).__name__.lower()} with vectors", node.lineno)

    # ----------------------------------------------------------- assignments
    def assign(self, node: ast.Assign, target: ast.expr, value: ast.expr) -> None:
        """``target = value``."""
        mapped = self.mapped(value) if isinstance(target, ast.Tuple | ast.List) else None
        found = self.value(value) if mapped is None else mapped
        match target:
            case ast.Name(id=name):
                self.assign_name(node, name, value, found)
            case ast.Tuple(elts=elts) | ast.List(elts=elts) if isinstance(found, Vector):
                self.unpack(node, elts, found)
            case ast.Tuple() | ast.List():
                self.plain_targets(node, target, value, found)
            case ast.Subscript():
                self.store(node, target, value, found)
            case _ if self.functions.is_helper(self.local):
                raise Unsupported("a function changes what it is given", node.lineno)
            case _:
                self.put(value, self.number_of(found, node).node)
                self.hoisted(node)

    def number_of(self, found: Value, node: ast.stmt) -> Number:
        """What is assigned, as one number."""
        match found:
            case Number():
                return found
            case Other(node=same):
                return Number(same)
            case Vector(kind="tuple" | "list"):
                return Number(self.display(found))
        raise Unsupported("a vector is kept where only numbers can be", node.lineno)

    def assign_name(self, node: ast.stmt, name: str, value: ast.expr, found: Value) -> None:
        """A variable gets a number, a vector, or another name for a row."""
        if isinstance(found, Function):
            raise Unsupported(f"{name} is another name of a function", node.lineno)
        if isinstance(found, Vector):
            row = found.place and isinstance(value, ast.Subscript)
            if row and isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Tuple):
                self.hoisted(node)
                self.env[name] = self.placed(name, found)
                return
            if found.place:
                raise Unsupported(f"{name} is another name of a row or an array", node.lineno)
            self.functions.vectors += 1
            targets, self.env[name] = self.components(name, found)
            self.instead(node, targets, list(flat(found)))
            return
        self.put(value, self.number_of(found, node).node)
        self.hoisted(node)
        self.env[name] = self.assigned(name, found)

    def assigned(self, name: str, found: Value) -> Value:
        """What a variable is worth that got a value."""
        here = ast.Name(name, ast.Load())
        if isinstance(found, Number):
            return Number(here, found.type)
        return Other(here, found.info, found.rank) if isinstance(found, Other) else found

    def placed(self, name: str, found: Vector) -> Vector:
        """The row under its new name."""
        items = []
        for k, number in enumerate(flat(found)):
            element = ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(k), ast.Load())
            items.append(Number(element, number.type))
        return Vector(found.kind, tuple(items), place=True, owners=found.owners | {name})

    def components(self, name: str, found: Vector) -> tuple[list[str], Vector]:
        """The variables of a vector's components, and the vector in them."""
        names: list[str] = []
        items: list[Number | Vector] = []
        for k, item in enumerate(found.items):
            part = self.functions.component(name, k)
            if isinstance(item, Vector):
                inner, vector = self.components(part, item)
                names += inner
                items.append(vector)
            else:
                names.append(part)
                items.append(Number(ast.Name(part, ast.Load()), item.type))
        if any(isinstance(item, Vector) and item.place for item in found.items):
            raise Unsupported(f"{name} keeps rows of an array", None, "copy them")
        return names, Vector(found.kind, tuple(items), owners=found.owners | {name})

    def unpack(self, node: ast.Assign, elts: Sequence[ast.expr], found: Vector) -> None:
        """``x, y, z = v`` and ``pos, vel = step(pos, vel)``."""
        if len(elts) != len(found.items):
            raise Unsupported(f"{len(found.items)} values for {len(elts)} targets", node.lineno)
        if self.named_rows(node, elts, found):
            return
        targets: list[str] = []
        bound: dict[str, Value] = {}
        for target, item in zip(elts, found.items, strict=True):
            if isinstance(target, ast.Name) and isinstance(item, Vector):
                if item.place:
                    raise Unsupported(f"{target.id} is another name of a row", node.lineno)
                names, bound[target.id] = self.components(target.id, item)
                targets += names
            elif isinstance(item, Number):
                targets.append(self.target(target))
                if isinstance(target, ast.Name):
                    bound[target.id] = self.assigned(target.id, item)
            else:
                raise Unsupported(f"{ast.unparse(target)} gets a whole vector", node.lineno)
        numbers = list(flat(found))
        self.functions.vectors += not isinstance(node.value, ast.Call | ast.Tuple)
        same = [ast.unparse(t) for t in elts] == targets and isinstance(node.value, ast.Tuple)
        if same and not self.first and self.unchanged(node.value, numbers):
            self.env.update(bound)
            return
        self.instead(node, targets, numbers)
        self.env.update(bound)

    def named_rows(self, node: ast.Assign, elts: Sequence[ast.expr], found: Vector) -> bool:
        """``p, q = points[i], points[j]``: two rows under other names, as it stands."""
        values = node.value.elts if isinstance(node.value, ast.Tuple) else []
        pairs = list(zip(elts, found.items, strict=True))
        plain = all(isinstance(v, ast.Subscript) and is_atom(v) for v in values)
        if not values or not plain or self.first:
            return False
        for target, item in pairs:
            row = isinstance(item, Vector) and item.place
            if not isinstance(target, ast.Name) or not row:
                return False
        for target, item in pairs:
            if isinstance(target, ast.Name) and isinstance(item, Vector):
                self.env[target.id] = self.placed(target.id, item)
        return True

    def unchanged(self, value: ast.expr, numbers: Sequence[Number]) -> bool:
        """Whether the numbers are those that stand there."""
        assert isinstance(value, ast.Tuple)
        return all(n.node is e for n, e in zip(numbers, value.elts, strict=True))

    def target(self, node: ast.expr) -> str:
        """A place that gets a number: a variable, or an element of something that is there."""
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Subscript):
            owner = self.value(node.value)
            if isinstance(owner, Vector):
                return self.stored_component(node, owner)
            return ast.unparse(self.number(node).node)
        return ast.unparse(node)

    def stored_component(self, node: ast.Subscript, owner: Vector) -> str:
        """``v[0]`` as a target."""
        if owner.kind == "tuple":
            raise Unsupported("a tuple is changed", node.lineno)
        if self.functions.is_helper(self.local) and owner.place:
            raise Unsupported("a function changes what it is given", node.lineno)
        if not owner.place:
            if not isinstance(node.value, ast.Name):
                raise Unsupported("a vector in a vector is changed", node.lineno)
            self.refuse_shared(node.value.id, node.lineno)
        found = self.component(node, owner)
        if not isinstance(found, Number):
            raise Unsupported(f"{ast.unparse(node)} is changed", node.lineno)
        return ast.unparse(found.node)

    def plain_targets(
        self, node: ast.Assign, target: ast.expr, value: ast.expr, found: Value
    ) -> None:
        """``a, b = other``: what it gives is not known here."""
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self.env[part.id] = Other(ast.Name(part.id, ast.Load()))
            elif isinstance(part, ast.Name) and self.is_vectorial(part.id):
                raise Unsupported(f"{ast.unparse(target)} is assigned", node.lineno)
        self.put(value, self.number_of(found, node).node)
        self.hoisted(node)

    def store(self, node: ast.Assign, target: ast.Subscript, value: ast.expr, found: Value) -> None:
        """``rows[i] = v``, ``v[0] = x``, ``a[i] = x``."""
        if self.functions.is_helper(self.local) and not self.is_own(target.value):
            raise Unsupported("a function changes what it is given", node.lineno)
        place = self.value(target)
        if isinstance(place, Vector):
            self.store_row(node, place, found)
            return
        owner = self.value(target.value)
        number = self.number_of(found, node)
        if isinstance(owner, Vector) and not owner.place:
            self.store_component(node, target, owner, number)
            return
        self.put(target, self.number_of(place, node).node)
        self.put(value, number.node)
        self.hoisted(node)

    def store_component(
        self, node: ast.stmt, target: ast.Subscript, owner: Vector, number: Number
    ) -> None:
        """``v[0] = x`` of a vector in variables."""
        if owner.kind == "ndarray":
            number = self.float64(self.typed(number, node))
        name = self.stored_component(target, owner)
        self.instead(node, [name], [number])
        if isinstance(target.value, ast.Name):
            self.retype(target.value.id, name, number)

    def refuse_shared(self, name: str, line: int) -> None:
        """A vector that is changed in place has no other name. Raises Unsupported."""
        others = [owners_of(value) for other, value in self.env.items() if other != name]
        own = owners_of(self.env[name]) == {name}
        if not own or any(name in owners for owners in others):
            raise Unsupported(f"{name} is changed in place and may have another name", line)

    def is_own(self, node: ast.expr) -> bool:
        """Whether a function stores to a vector that it has made."""
        found = self.env.get(node.id) if isinstance(node, ast.Name) else None
        return isinstance(found, Vector) and not found.place

    def typed(self, number: Number, node: ast.stmt) -> Number:
        """The number, whose type must be known."""
        if not number.type:
            raise Unsupported(f"{ast.unparse(number.node)} may be no number", node.lineno)
        return number

    def retype(self, name: str, part: str, number: Number) -> None:
        """One component has another type now."""
        owner = self.env[name]
        assert isinstance(owner, Vector)
        items = tuple(
            Number(i.node, number.type)
            if isinstance(i, Number) and ast.unparse(i.node) == part
            else i
            for i in owner.items
        )
        self.env[name] = Vector(owner.kind, items, owners=owner.owners)

    def store_row(self, node: ast.stmt, place: Vector, found: Value) -> None:
        """The elements of a row, or of an array that is there, get those of a vector."""
        if place.kind != "ndarray" or not place.place:
            raise Unsupported("a row of a list is replaced", node.lineno, "assign its elements")
        if not isinstance(found, Vector) or len(found.items) != len(place.items):
            raise Unsupported("a row gets other than a vector of its length", node.lineno)
        numbers = [self.typed(n, node) for n in flat(found)]
        if len(numbers) != len(place.items):
            raise Unsupported("a row gets other than numbers", node.lineno)
        self.functions.vectors += 1
        self.instead(node, [ast.unparse(p.node) for p in flat(place)], numbers)

    def augmented(self, node: ast.AugAssign) -> None:
        """``v += w`` changes the array in place; ``x += 1`` is of numbers."""
        target = node.target
        if isinstance(target, ast.Attribute) and self.functions.is_helper(self.local):
            raise Unsupported("a function changes what it is given", node.lineno)
        current = self.value(_loaded(target))
        if not isinstance(current, Vector):
            found = self.number(node.value)
            owner = self.value(target.value) if isinstance(target, ast.Subscript) else None
            if isinstance(target, ast.Subscript):
                if isinstance(owner, Vector) and not owner.place:
                    old = self.as_number(current, target)
                    kind = result_type(node.op, old.type, found.type, found.node)
                    new = Number(ast.BinOp(old.node, node.op, found.node), kind)
                    self.store_component(node, target, owner, new)
                    return
                if self.functions.is_helper(self.local):
                    raise Unsupported("a function changes what it is given", node.lineno)
                self.put(target, self.number_of(current, node).node)
            self.put(node.value, found.node)
            self.hoisted(node)
            if isinstance(target, ast.Name):
                left = current.type if isinstance(current, Number) else ""
                kind = result_type(node.op, left, found.type, found.node)
                self.env[target.id] = Number(ast.Name(target.id, ast.Load()), kind)
            return
        if current.kind != "ndarray":
            raise Unsupported(f"{ast.unparse(target)} grows or is repeated", node.lineno)
        value = self.value(node.value)
        whole = ast.BinOp(_loaded(target), node.op, node.value, lineno=node.lineno)
        found_vector = self.binary(whole, current, node.op, value)
        assert isinstance(found_vector, Vector)
        if self.functions.is_helper(self.local) and current.place:
            raise Unsupported("a function changes what it is given", node.lineno)
        if isinstance(target, ast.Name) and not current.place:
            self.refuse_shared(target.id, target.lineno)
        self.instead(node, [ast.unparse(n.node) for n in flat(current)], list(flat(found_vector)))


def _loaded(node: ast.expr) -> ast.expr:
    """A target as an expression."""
    match node:
        case ast.Name(id=name):
            new: ast.expr = ast.Name(name, ast.Load())
        case ast.Subscript(value=value, slice=index):
            new = ast.Subscript(value, index, ast.Load())
        case _:
            return node
    return ast.copy_location(new, node)

"""Whether a loop's body adds up alike for equal elements, and the edits that count them at once.

What the body does may hang on the element alone; what it leaves may be sums of ints, entries of
dictionaries that are such sums, and sets. Then one pass for each distinct element, in the order in
which they occur first, with every addition made as often as the element is there, leaves the same:
also the order of the keys, and the first exception, which an element raises where it occurs first.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..model import Edit, Refusal, Region, ValueInfo
from . import ast_tools as tools
from .distinct_elements import Elements

_METHODS = frozenset(
    {
        *("isalpha", "isdigit", "isalnum", "isupper", "islower", "isspace", "isdecimal"),
        *("isnumeric", "isprintable", "isidentifier", "isascii", "upper", "lower", "swapcase"),
        *("casefold", "strip", "startswith", "endswith", "count", "find", "replace"),
    }
)
"""Methods of strings without effects."""
_FUNCTIONS = frozenset({"ord", "chr", "int", "len", "str", "abs", "min", "max"})
_WHOLE = frozenset({"ord", "int", "len"})
"""Functions of these arguments that give an int."""
_PLAIN = frozenset({"int", "bool", "str", "bytes", "none"})
_TABLES = frozenset({"builtins.dict", "builtins.set", "builtins.frozenset"})
COUNTERS = {
    "builtins.dict": "dict",
    "collections.Counter": "Counter",
    "collections.defaultdict": "defaultdict",
}


class Unfit(Exception):
    """The body does something else; carries the refusal."""

    def __init__(self, reason: str, node: ast.AST) -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason, getattr(node, "lineno", None))


@dataclass
class Body:
    """What was found in one body."""

    region: Region
    elements: Elements
    times: str
    """The name of an element's number of occurrences."""
    edits: list[Edit] = field(default_factory=list)
    temporaries: set[str] = field(default_factory=set)
    """Names that have a value of this iteration at this point."""
    assigned: set[str] = field(default_factory=set)
    """Those that have one at any point."""
    sums: dict[str, None] = field(default_factory=dict)
    """Ints that are added to."""
    counters: dict[str, int] = field(default_factory=dict)
    """Dictionaries whose entries are added to, and by how many statements."""
    sets: dict[str, None] = field(default_factory=dict)
    given: dict[str, None] = field(default_factory=dict)
    """Names from before the loop that are read."""
    present: set[str] = field(default_factory=set)
    """Entries ``d[k]`` that are there at this point, as text."""
    closed: set[str] = field(default_factory=set)
    """Dictionaries that must get no new key: what is done hangs on which they have."""
    may_raise: ast.AST | None = None

    def check(self) -> None:
        """Go through the body. Raises Unfit."""
        self._block(self.elements.body)
        changed = {*self.sums, *self.counters, *self.sets}
        both = (set(self.given) | self.assigned) & changed
        both |= {name for name in self.closed if self.counters[name] > 1}
        for name in sorted(both | (set(self.sums) & {*self.counters, *self.sets})):
            raise Unfit(f"{name} is changed, and used otherwise", self.region.loop)

    # ------------------------------------------------------------ statements
    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.If() if self._entry_or_first(node):
                pass
            case ast.If(test=test, body=body, orelse=orelse):
                self._pure(test)
                before, there = set(self.temporaries), set(self.present)
                self._block(body)
                after, self.temporaries, self.present = self.temporaries, before, set(there)
                self._block(orelse)
                self.temporaries &= after
                self.present = there
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name)) as target]):
                self._get_and_add(name, target, node)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._pure(value)
                self._temporary(name, node)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub(), value=value):
                self._sum(name, value, node)
            case ast.AugAssign(
                target=ast.Subscript(value=ast.Name(id=name), slice=key),
                op=ast.Add() | ast.Sub(),
                value=value,
            ):
                self._pure(key)
                self._counter(name, node)
                if self.type_of(name) == "builtins.dict" and _entry(name, key) not in self.present:
                    self.may_raise = self.may_raise or node
                self._often(value)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="add"),
                    args=[item],
                    keywords=[],
                )
            ) if self.type_of(name) == "builtins.set":
                self._pure(item)
                self.sets.setdefault(name)
            case ast.Continue() | ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                text = ast.unparse(node).partition("\n")[0]
                raise Unfit(f"`{text}` is more than counting", node)

    def _temporary(self, name: str, node: ast.stmt) -> None:
        if name == self.elements.element or name in self.elements.unused:
            raise Unfit(f"{name} is assigned in the body", node)
        self.temporaries.add(name)
        self.assigned.add(name)
        self.present.clear()

    def _sum(self, name: str, value: ast.expr, node: ast.stmt) -> None:
        info = self.seen(name)
        if info is None or info.kind != "int":
            raise Unfit(f"{name} is not an int before the loop", node)
        self.sums.setdefault(name)
        self._often(value)

    # ---------------------------------------------------------- dictionaries
    def _entry_or_first(self, node: ast.If) -> bool:
        """``if k in d: d[k] += 1`` .. ``else: d[k] = 1``; ``if k not in d: d[k] = 0``."""
        match node.test:
            case ast.Compare(
                left=key, ops=[ast.In() | ast.NotIn() as op], comparators=[ast.Name(id=name)]
            ) if self.type_of(name) in COUNTERS and name not in self.given:
                pass
            case _:
                return False
        present, absent = node.body, node.orelse
        if isinstance(op, ast.NotIn):
            present, absent = absent, present
        first, added = _stored(absent, name, key), _added_to(present, name, key)
        if absent and (first is None or not _is_int(first)):
            return False
        if present and (added is None or (absent and ast.dump(added) != ast.dump(first or node))):
            return False
        if added is not None:
            self._often(added)
            if first is not None:
                self._often(first)
            else:
                self.closed.add(name)
        self._pure(key)
        self._counter(name, node)
        if not present:
            self.present.add(_entry(name, key))  # to put it there again makes no difference
        return True

    def _get_and_add(self, name: str, target: ast.Subscript, node: ast.Assign) -> None:
        """``d[k] = d.get(k, 0) + 1``."""
        match node.value:
            case ast.BinOp(
                left=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=owner), attr="get"),
                    args=[key, ast.Constant(value=0) as zero],
                    keywords=[],
                ),
                op=ast.Add(),
                right=value,
            ) if owner == name and type(zero.value) is int:
                pass
            case _:
                raise Unfit(f"`{ast.unparse(node)}` is more than counting", node)
        if ast.dump(key) != ast.dump(target.slice):
            raise Unfit(f"`{ast.unparse(node)}` moves a count to another key", node)
        self._pure(key)
        self._counter(name, node)
        self._often(value)

    def _counter(self, name: str, node: ast.AST) -> None:
        if self.type_of(name) not in COUNTERS:
            raise Unfit(f"{name} is not a dictionary of Python's own", node)
        self.counters[name] = self.counters.get(name, 0) + 1

    # ----------------------------------------------------------- expressions
    def _often(self, value: ast.expr) -> None:
        """What is added once for each occurrence: an int, multiplied."""
        self._pure(value)
        if not self._whole(value):
            raise Unfit(f"`{ast.unparse(value)}` may be no int", value)
        start, end = self.region.source.span(value)
        text = self.region.source.text(value)
        if isinstance(value, ast.Constant) and value.value == 1:
            self.edits.append(Edit(start, end, self.times))
            return
        if not isinstance(value, ast.Constant | ast.Name | ast.Call):
            text = f"({text})"
        self.edits.append(Edit(start, end, f"{self.times} * {text}"))

    def _whole(self, node: ast.expr) -> bool:
        """Surely an int."""
        match node:
            case ast.Constant(value=value):
                return type(value) is int
            case ast.Call(func=ast.Name(id=name)):
                return name in _WHOLE
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
                return self._whole(left) and self._whole(right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._whole(operand)
            case ast.IfExp(body=first, orelse=second):
                return self._whole(first) and self._whole(second)
            case ast.Subscript(value=ast.Name(id=name)):
                info = self.seen(name)
                if info is None or info.element is None or info.ndim != 1:
                    return False
                return info.kind in ("list", "tuple") and info.element.kind == "int"
            case ast.Name(id=name):
                if name == self.elements.element:
                    return self.elements.stem == "_byte_values"
                info = self.seen(name)
                known = name not in self.temporaries
                return known and info is not None and info.kind == "int"
        return False

    def _pure(self, node: ast.expr) -> None:
        """An expression of the element and of what stays the same. Raises Unfit."""
        match node:
            case ast.Constant():
                return
            case ast.Name(id=name):
                self._name(name, node)
                return
            case ast.Call(func=function, args=args, keywords=[]):
                self._callable(function, node)
                parts: list[ast.expr] = list(args)
            case ast.Subscript(value=value, slice=index):
                self.may_raise = self.may_raise or node
                parts = [value, index]
            case ast.Slice(lower=lower, upper=upper, step=None):
                parts = [p for p in (lower, upper) if p is not None]
            case (
                ast.Compare()
                | ast.BoolOp()
                | ast.UnaryOp()
                | ast.IfExp()
                | ast.Tuple(ctx=ast.Load())
                | ast.List(ctx=ast.Load())
                | ast.Set()
            ):
                parts = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
            case ast.BinOp(left=left, right=right):
                self.may_raise = self.may_raise or node
                parts = [left, right]
            case _:
                raise Unfit(f"`{ast.unparse(node)}` may hang on more than the element", node)
        for part in parts:
            self._pure(part)

    def _callable(self, function: ast.expr, node: ast.Call) -> None:
        match function:
            case ast.Name(id=name) if name in _FUNCTIONS and tools.is_builtin(
                self.region.source, name
            ):
                self.may_raise = self.may_raise or node
            case ast.Attribute(value=owner, attr=attr) if attr in _METHODS and self._is_text(owner):
                self._pure(owner)
            case _:
                raise Unfit(f"{ast.unparse(function)}() may do anything", node)

    def _is_text(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant(value=str()):
                return True
            case ast.Name(id=name):
                if name == self.elements.element:
                    return self.elements.stem != "_byte_values"
                info = self.seen(name)
                return name in self.temporaries or (info is not None and info.kind == "str")
            case ast.Call(func=ast.Attribute(attr="lower" | "upper" | "strip")):
                return True
        return False

    def _name(self, name: str, node: ast.Name) -> None:
        if name == self.elements.element or name in self.temporaries:
            return
        if name in self.elements.unused:
            raise Unfit(f"the place {name} matters", node)
        if name in stored_in(self.region.loop):
            raise Unfit(f"{name} keeps something from one iteration to the next", node)
        info = self.seen(name)
        if info is None or not _is_plain(info):
            raise Unfit(f"{name} may be anything", node)
        self.given.setdefault(name)

    def seen(self, name: str) -> ValueInfo | None:
        """What was seen of a name at the loop's entry."""
        assert self.region.observation is not None
        return self.region.observation.values.get(name)

    def type_of(self, name: str) -> str:
        """The type of a name at the loop's entry, qualified."""
        info = self.seen(name)
        return "" if info is None else info.type_name


def stored_in(loop: ast.stmt) -> frozenset[str]:
    """Names that the loop assigns."""
    return frozenset(n.id for n in tools.names_in(loop) if isinstance(n.ctx, ast.Store))


def _is_plain(info: ValueInfo) -> bool:
    """Values whose equality and hash are Python's own."""
    if info.kind in _PLAIN:
        return True
    if info.kind in ("list", "tuple"):
        return info.element is not None and info.element.kind in _PLAIN
    return info.type_name in _TABLES


def _entry(name: str, key: ast.expr) -> str:
    return f"{name}[{ast.unparse(key)}]"


def _is_int(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _same_entry(target: ast.expr, name: str, key: ast.expr) -> bool:
    match target:
        case ast.Subscript(value=ast.Name(id=owner), slice=index):
            return owner == name and ast.dump(index) == ast.dump(key)
    return False


def _stored(body: Sequence[ast.stmt], name: str, key: ast.expr) -> ast.expr | None:
    """``e`` of ``d[k] = e`` alone."""
    match body:
        case [ast.Assign(targets=[target], value=value)] if _same_entry(target, name, key):
            return value
    return None


def _added_to(body: Sequence[ast.stmt], name: str, key: ast.expr) -> ast.expr | None:
    """``e`` of ``d[k] += e`` alone."""
    match body:
        case [ast.AugAssign(target=target, op=ast.Add(), value=value)] if _same_entry(
            target, name, key
        ):
            return value
    return None

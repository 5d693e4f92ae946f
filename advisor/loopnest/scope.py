"""What the source text alone proves about names: constants, imports, who assigns them."""

from __future__ import annotations

import ast
import importlib
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from ..model import Source

Literal = bool | int | float | complex
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_STARRED = frozenset({"math", "cmath", "random", "itertools", "numpy"})
"""Modules of which ``from module import *`` binds names that are known without looking."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def dotted(node: ast.expr) -> str | None:
    """``"self.grid.u"`` for a chain of attributes of a name, None for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            base = dotted(value)
            return None if base is None else f"{base}.{attr}"
    return None


def literal(node: ast.expr) -> Literal | None:
    """The value of a number literal, signs and simple arithmetic of literals included."""
    match node:
        case ast.Constant(value=bool() | int() | float() | complex() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = literal(operand)
            return None if inner is None or isinstance(inner, bool) else -inner
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            inner = literal(operand)
            return None if inner is None or isinstance(inner, bool) else inner
        case ast.BinOp(op=op, left=left, right=right):
            first, second = literal(left), literal(right)
            function = _ARITHMETIC.get(type(op))
            if first is None or second is None or function is None:
                return None
            if isinstance(op, ast.Pow) and not _is_small_power(first, second):
                return None
            try:
                return function(first, second)
            except ArithmeticError:
                return None  # 1 / 0: the program raises there
    return None


_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Literal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def _is_small_power(base: Literal, exponent: Literal) -> bool:
    """``2**31`` and ``0.5**2``: real, and computed at once."""
    if isinstance(base, complex) or isinstance(exponent, complex):
        return False
    return abs(base) <= 10**9 and 0 <= exponent <= 64 and (base >= 0 or exponent % 1 == 0)


def table(node: ast.expr) -> tuple[tuple[Literal, ...], ...] | tuple[Literal, ...] | None:
    """The value of a literal tuple or list of numbers, or of equally long tuples of numbers."""
    if not isinstance(node, ast.Tuple | ast.List) or not node.elts:
        return None
    flat = [literal(e) for e in node.elts]
    numbers = [value for value in flat if value is not None]
    if len(numbers) == len(flat):
        return tuple(numbers)
    rows: list[tuple[Literal, ...]] = []
    for element in node.elts:
        if not isinstance(element, ast.Tuple | ast.List):
            return None
        row = [literal(e) for e in element.elts]
        kept = tuple(value for value in row if value is not None)
        if len(kept) != len(row) or (rows and len(rows[0]) != len(kept)):
            return None
        rows.append(kept)
    return tuple(rows)


def own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """All nodes below ``root``, without the bodies of functions and classes inside it."""
    stack = list(ast.iter_child_nodes(root))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))


def stored_names(root: ast.AST) -> frozenset[str]:
    """Names bound below ``root`` in the same scope: assigned, imported, defined, deleted."""
    found: set[str] = set()
    for node in own_nodes(root):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found.update((a.asname or a.name).split(".")[0] for a in names)
            case ast.ExceptHandler(name=str() as name):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[str]:
    """All parameter names."""
    args = function.args
    names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    names += [a.arg for a in (args.vararg, args.kwarg) if a is not None]
    return names


def declared(function: ast.AST) -> frozenset[str]:
    """Names under ``global`` or ``nonlocal`` in this scope."""
    found: set[str] = set()
    for node in own_nodes(function):
        if isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
    return frozenset(found)


def local_names(function: ast.FunctionDef | None) -> frozenset[str]:
    """Names local to a function; empty for module level."""
    if function is None:
        return frozenset()
    return (stored_names(function) | frozenset(parameters(function))) - declared(function)


def assigned_from_outside(tree: ast.Module) -> frozenset[str]:
    """Attributes that a file assigns on imported modules and classes; ``"*"`` for unknown names.

    ``physics.DT = 0.01``, ``setattr(physics, "DT", 0.01)``, ``sys.modules[__name__].DT = 0.01``.
    """
    imported = {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=value, attr=attr, ctx=ast.Store() | ast.Del()):
                if _root_name(value) in imported:
                    found.add(attr)
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[value, name, *_]):
                if _root_name(value) in imported:
                    text = name.value if isinstance(name, ast.Constant) else "*"
                    found.add(text if isinstance(text, str) else "*")
    return frozenset(found)


def _root_name(node: ast.expr) -> str | None:
    """``sys`` of ``sys.modules[__name__].grid``."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def targets_of(statement: ast.stmt) -> Iterator[ast.expr]:
    """The assignment targets of a simple statement."""
    match statement:
        case ast.Assign(targets=targets):
            yield from targets
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            yield target
        case _:
            return


@dataclass(frozen=True)
class Module:
    """Facts about the names of one source file."""

    source: Source

    @cached_property
    def _stores(self) -> Mapping[str, int]:
        """How often each global name is bound, by the module or through ``global``."""
        counts: dict[str, int] = {}
        tree = self.source.tree
        for node in own_nodes(tree):
            for name in _bound_by(node):
                counts[name] = counts.get(name, 0) + 1
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for name in declared(node):
                    counts[name] = counts.get(name, 0) + 2  # rebound at any time
        outside = assigned_from_outside(tree) | frozenset(self.source.rebound)
        for name in counts if "*" in outside else outside & set(counts):
            counts[name] += 2
        return counts

    @cached_property
    def _dynamic(self) -> bool:
        """Whether the module writes its globals in ways that the text does not show."""
        for node in self.source.nodes:
            match node:
                case ast.Name(id="globals" | "exec" | "vars" | "setattr"):
                    return True
                case ast.ImportFrom(names=[ast.alias(name="*")]) if _starred(node) is None:
                    return True
        return False

    @cached_property
    def _top(self) -> Mapping[str, ast.expr]:
        found: dict[str, ast.expr] = {}
        for statement in self.source.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    found[name] = value
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if (
                    len(names) == len(values)
                ):
                    # LOW, HIGH = -2.5, 2.5; a starred part would shift the others
                    if not any(isinstance(part, ast.Starred) for part in (*names, *values)):
                        pairs = zip(names, values, strict=True)
                        found.update((n.id, v) for n, v in pairs if isinstance(n, ast.Name))
                case _:
                    pass
        return found

    def bound(self, name: str) -> bool:
        """Whether the module binds the name at all."""
        return name in self._stores

    def constant(self, name: str) -> Literal | None:
        """The number a global always has: bound once, at top level, from a literal."""
        value = self.definition(name)
        return None if value is None else literal(value)

    def definition(self, name: str) -> ast.expr | None:
        """The expression at top level that alone gives a global its value."""
        if self._stores.get(name) != 1 or self._dynamic:
            return None
        return self._top.get(name)

    def constant_table(
        self, name: str
    ) -> tuple[tuple[Literal, ...], ...] | tuple[Literal, ...] | None:
        """The numbers a global tuple always has; a list only if nothing could change it."""
        if self._stores.get(name) != 1 or self._dynamic:
            return None
        value = self._top.get(name)
        if value is None:
            return None
        if not _frozen(value) and not only_iterated(self.source.tree, name):
            return None
        return table(value)

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """Canonical dotted names of what is imported at top level and never bound again."""
        found: dict[str, str] = {}
        for node in own_nodes(self.source.tree):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        if alias.asname:
                            found[alias.asname] = alias.name
                        elif "." not in alias.name:
                            found[alias.name] = alias.name
                case ast.ImportFrom(module=str() as module, names=[ast.alias(name="*")]):
                    found.update((name, f"{module}.{name}") for name in _starred(node) or ())
                case ast.ImportFrom(module=str() as module, names=names, level=0):
                    for alias in names:
                        found[alias.asname or alias.name] = f"{module}.{alias.name}"
                case _:
                    pass
        return {name: path for name, path in found.items() if self._stores.get(name) == 1}

    @cached_property
    def functions(self) -> Mapping[str, ast.FunctionDef]:
        """Functions defined at top level under a name that is bound only once."""
        return {
            statement.name: statement
            for statement in self.source.tree.body
            if isinstance(statement, ast.FunctionDef) and self._stores.get(statement.name) == 1
        }

    @cached_property
    def nodes(self) -> frozenset[int]:
        """Identities of all function definitions in this file."""
        return frozenset(id(n) for n in self.source.nodes if isinstance(n, ast.FunctionDef))

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Every name and parameter in the file: invented names keep clear of them."""
        return frozenset(
            n.id if isinstance(n, ast.Name) else n.arg
            for n in self.source.nodes
            if isinstance(n, ast.Name | ast.arg)
        )

    @cached_property
    def computed_attributes(self) -> frozenset[str]:
        """Names that are methods or properties of some class here: not plain attributes."""
        found: set[str] = set()
        for node in self.source.nodes:
            if isinstance(node, ast.ClassDef):
                found.update(
                    s.name
                    for s in node.body
                    if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)
                )
        return frozenset(found)


_CACHE: list[Module] = []


def module_of(source: Source) -> Module:
    """The facts of a file, kept for the files asked about last: a file has many loops."""
    for known in _CACHE:
        if known.source is source:
            return known
    made = Module(source)
    _CACHE.append(made)
    del _CACHE[:-8]
    return made


def _bound_by(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return _starred(node) or ()
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return tuple((a.asname or a.name).split(".")[0] for a in names)
        case ast.ExceptHandler(name=str() as name):
            return (name,)
    return ()


def _starred(node: ast.ImportFrom) -> tuple[str, ...] | None:
    """The names that ``from math import *`` binds; None where only running it would tell."""
    known = node.level == 0 and node.module in _STARRED
    return _exported(str(node.module)) if known else None


@cache
def _exported(module: str) -> tuple[str, ...]:
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None) or [n for n in vars(found) if not n.startswith("_")]
    return tuple(names)


def _frozen(node: ast.expr) -> bool:
    """A tuple of numbers, or of tuples of numbers: nothing can change it."""
    return isinstance(node, ast.Tuple) and not any(
        isinstance(inner, ast.List) for inner in ast.walk(node)
    )


def only_iterated(root: ast.AST, name: str) -> bool:
    """Whether the name, once bound, is only looped over, indexed for reading or measured."""
    allowed = 0
    total = 0
    for node in ast.walk(root):
        match node:
            case ast.Name(id=found, ctx=ast.Load()) if found == name:
                total += 1
            case ast.For(iter=ast.Name(id=found)) if found == name:
                allowed += 1
            case ast.comprehension(iter=ast.Name(id=found)) if found == name:
                allowed += 1
            case ast.Call(func=ast.Name(id="len" | "enumerate"), args=[ast.Name(id=found)]) if (
                found == name
            ):
                allowed += 1
    # Elements of a list of lists can be changed through the loop variable: rows must be tuples.
    for node in ast.walk(root):
        if (
            isinstance(node, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
            and isinstance(node.value, ast.List)
            and any(isinstance(e, ast.List) for e in node.value.elts)
        ):
            return False
    return allowed == total

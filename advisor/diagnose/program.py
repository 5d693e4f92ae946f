"""The user's program as text: its functions, its loops, and who calls whom.

Calls are resolved statically and generously: a method called on an unknown object counts as a
call of every method of that name among the user's classes. That is enough to say where time may
come from; what is *inlined* into a rewrite is resolved by observation (``diagnose.regions``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from ..model import Source
from ..observe.instrument import first_line, handed_to_compilers, is_compiled, is_generator
from ..rowcalls import as_loop, hidden_loops

MODULE = "<module>"

Loop = ast.For | ast.While
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class Scope:
    """A function, or the top level of a module."""

    file: Path
    qualname: str
    node: Function | ast.Module
    class_name: str | None
    compiled: bool
    """Given to a compiler such as numba."""

    @property
    def is_module(self) -> bool:
        """Top-level code."""
        return isinstance(self.node, ast.Module)

    @property
    def deferred(self) -> bool:
        """A generator or coroutine function."""
        return not isinstance(self.node, ast.Module) and is_generator(self.node)

    @property
    def line(self) -> int:
        """Line of the ``def``; 1 for a module."""
        return 1 if isinstance(self.node, ast.Module) else self.node.lineno

    @property
    def first_line(self) -> int:
        """First line, decorators included."""
        return 1 if isinstance(self.node, ast.Module) else first_line(self.node)

    @cached_property
    def statements(self) -> tuple[ast.stmt, ...]:
        """All statements that run in this scope, in source order, nested blocks included."""
        return tuple(_own_statements(self.node.body))

    @cached_property
    def lines(self) -> frozenset[int]:
        """Lines whose time is this scope's own (not that of functions defined inside)."""
        found: set[int] = set()
        for statement in self.statements:
            found.update(_own_lines(statement))
        return frozenset(found)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """All loop statements, outer before inner, and statements that are looked at as loops."""
        hidden = set(hidden_loops(self.statements))
        return tuple(
            s if isinstance(s, ast.For | ast.While) else as_loop(s)
            for s in self.statements
            if isinstance(s, ast.For | ast.While) or s in hidden
        )


def _own_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from _own_statements(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from _own_statements(handler.body)
        for case in getattr(statement, "cases", []):
            yield from _own_statements(case.body)


def _own_lines(statement: ast.stmt) -> range:
    """The lines of a simple statement, or of a compound one's header."""
    end = statement.end_lineno or statement.lineno
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return range(statement.lineno, statement.lineno + 1)
    body = getattr(statement, "body", None) or [
        s for case in getattr(statement, "cases", []) for s in case.body
    ]
    if body:
        end = max(statement.lineno, min(end, body[0].lineno - 1))
    return range(statement.lineno, end + 1)


@dataclass(frozen=True)
class Call:
    """A call in the text, with the user functions that it may reach."""

    caller: Scope
    line: int
    callees: tuple[Scope, ...]


class Program:
    """All the user's sources together. Sources that do not parse are left out."""

    def __init__(self, sources: Mapping[Path, Source]) -> None:
        self.sources = dict(sources)
        self.scopes: list[Scope] = []
        self._by_name: dict[tuple[Path, str], Scope] = {}
        self._methods: dict[str, list[Scope]] = {}
        self._imports: dict[Path, dict[str, tuple[Path, str | None]]] = {}
        self._bases: dict[tuple[Path, str], list[str]] = {}
        for path, source in self.sources.items():
            try:
                tree = source.tree
            except (SyntaxError, ValueError):
                continue
            self._read(path, tree)

    # ------------------------------------------------------------- reading
    def _read(self, path: Path, tree: ast.Module) -> None:
        handed = handed_to_compilers(tree)
        self._add(Scope(path, MODULE, tree, None, False))
        self._read_block(path, tree, "", None, False, handed)
        self._imports[path] = dict(self._read_imports(path, tree))

    def _read_block(
        self,
        path: Path,
        parent: ast.AST,
        prefix: str,
        class_name: str | None,
        compiled: bool,
        handed: frozenset[str],
    ) -> None:
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = prefix + node.name
                inside = compiled or is_compiled(node, handed)
                scope = Scope(path, name, node, class_name, inside)
                self._add(scope)
                if class_name is not None:
                    self._methods.setdefault(node.name, []).append(scope)
                self._read_block(path, node, f"{name}.<locals>.", None, inside, handed)
            elif isinstance(node, ast.ClassDef):
                name = prefix + node.name
                self._bases[path, name] = [b.id for b in node.bases if isinstance(b, ast.Name)]
                self._read_block(path, node, f"{name}.", name, compiled, handed)
            elif not isinstance(node, ast.Lambda):
                self._read_block(path, node, prefix, class_name, compiled, handed)

    def _add(self, scope: Scope) -> None:
        self.scopes.append(scope)
        # A function defined twice under one name: the last one counts, as at run time.
        self._by_name[scope.file, scope.qualname] = scope

    def _read_imports(
        self, path: Path, tree: ast.Module
    ) -> Iterator[tuple[str, tuple[Path, str | None]]]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    file = self._module(alias.name)
                    if file is not None:
                        yield alias.asname or alias.name, (file, None)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                file = self._module(base) if base else None
                for alias in node.names:
                    inner = self._module(f"{base}.{alias.name}" if base else alias.name)
                    if inner is not None and inner != file:
                        yield alias.asname or alias.name, (inner, None)
                    elif file is not None:
                        yield alias.asname or alias.name, (file, alias.name)

    def _module(self, dotted: str) -> Path | None:
        """The source whose path ends like the module's dotted name."""
        parts = tuple(dotted.split("."))
        for path in self.sources:
            names = path.with_suffix("").parts
            if names[-1] == "__init__":
                names = names[:-1]
            if names[-len(parts) :] == parts:
                return path
        return None

    # ----------------------------------------------------------- look-ups
    def scope(self, file: Path, qualname: str) -> Scope | None:
        """The scope of that exact name."""
        return self._by_name.get((file, qualname))

    def named(self, file: Path, qualname: str, first: int | None = None) -> Scope | None:
        """The scope a profiler means: by exact name, by first line, else by the last part if only
        one function ends so.
        """
        exact = self.scope(file, qualname)
        if exact is not None:
            return exact
        here = [s for s in self.scopes if s.file == file and not s.is_module]
        if first is not None:
            for scope in here:
                if first in (scope.line, scope.first_line):
                    return scope
        last = qualname.rpartition(".")[2]
        same = [s for s in here if s.qualname.rpartition(".")[2] == last]
        return same[0] if len(same) == 1 else None

    def at(self, file: Path, line: int) -> Scope | None:
        """The function whose ``def`` or first decorator is on that line."""
        for scope in self.scopes:
            if (
                scope.file == file
                and not scope.is_module
                and line in (scope.line, scope.first_line)
            ):
                return scope
        return None

    def owner(self, file: Path, line: int) -> Scope | None:
        """The scope a line's own time belongs to."""
        for scope in self.scopes:
            if scope.file == file and line in scope.lines:
                return scope
        return None

    # ---------------------------------------------------------------- calls
    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All calls that may reach user functions."""
        found: list[Call] = []
        for scope in self.scopes:
            for statement in scope.statements:
                for node in _own_nodes(statement):
                    if isinstance(node, ast.Call):
                        callees = (*self._targets(node.func, scope), *self._handed(node, scope))
                        if callees:
                            found.append(Call(scope, node.lineno, callees))
        return tuple(found)

    def _targets(self, function: ast.expr, scope: Scope) -> Iterator[Scope]:
        if isinstance(function, ast.Name):
            yield from self._named_target(function.id, scope)
        elif isinstance(function, ast.Attribute):
            yield from self._attribute_target(function, scope)

    def _handed(self, call: ast.Call, scope: Scope) -> Iterator[Scope]:
        """``df.apply(cost, axis=1)`` and ``rk4_step(lorenz, state)`` call what they are given."""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        for one in given:
            if isinstance(one, ast.Name) and one.id not in _bound_in(scope):
                for target in self._named_target(one.id, scope):
                    # A class may be handed over to be asked about, as in ``isinstance``.
                    if target.qualname.rpartition(".")[2] == one.id:
                        yield target

    def _named_target(self, name: str, scope: Scope) -> Iterator[Scope]:
        prefix = "" if scope.is_module else f"{scope.qualname}.<locals>."
        while prefix:
            inner = self.scope(scope.file, prefix + name)
            if inner is not None:
                yield inner
                return
            prefix = prefix.rpartition(".<locals>.")[0].rpartition(".<locals>.")[0]
            prefix = f"{prefix}.<locals>." if prefix else ""
        yield from self._module_target(scope.file, name)

    def _module_target(self, file: Path, name: str) -> Iterator[Scope]:
        for candidate in (name, f"{name}.__init__", f"{name}.__call__"):
            found = self.scope(file, candidate)
            if found is not None and not found.is_module:
                yield found
        imported = self._imports.get(file, {}).get(name)
        if imported is not None and imported[1] is not None and imported[0] != file:
            yield from self._module_target(imported[0], imported[1])

    def _attribute_target(self, function: ast.Attribute, scope: Scope) -> Iterator[Scope]:
        base = function.value
        name = function.attr
        if isinstance(base, ast.Name):
            imported = self._imports.get(scope.file, {}).get(base.id)
            if imported is not None and imported[1] is None:
                yield from self._module_target(imported[0], name)
                return
            if base.id in ("self", "cls") and scope.class_name is not None:
                own = self._method(scope.file, scope.class_name, name)
                if own is not None:
                    yield own
                    return
        yield from self._methods.get(name, [])

    def _method(self, file: Path, class_name: str, name: str, depth: int = 0) -> Scope | None:
        found = self.scope(file, f"{class_name}.{name}")
        if found is not None or depth > 8:
            return found
        for base in self._bases.get((file, class_name), []):
            found = self._method(file, base, name, depth + 1)
            if found is not None:
                return found
        return None

    @cached_property
    def callees(self) -> Mapping[Scope, frozenset[Scope]]:
        """Direct user callees of each scope."""
        found: dict[Scope, set[Scope]] = {}
        for call in self.calls:
            found.setdefault(call.caller, set()).update(call.callees)
        return {scope: frozenset(targets) for scope, targets in found.items()}

    def reachable(self, start: frozenset[Scope]) -> frozenset[Scope]:
        """The scopes in ``start`` and everything they call, transitively."""
        done: set[Scope] = set()
        todo = list(start)
        while todo:
            scope = todo.pop()
            if scope not in done:
                done.add(scope)
                todo.extend(self.callees.get(scope, ()))
        return frozenset(done)

    def called_in(self, scope: Scope, first: int, last: int) -> frozenset[Scope]:
        """User functions called directly on those lines of a scope."""
        return frozenset(
            callee
            for call in self.calls
            if call.caller is scope and first <= call.line <= last
            for callee in call.callees
        )


@lru_cache(maxsize=1024)
def _bound_in(scope: Scope) -> frozenset[str]:
    """Parameters and assigned names of a function; none of a module, whose names are all shared."""
    if scope.is_module or not isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef):
        return frozenset()
    nodes = list(ast.walk(scope.node))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return frozenset(stored | {n.arg for n in nodes if isinstance(n, ast.arg)})


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions a statement evaluates itself; statements inside it come on their own."""
    todo: list[ast.AST] = [
        child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)
    ]
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        todo = []  # decorators and defaults run once
    while todo:
        node = todo.pop()
        yield node
        todo.extend(
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case)
        )

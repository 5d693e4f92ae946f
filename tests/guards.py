"""What tests of guards share: the guards in a rewritten text, and runs in which they report.

A guard is a new test in front of new code, whose other branch is the original: ``if T: new, else:
the loop``; ``if not T: return kernel.py_func(..)``; ``(new if T else old)``; ``if T: x = new()``
and later ``if x is not None: .. else: the loop`` or ``if not x: the loop``. `Watched` compiles a
rewritten text so that every part of its guards reports what it came to. A run is bounded by what it
does, never by the time it takes: what is found must not depend on the machine. `other_data` makes
the data that violate guards.
"""

from __future__ import annotations

import ast
import copy
import resource
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gpuadvise.cases import execute
from gpuadvise.verify.claims import is_chain

MEMORY = 2**27
"""Bytes that a run may ask for beyond what the process holds: ``n = 2**31`` is a size, too."""
_HELD = Path("/proc/self/statm")


def squeezed(text: str) -> str:
    """Without white space, and without what only the layout needs."""
    return "".join(text.split())


def guard_tests(before: str, after: str) -> list[ast.expr]:
    """The tests of the guards in ``after``, whole."""
    old = {ast.dump(node) for node in ast.walk(ast.parse(before))}
    statements = {ast.dump(n) for n in ast.walk(ast.parse(before)) if isinstance(n, ast.stmt)}
    found: list[ast.expr] = []
    tree = ast.parse(after)
    for node in ast.walk(tree):
        match node:
            case ast.If(test=ast.Compare(ast.Name(name), [ast.IsNot()]), orelse=[*_, last]):
                if ast.dump(last) in statements:
                    found += _that_sets(name, node, tree)
            case ast.If(test=ast.UnaryOp(ast.Not(), ast.Name(name)), body=[*_, last]):
                if ast.dump(last) in statements:
                    found += _that_sets(name, node, tree)
            case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=[ast.Return() as body]):
                if "py_func" in ast.unparse(body):
                    found.append(test)
            case ast.If(test=test, orelse=[*_, last]):
                if ast.dump(node) not in old and ast.dump(last) in statements:
                    found.append(test)
            case ast.IfExp(test=test, orelse=other):
                # not `found if found_set else 0`, which puts the type of a result right
                of_types = ast.unparse(test).startswith("type(")
                if of_types and ast.dump(node) not in old and ast.dump(other) in old:
                    found.append(test)
    return found


def _that_sets(name: str, asked: ast.If, tree: ast.Module) -> list[ast.expr]:
    """The test of the nearest statement before ``asked`` under which the name gets its value."""
    found = [
        (node.lineno, node.test)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and node.lineno < asked.lineno
        if any(isinstance(n, ast.Name) and n.id == name and _stored(n) for n in ast.walk(node))
    ]
    return [test for line, test in found if line == max(line for line, _ in found)]


def parts(test: ast.expr) -> list[ast.expr]:
    """The conditions that ``and`` joins, and those of a chain that asks the same of each name."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return [part for value in values for part in parts(value)]
        case ast.Compare(ops=ops) if is_chain(test):
            *asked, wanted = test.left, *test.comparators
            return [ast.Compare(one, ops[:1], [wanted]) for one in asked]
    return [test]


# ------------------------------------------------------------------- watching
@dataclass
class Watched:
    """A text, original or rewritten, whose guards and loops report and whose state can be changed.

    ``__entry__`` runs right before the loop, or before what stands in its place. Numba's
    decorators are taken off: compiled, each case would cost seconds, and what is looked at here is
    the other side of the guards.
    """

    before: str
    text: str
    function: str | None
    conditions: list[str] = field(init=False)
    violated: set[str] = field(default_factory=set)
    passed: bool | None = None
    """Whether the last run took new code at every guard it came to; None: it came to none."""
    entry: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Called at the first entry with the names it may change; gives their new values."""
    entered: bool = False
    steps: int = 0
    """How many rounds of loops and calls of its functions the last run came to."""

    def __post_init__(self) -> None:
        tests = guard_tests(self.before, self.text)
        self.conditions = [ast.unparse(part) for test in tests for part in parts(test)]
        tree = ast.parse(self.text)
        tree = _Watch({_position(test) for test in tests}).visit(tree)
        _put_entry(ast.parse(self.before), tree, self.function)
        tree = _CountSteps().visit(tree)
        self.code = compile(ast.fix_missing_locations(tree), "case.py", "exec", dont_inherit=True)

    @property
    def never_violated(self) -> list[str]:
        """Conditions that held in all runs so far."""
        return [text for text in self.conditions if text not in self.violated]

    def run(
        self,
        inputs: str,
        args: tuple[Any, ...],
        pick: Callable[[Any], Any],
        most: int,
    ) -> Ended | None:
        """Run it on what ``pick`` makes of the arguments; None: over ``most`` steps or `MEMORY`."""
        self.passed, self.entered = None, False
        count = _Steps(most)
        names = {"__part__": self._part, "__whole__": self._whole, "__entry__": self._entry}
        names |= {"__pick__": pick, "__step__": count, "__file__": "case.py"}
        if self.function is not None:
            inputs += "\nargs = __pick__(args)\n"
        try:
            return ended(self.code, self.function, inputs, copy.deepcopy(args), names)
        finally:
            self.steps = count.taken

    def _part(self, text: str, value: Any) -> Any:
        if not value:
            self.violated.add(text)
        return value

    def _whole(self, value: Any) -> Any:
        self.passed = bool(value) and self.passed is not False
        return value

    def _entry(self, names: dict[str, Any]) -> tuple[Any, ...]:
        if self.entry is not None and not self.entered:
            names = self.entry(names)
        self.entered = True
        return tuple(names.values())


def _position(node: ast.expr) -> tuple[int, int, int | None, int | None]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


class _Watch(ast.NodeTransformer):
    """Wraps guards and their parts, and leaves nothing to numba."""

    def __init__(self, tests: set[tuple[int, int, int | None, int | None]]) -> None:
        self.tests = tests

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and _position(node) in self.tests:
            return _called("__whole__", self._parts(node))
        node = self.generic_visit(node)
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = [d for d in node.decorator_list if "jit" not in ast.unparse(d)]
        if isinstance(node, ast.Attribute) and node.attr == "py_func":
            return node.value
        return node

    def _parts(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.BoolOp(op=ast.And() as op, values=values):
                return ast.BoolOp(op, [self._parts(value) for value in values])
            case ast.Compare() if is_chain(node):
                return ast.BoolOp(ast.And(), [self._parts(link) for link in parts(node)])
        return _called("__part__", ast.Constant(ast.unparse(node)), node)


class _CountSteps(ast.NodeTransformer):
    """Reports each round of a loop, also of a comprehension, and each call of a function."""

    def visit(self, node: ast.AST) -> Any:
        node = self.generic_visit(node)
        if isinstance(node, ast.For | ast.While | ast.FunctionDef):
            node.body.insert(0, ast.Expr(_called("__step__")))
        elif isinstance(node, ast.comprehension):
            node.ifs.insert(0, _called("__step__"))
        return node


def _called(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _put_entry(before: ast.Module, tree: ast.Module, function: str | None) -> None:
    """Put the hook in front of the outermost loop's place; ``before`` says where that is."""
    old, new = (_block(t, function) for t in (before, tree))
    if old is None or new is None:
        return
    (body, number), (target, _) = old, new
    at = 0
    for statement in body[:number]:
        text = ast.dump(statement)
        at = next((n + 1 for n in range(at, len(target)) if ast.dump(target[n]) == text), at)
    while isinstance(target[at], ast.FunctionDef | ast.Import | ast.ImportFrom):
        at += 1
    scope = before if function is None else _function(before, function)
    assert scope is not None
    bound = {n.id for n in ast.walk(scope) if isinstance(n, ast.Name) and _stored(n)}
    bound |= {a.arg for a in ast.walk(scope) if isinstance(a, ast.arg)}
    read = {n.id for n in ast.walk(body[number]) if isinstance(n, ast.Name)}
    early = {
        n.id
        for statement in body[:number]
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and _stored(n)
    }
    early |= {a.arg for a in ast.walk(scope) if isinstance(a, ast.arg)}
    names = sorted(early & read & bound)
    if names:
        listed = ", ".join(names)
        values = ", ".join(f"{name!r}: {name}" for name in names)
        target[at:at] = ast.parse(f"({listed},) = __entry__({{{values}}})").body


def _stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _function(tree: ast.AST, dotted: str) -> ast.FunctionDef | None:
    scope: ast.AST = tree
    for name in dotted.split("."):
        kinds = ast.FunctionDef | ast.ClassDef
        inner = [n for n in ast.walk(scope) if isinstance(n, kinds) and n is not scope]
        found = next((n for n in inner if n.name == name), None)
        if found is None:
            return None
        scope = found
    return scope if isinstance(scope, ast.FunctionDef) else None


def _block(tree: ast.Module, function: str | None) -> tuple[list[ast.stmt], int] | None:
    """The statements of the scope, where a loop is one of them, and which one it is."""
    scope = tree if function is None else _function(tree, function)
    if scope is None:
        return None
    loops = (n for n, s in enumerate(scope.body) if isinstance(s, ast.For | ast.While))
    return scope.body, next(loops, -1)


# -------------------------------------------------------------------- running
class _TooMuch(BaseException):
    """Not an Exception: the program may catch those."""


@dataclass
class _Steps:
    """Counts what a program does, and ends it where that is more than it may do."""

    most: int
    taken: int = 0

    def __call__(self) -> bool:
        self.taken += 1
        if self.taken > self.most:
            raise _TooMuch
        return True


@contextmanager
def _bounded_memory() -> Iterator[None]:
    """What is asked for beyond `MEMORY` is a MemoryError, not a machine that swaps."""
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    held = int(_HELD.read_text().split()[5]) * resource.getpagesize() if _HELD.exists() else None
    if held is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


@dataclass(frozen=True)
class Ended:
    """How a run ended, as far as the caller can see."""

    result: Any
    args: Any
    names: dict[str, Any]
    error: tuple[type, str] | None


def ended(
    code: Any, function: str | None, inputs: str, args: tuple[Any, ...], names: dict[str, Any]
) -> Ended | None:
    """Run a module's function; None if it does too much or needs too much memory."""
    result = error = None
    try:
        with warnings.catch_warnings(), _bounded_memory():
            warnings.simplefilter("ignore")
            result, _ = execute(code, function, args, inputs, names)
    except (_TooMuch, MemoryError):
        return None
    except Exception as problem:
        error = type(problem), str(problem)
    data = {k: v for k, v in names.items() if not k.startswith("__") and _is_data(v)}
    return Ended(result, names.get("args", ()), data, error)


def _is_data(value: Any) -> bool:
    return isinstance(value, int | float | complex | str | list | tuple | dict | np.ndarray)

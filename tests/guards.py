"""What tests of guards share: the guards in a rewritten text, and data that violate them.

A guard is a new test in front of new code, whose other branch is the original: ``if T: new, else:
the loop``; ``if not T: return kernel.py_func(..)``; ``(new if T else old)``. `Watched` compiles a
rewritten text so that every part of its guards reports what it came to.
"""

from __future__ import annotations

import ast
import copy
import random
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice
from types import FrameType
from typing import Any

import numpy as np

from gpuadvise.cases import execute

LIMIT = 0.03
"""Seconds of the processor's after which a run on changed data is given up: ``n = 2**50`` is a
trip count, too. The programs here take milliseconds, but a busy machine lets them wait longer."""
PATIENCE = 3.0
"""Seconds for the rewritten program where the original came to an end."""


def squeezed(text: str) -> str:
    """Without white space, and without what only the layout needs."""
    return "".join(text.split())


def guard_tests(before: str, after: str) -> list[ast.expr]:
    """The tests of the guards in ``after``, whole."""
    old = {ast.dump(node) for node in ast.walk(ast.parse(before))}
    statements = {ast.dump(n) for n in ast.walk(ast.parse(before)) if isinstance(n, ast.stmt)}
    found: list[ast.expr] = []
    for node in ast.walk(ast.parse(after)):
        match node:
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


def parts(test: ast.expr) -> list[ast.expr]:
    """The conditions that ``and`` joins."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return [part for value in values for part in parts(value)]
    return [test]


# ------------------------------------------------------------------- watching
@dataclass
class Watched:
    """A text, original or rewritten, whose guards report and whose state can be changed.

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

    def __post_init__(self) -> None:
        tests = guard_tests(self.before, self.text)
        self.conditions = [ast.unparse(part) for test in tests for part in parts(test)]
        tree = ast.parse(self.text)
        tree = _Watch({_position(test) for test in tests}).visit(tree)
        _put_entry(ast.parse(self.before), tree, self.function)
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
        limit: float = LIMIT,
    ) -> Ended | None:
        """Run it on what ``pick`` makes of the arguments; None: too long, or too much memory."""
        self.passed, self.entered = None, False
        names = {"__part__": self._part, "__whole__": self._whole, "__entry__": self._entry}
        names |= {"__pick__": pick, "__file__": "case.py"}
        if self.function is not None:
            inputs += "\nargs = __pick__(args)\n"
        return ended(self.code, self.function, inputs, copy.deepcopy(args), names, limit)

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
        return _called("__part__", ast.Constant(ast.unparse(node)), node)


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
class _TooLong(BaseException):
    """Not an Exception: the program may catch those."""


def _limited(work: Callable[[], Any], seconds: float) -> Any:
    def expired(number: int, frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.2)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@dataclass(frozen=True)
class Ended:
    """How a run ended, as far as the caller can see."""

    result: Any
    args: Any
    names: dict[str, Any]
    error: tuple[type, str] | None


def ended(
    code: Any,
    function: str | None,
    inputs: str,
    args: tuple[Any, ...],
    names: dict[str, Any],
    limit: float,
) -> Ended | None:
    """Run a module's function; None if it takes too long or needs too much memory."""
    result = error = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result, _ = _limited(lambda: execute(code, function, args, inputs, names), limit)
    except (_TooLong, MemoryError):
        return None
    except Exception as problem:
        error = type(problem), str(problem)
    data = {k: v for k, v in names.items() if not k.startswith("__") and _is_data(v)}
    return Ended(result, names.get("args", ()), data, error)


def _is_data(value: Any) -> bool:
    return isinstance(value, int | float | complex | str | list | tuple | dict | np.ndarray)


# ----------------------------------------------------------------- other data
class Sub(np.ndarray):
    """An array whose sums are its own."""

    def __add__(self, other: Any) -> Any:
        return np.add(np.asarray(self), other) * 2.0

    __radd__ = __add__


def others(value: Any) -> Iterator[tuple[str, Any]]:
    """Values like this one that break what may be observed of it, with a label each."""
    if isinstance(value, np.ndarray):
        yield from _arrays(value)
    elif isinstance(value, list):
        yield from _lists(value)
    elif isinstance(value, tuple):
        yield "list", list(value)
        yield "shorter", value[:-1]
    elif isinstance(value, bool):
        yield from (("int", int(value)), ("not", not value), ("float", float(value)))
    elif isinstance(value, int):
        if abs(value) < 2**62:
            yield "int64", np.int64(value)
        for other in (float(value), 0, 1, -value, value + 1, value - 1, value + 9):
            yield f"{type(other).__name__} {other}", other
        for power in (9, 31, 41, 50, 63, 70):
            yield f"2**{power}", value + 2**power
            yield f"-2**{power}", value - 2**power
        yield "True", True
    elif isinstance(value, float):
        changed = (int(value) if np.isfinite(value) else 1, np.float64(value), np.float32(value))
        for other in (*changed, -value, 0.0, -0.0, 1e300, -1e300, float("nan"), float("inf"), 1j):
            yield f"{type(other).__name__} {other}", other
    elif isinstance(value, np.generic):
        yield "item", value.item()
        yield "float32", np.float32(value)
        yield "negative", -value
    elif isinstance(value, str):
        yield "bytes", value.encode()
        yield "letters", list(value)
        yield "other things", [*value[:3], 1, None, 2.5]
    elif isinstance(value, bytearray):
        yield "bytes", bytes(value)
        yield "list", list(value)
        yield "empty", bytearray()
    elif isinstance(value, np.random.Generator | np.random.RandomState | random.Random):
        yield from _generators(value)
    elif hasattr(value, "__dict__") and not callable(value):
        for name, inner in vars(value).items():
            for label, other in others(inner):
                changed = copy.copy(value)
                vars(changed)[name] = other
                yield f"{name} {label}", changed
        for label, alike in (("empty", lambda a: a[:0]), ("with one more axis", _column)):
            changed = copy.copy(value)
            vars(changed).update(
                {n: alike(a[:20]) for n, a in vars(value).items() if isinstance(a, np.ndarray)}
            )
            yield f"all arrays {label}", changed


def _generators(value: Any) -> Iterator[tuple[str, Any]]:
    """Generators of other types, and one whose methods may be its own."""
    yield "none", None
    if not isinstance(value, np.random.Generator):
        yield "Generator", np.random.default_rng(7)
    if not isinstance(value, np.random.RandomState):
        yield "RandomState", np.random.RandomState(7)
    if not isinstance(value, random.Random):
        yield "Random", random.Random(7)
    seed = np.random.MT19937(7) if isinstance(value, np.random.Generator) else 7
    yield "a generator of its own", type("Own", (type(value),), {})(seed)


def _column(a: Any) -> Any:
    return a[..., None].copy()


def _arrays(a: np.ndarray[Any, Any]) -> Iterator[tuple[str, Any]]:
    yield "list", a.tolist()
    yield "subclass", a.copy().view(Sub)
    for dtype in ("float64", "float32", "int64", "int32", "uint8", "bool", "object", "complex128"):
        if a.dtype != dtype:
            with np.errstate(all="ignore"):
                yield dtype, a.astype(dtype)
    if a.dtype.kind in "iuf":
        yield "swapped bytes", a.astype(a.dtype.newbyteorder())
    wide = np.repeat(a, 2, axis=-1) if a.ndim else a
    yield "strided", wide[..., ::2] if a.ndim else a
    yield "reversed", a[::-1] if a.ndim else a
    yield "fortran", np.asfortranarray(a)
    yield "one more axis", a[..., None].copy()
    yield "flat", a.ravel().copy()
    locked = a.copy()
    locked.flags.writeable = False
    yield "read-only", locked
    for axis in range(a.ndim):
        yield f"axis {axis} shorter", np.delete(a, -1, axis) if a.shape[axis] else a
        yield f"axis {axis} longer", np.concatenate([a, a.take([-1], axis)], axis)
        yield f"axis {axis} one", a.take([0], axis)
        yield f"axis {axis} empty", a.take([], axis)
    for label, low in (("zeros", 0), ("nines", 9), ("large", 2**50), ("larger", 2**62)):
        if a.dtype.kind in "iuf" and (a.dtype.kind == "f" or low <= np.iinfo(a.dtype).max):
            yield label, np.full_like(a, low)
    if a.dtype.kind in "if":
        yield "negative", -a - 1
        yield "minimum", np.full_like(a, -(2**62) if a.dtype.itemsize == 8 else -100)
    if a.dtype.kind == "f":
        yield "nan", np.full_like(a, np.nan)
    if a.size > 1:
        one = a.copy()
        one.flat[0] = 99
        yield "one 99", one


def _lists(values: list[Any]) -> Iterator[tuple[str, Any]]:
    yield "tuple", tuple(values)
    yield "empty", []
    yield "shorter", values[:-1]
    yield "longer", values + values[-1:]
    yield "a list of its own", type("Own", (list,), {})(values)
    if not values:
        return
    if isinstance(values[0], list):
        yield "shared rows", [values[0]] * len(values)
        yield "ragged", [*values[:-1], values[-1][:-1]]
        yield "rows longer", [[*row, *row[-1:]] for row in values]
        yield "rows shorter", [row[:-1] for row in values]
        yield "one row a tuple", [*values[:-1], tuple(values[-1])]
        for label, other in others(values[-1]):
            if isinstance(other, list):
                yield f"last row {label}", [*values[:-1], other]
        return
    if all(isinstance(v, int | float | np.generic) for v in values):
        yield "array", np.array(values)
        for label, other in others(values[-1]):
            yield f"last is {label}", [*values[:-1], other]
        yield "all float", [float(v) for v in values]
        yield "all int", [int(v) if v == v and abs(v) < 1e18 else 1 for v in values]


def changed(args: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Argument tuples in which one thing is not as it was; the first is as it was."""
    yield "as observed", args
    for number, value in enumerate(args):
        for label, other in others(value):
            yield f"{number}: {label}", (*args[:number], other, *args[number + 1 :])
    for extent in sorted({n for value in args for n in _extents(value)}):
        for size in (0, 1, extent + 1, extent - 1):
            label = f"{size} instead of {extent} everywhere"
            yield label, tuple(_resized(value, extent, size) for value in args)
    for i, j in combinations(range(len(args)), 2):
        yield from _together(args, i, j)


def _extents(value: Any) -> tuple[int, ...]:
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, list):
        rows = (len(value[0]),) if value and isinstance(value[0], list) else ()
        return len(value), *rows
    return ()


def _resized(value: Any, extent: int, size: int) -> Any:
    """Everything that is as long as ``extent``, and every int that is it, made ``size``."""
    if isinstance(value, np.ndarray):
        for axis, n in enumerate(value.shape):
            if n == extent and n:
                value = value.take(np.arange(size) % n, axis)
    elif isinstance(value, list):
        if value and isinstance(value[0], list):
            value = [_resized(row, extent, size) for row in value]
        if len(value) == extent and value:
            value = [copy.copy(value[k % extent]) for k in range(size)]
    elif type(value) is int and value == extent:
        value = size
    return value


def _together(args: tuple[Any, ...], i: int, j: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Two arguments that share memory, and two that change alike."""
    first, second = args[i], args[j]

    def put(a: Any, b: Any) -> tuple[Any, ...]:
        new = list(args)
        new[i], new[j] = a, b
        return tuple(new)

    mutable = (np.ndarray, list, bytearray)
    if isinstance(first, mutable) and type(first) is type(second):
        yield f"{i} is {j}", put(first, first)
        yield f"{j} is {i}", put(second, second)
    arrays = [v for v in (first, second) if isinstance(v, np.ndarray)]
    if len(arrays) == 2 and all(a.nbytes and a.dtype.kind != "O" for a in arrays):
        yield f"{i} overlaps {j}", put(*_overlapping(first, second))
    nested = isinstance(first, list) and first and isinstance(first[0], list)
    if nested and isinstance(second, list) and second:
        yield f"{j} is a row of {i}", put(first, first[0])
        if isinstance(second[0], list):
            yield f"{i} and {j} share rows", put(first, [*first[:-1], *second[-1:]][: len(second)])
            yield f"{i} and {j} share a row", put(first, [first[0], *second[1:]])


def _overlapping(first: Any, second: Any) -> tuple[Any, Any]:
    """Arrays of the same shapes and types, one of which starts 16 bytes after the other."""
    buffer = np.zeros(max(first.nbytes, second.nbytes + 16), np.uint8)
    a = buffer[: first.nbytes].view(first.dtype).reshape(first.shape)
    b = buffer[16 : 16 + second.nbytes].view(second.dtype).reshape(second.shape)
    a[...], b[...] = first, second
    if a.dtype.kind in "fc":  # the bytes of the other may be no number
        np.nan_to_num(a, copy=False, nan=1.0, posinf=2.0, neginf=3.0)
    return a, b


class NoMore(BaseException):
    """There are no further changes. Not an Exception: that would count as the program's."""


class Broken(BaseException):
    """A change could not be made: a mistake of this file, not of the program."""


def variant(number: int) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Picks one of `changed`. Both sides make their data afresh: a copy would part what overlaps.

    The function raises `NoMore` where there are fewer.
    """

    def pick(args: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            for _, found in islice(changed(args), number, None):
                return found
        except Exception as problem:
            raise Broken(f"change {number} of {args!r:.200}") from problem
        raise NoMore

    return pick

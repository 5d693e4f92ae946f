"""Random numbers that a loop draws one by one: how many, of which generator, in which order.

A generator's stream does not depend on whether numbers are drawn one at a time or as one array;
that holds for the methods listed here, for the state left behind as well. So what must be known is
that every iteration draws, and how often.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from ..loopnest.typing_rules import MODULE_CONSTANTS
from ..model import Refusal, Region, Source, ValueInfo
from . import ast_tools as tools

PYTHON = "random.Random"
LEGACY = "numpy.random.mtrand.RandomState"
GENERATOR = "numpy.random._generator.Generator"
LEGACY_MODULE = "numpy.random"
PYTHON_MODULE = "random"

FLOATS = {
    PYTHON: {
        "random": (0, 0), "uniform": (2, 2), "gauss": (2, 2), "normalvariate": (2, 2),
        "expovariate": (1, 1), "lognormvariate": (2, 2), "triangular": (2, 3),
        "betavariate": (2, 2), "gammavariate": (2, 2),
    },
    LEGACY: {
        "random": (0, 0), "random_sample": (0, 0), "rand": (0, 0), "randn": (0, 0),
        "standard_normal": (0, 0), "standard_exponential": (0, 0), "normal": (0, 2),
        "uniform": (0, 2), "exponential": (0, 1), "lognormal": (0, 2), "gamma": (1, 2),
    },
    GENERATOR: {
        "random": (0, 0), "standard_normal": (0, 0), "normal": (0, 2), "uniform": (0, 2),
        "exponential": (0, 1), "lognormal": (0, 2), "gamma": (1, 2),
    },
}  # fmt: skip
"""Methods that return a float, with the least and the greatest number of arguments."""
INTEGERS = {
    PYTHON: {"randint": (2, 2), "randrange": (1, 2), "choice": (1, 1)},
    LEGACY: {"randint": (1, 2), "poisson": (0, 1), "binomial": (2, 2)},
    GENERATOR: {"integers": (1, 2), "poisson": (0, 1), "binomial": (2, 2)},
}
"""Methods that return an integer: Python's own, but for ``integers`` (``numpy.int64``); and
``choice``, which draws one, a position."""
MOST_CHOICES = 6
"""Longest list of numbers to choose from."""


@dataclass(frozen=True)
class Draw:
    """One call that draws a number."""

    call: ast.Call
    generator: str
    """As written in front of the method; ``"random"``, ``"rng"``, ``"self.rng"``; empty for
    ``from random import uniform``."""
    kind: str
    """`PYTHON`, `LEGACY` or `GENERATOR`."""
    module: bool
    """The generator is a module's own, which cannot be another one at run time."""
    method: str
    args: tuple[str, ...]
    """The arguments as written, keywords included."""
    loops: tuple[ast.For, ...]
    """The loops around it within the region, outermost first."""

    @property
    def function(self) -> str:
        """What is called, as written."""
        return ast.unparse(self.call.func)

    @property
    def below(self) -> tuple[int, int] | None:
        """(least value, how many) of Python's integers, which are drawn by rejection."""
        if self.kind != PYTHON or not self.is_integer:
            return None
        if self.method == "choice":
            return 0, len(self.choices)
        ends = [int(arg) for arg in self.args]
        low, high = (0, ends[0]) if len(ends) == 1 else (ends[0], ends[1])
        return low, high - low + (self.method == "randint")

    @property
    def choices(self) -> tuple[str, ...]:
        """The numbers that ``choice`` chooses from, as written."""
        match self.call.args:
            case [ast.List(elts=elts) | ast.Tuple(elts=elts)]:
                return tuple(map(ast.unparse, elts))
        return ()

    @property
    def is_integer(self) -> bool:
        """The method returns an integer."""
        return self.method in INTEGERS.get(self.kind, {})


@dataclass(frozen=True)
class Stop(Exception):
    """The draws cannot be taken at once."""

    reason: str
    line: int


def find_draws(region: Region) -> tuple[Draw, ...] | Refusal | None:
    """The draws of a loop in the order in which an iteration makes them.

    None: it draws nothing that is known here. Refusal: how often it draws depends on the data.
    """
    if not isinstance(region.loop, ast.For) or region.observation is None:
        return None
    known = Known(region)
    calls = [n for n in ast.walk(region.loop) if isinstance(n, ast.Call)]
    if not any(known.draw(call, ()) for call in calls):
        return None
    try:
        draws = tuple(_Reader(known).loop(region.loop, ()))
    except Stop as stop:
        return Refusal(stop.reason, stop.line)
    return draws or None


def all_draws(region: Region) -> tuple[Draw, ...]:
    """The draws of a loop that was observed, however often each is made."""
    known = Known(region)
    calls = [n for n in ast.walk(region.loop) if isinstance(n, ast.Call)]
    return tuple(draw for call in calls if (draw := known.draw(call, ())) is not None)


class Known:
    """Which calls draw from which generator."""

    def __init__(self, region: Region) -> None:
        assert region.observation is not None
        self.source = region.source
        self.values = region.observation.values
        self.loop = region.loop

    def draw(self, call: ast.Call, loops: tuple[ast.For, ...]) -> Draw | None:
        """What a call draws; None if it is not one that is known."""
        found = self.method(call.func)
        if found is None:
            return None
        generator, kind, module, method = found
        limits = FLOATS[kind].get(method) or INTEGERS.get(kind, {}).get(method)
        names = {k.arg for k in call.keywords}
        if limits is None or None in names or names & {"size", "dtype", "out", "endpoint"}:
            return None
        if any(isinstance(a, ast.Starred) for a in call.args):
            return None
        if not limits[0] <= len(call.args) + len(call.keywords) <= limits[1]:
            return None
        if kind == PYTHON and (call.keywords or not _python_args(method, call.args)):
            return None
        args = (
            *map(self.source.text, call.args),
            *(_keyword(self.source, k) for k in call.keywords),
        )
        return Draw(call, generator, kind, module, method, args, loops)

    def method(self, func: ast.expr) -> tuple[str, str, bool, str] | None:
        """(generator, kind, whether it is a module's own, method)."""
        match func:
            case ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr=method):
                text = ast.unparse(owner)
                seen = self.values.get(text)
            case ast.Name(id=name):
                return _imported(self.source, name)
            case _:
                return None
        if seen is None:
            return None
        if seen.kind == "module" and self._is_module(owner, text):
            kind = {PYTHON_MODULE: PYTHON, LEGACY_MODULE: LEGACY}.get(seen.target or "")
            patched = {method, f"{text}.{method}", "*"} & set(self.source.rebound)
            return None if kind is None or patched else (text, kind, True, method)
        if seen.type_name in (PYTHON, LEGACY, GENERATOR) and self._stays(owner):
            return text, seen.type_name, False, method
        return None

    def _is_module(self, owner: ast.expr, text: str) -> bool:
        """The name is bound by an import only."""
        root = text.partition(".")[0]
        return tools.bound_names(self.source).get(root) == 1

    def _stays(self, owner: ast.expr) -> bool:
        """The loop does not give the name another value."""
        name = ast.unparse(owner)
        return not any(
            isinstance(n, ast.Name | ast.Attribute)
            and isinstance(n.ctx, ast.Store | ast.Del)
            and ast.unparse(n) == name
            for n in ast.walk(self.loop)
        )


@lru_cache(maxsize=64)
def _imported(source: Source, name: str) -> tuple[str, str, bool, str] | None:
    """What ``from random import randint`` binds, and nothing else does."""
    kinds = {PYTHON_MODULE: PYTHON, LEGACY_MODULE: LEGACY}
    if tools.bound_names(source).get(name) != 1:
        return None
    for statement in source.tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module in kinds:
            for item in statement.names:
                if (item.asname or item.name) == name:
                    return "", kinds[statement.module], True, item.name
    return None


def _python_args(method: str, args: Sequence[ast.expr]) -> bool:
    """Integers are drawn between literals, or chosen from a few literal numbers."""
    if method in FLOATS[PYTHON]:
        return True
    if method == "choice":
        match args:
            case [ast.List(elts=elts) | ast.Tuple(elts=elts)]:
                return 0 < len(elts) <= MOST_CHOICES and all(_literal(e) is not None for e in elts)
        return False
    if not all(isinstance(_literal(a), int) and _literal(a) is not None for a in args):
        return False
    ends = [_literal(a) for a in args]
    low, high = (0, ends[0]) if len(ends) == 1 else (ends[0], ends[1])
    assert isinstance(low, int) and isinstance(high, int)
    return 0 < high - low + (method == "randint") <= 2**31


def _literal(expr: ast.expr) -> int | float | None:
    """The number that a literal stands for; None if it is no number."""
    match expr:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return None if isinstance(value, bool) else -value
    return None


def _keyword(source: Source, keyword: ast.keyword) -> str:
    return f"{keyword.arg}={source.text(keyword.value)}"


class _Reader:
    """Walks the loop in the order of evaluation. Raises Stop."""

    def __init__(self, known: Known) -> None:
        self.known = known

    def loop(self, loop: ast.For, outer: tuple[ast.For, ...]) -> Iterator[Draw]:
        """The draws of one loop, those of a single iteration."""
        self._none(loop.iter, "a loop's bounds")
        loops = (*outer, loop)
        body = list(self._body(loop.body, loops))
        inside = [n for s in loop.body for n in _same_loop(s)]
        for node in inside:
            if isinstance(node, ast.Break) and body:
                raise Stop("the loop may end early: it does not draw all its numbers", node.lineno)
            if isinstance(node, ast.Continue) and any(_behind(d, node) for d in body):
                raise Stop("an iteration may go on without drawing", node.lineno)
        if loop.orelse:
            self._nothing(loop.orelse)
        yield from body

    def _body(self, body: Sequence[ast.stmt], loops: tuple[ast.For, ...]) -> Iterator[Draw]:
        for statement in body:
            yield from self._statement(statement, loops)

    def _statement(self, statement: ast.stmt, loops: tuple[ast.For, ...]) -> Iterator[Draw]:
        match statement:
            case ast.For():
                yield from self.loop(statement, loops)
            case ast.If(test=test, body=then, orelse=orelse):
                yield from self._expression(test, loops)
                self._nothing(then)
                self._nothing(orelse)
            case ast.Assign(targets=targets, value=value):
                yield from self._expression(value, loops)
                for target in targets:
                    yield from self._expression(target, loops)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from self._expression(value, loops)
                yield from self._expression(target, loops)
            case ast.AugAssign(target=target, value=value):
                yield from self._expression(target, loops)
                yield from self._expression(value, loops)
            case ast.Expr(value=value):
                yield from self._expression(value, loops)
            case _:
                self._nothing([statement])

    def _expression(self, expr: ast.expr, loops: tuple[ast.For, ...]) -> Iterator[Draw]:
        """Draws of an expression; all of them are evaluated, from left to right."""
        found = self.known.draw(expr, loops) if isinstance(expr, ast.Call) else None
        if found is not None:
            for child in ast.iter_child_nodes(expr):
                self._none(child, "the arguments of another draw")
            yield found
            return
        match expr:
            case ast.BoolOp(values=[first, *rest]):
                yield from self._expression(first, loops)
                self._nothing(rest)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yield from self._expression(test, loops)
                self._nothing([body, orelse])
            case ast.Compare(left=left, comparators=[first, *rest]):
                yield from self._expression(left, loops)
                yield from self._expression(first, loops)
                self._nothing(rest)
            case (
                ast.Lambda()
                | ast.ListComp()
                | ast.SetComp()
                | ast.DictComp()
                | ast.GeneratorExp()
                | ast.NamedExpr()
                | ast.Yield()
                | ast.YieldFrom()
                | ast.Await()
            ):
                self._nothing([expr])
            case _:
                for child in ast.iter_child_nodes(expr):
                    if isinstance(child, ast.keyword):
                        yield from self._expression(child.value, loops)
                    elif isinstance(child, ast.expr):
                        yield from self._expression(child, loops)

    def _none(self, node: ast.AST, where: str) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and self.known.draw(part, ()) is not None:
                raise Stop(f"a random number is drawn in {where}", part.lineno)

    def _nothing(self, nodes: Sequence[ast.AST]) -> None:
        """What runs under a condition must not draw, nor leave the loop."""
        for node in nodes:
            for part in ast.walk(node):
                if isinstance(part, ast.Call) and self.known.draw(part, ()) is not None:
                    raise Stop("how many numbers are drawn depends on the data", part.lineno)
                if isinstance(part, ast.Return | ast.Raise | ast.Yield | ast.YieldFrom | ast.Await):
                    raise Stop("the loop may end before all numbers are drawn", part.lineno)


def _same_loop(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is below it, without inner loops: their ``break`` is their own."""
    yield node
    if isinstance(node, ast.For | ast.While):
        return
    for child in ast.iter_child_nodes(node):
        yield from _same_loop(child)


def _behind(draw: Draw, statement: ast.stmt) -> bool:
    """The draw stands after the statement in the text."""
    place = statement.lineno, statement.col_offset
    return (draw.call.lineno, draw.call.col_offset) > place


# --------------------------------------------------------------------- counts
def trips_text(region: Region, loop: ast.For) -> str:
    """How often a loop runs, as an expression that can be asked before the region. Raises Stop.

    ``range(n)`` and ``range(1, n)`` of what the region does not change.
    """
    fixed = partial(is_fixed_size, loop=region.loop, source=region.source)
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]) if fixed(stop):
            return region.source.text(stop)
        case ast.Call(func=ast.Name(id="range"), args=[start, stop], keywords=[]) if fixed(
            start
        ) and fixed(stop):
            low, high = region.source.text(start), region.source.text(stop)
            simple = low.isidentifier() or low.isdigit()
            return high if low == "0" else f"{high} - {low if simple else f'({low})'}"
    raise Stop("how often the loop runs is not known before it", loop.lineno)


def _stored(loop: ast.AST) -> frozenset[str]:
    names = {
        n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    return frozenset(names)


def is_fixed_size(expr: ast.expr, loop: ast.AST, source: Source) -> bool:
    """Integer arithmetic on names, sizes and attributes that the loop does not change."""
    match expr:
        case ast.Constant(value=int()):
            return True
        case ast.Name(id=name):
            return name not in _stored(loop)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
            return _keeps_length(loop, name)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape")):
            return isinstance(expr.slice, ast.Constant) and _keeps_length(loop, name)
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return name not in _stored(loop) and tools.is_set_once(source, attr)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return is_fixed_size(left, loop, source) and is_fixed_size(right, loop, source)
    return False


def _keeps_length(loop: ast.AST, name: str) -> bool:
    """All that the loop does with the sequence is to take, set and count elements."""
    if name in _stored(loop):
        return False
    harmless = set()
    for node in ast.walk(loop):
        match node:
            case ast.Subscript(value=ast.Name(id=one) as used, slice=index) if one == name:
                if not isinstance(index, ast.Slice) and not isinstance(node.ctx, ast.Del):
                    harmless.add(used)
            case ast.Call(func=ast.Name(id="len" | "zip" | "enumerate"), args=args):
                harmless |= {a for a in args if isinstance(a, ast.Name)}
            case (
                ast.Attribute(value=ast.Name(id=one) as used, attr="shape")
                | ast.For(iter=ast.Name(id=one) as used)
            ) if one == name:
                harmless.add(used)
    return all(used in harmless for used in tools.loads(loop, name))


def is_fixed_number(region: Region, expr: ast.expr) -> bool:
    """An argument of a draw: a constant, ``np.pi``, or a name that keeps its number."""
    assert region.observation is not None
    stored = _stored(region.loop)
    for part in ast.walk(expr):
        match part:
            case ast.Constant(value=int() | float()):
                continue
            case ast.Name(id=name) if name not in stored:
                seen: ValueInfo | None = region.observation.values.get(name)
                if seen is None or seen.kind not in ("int", "float", "module"):
                    return False
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                module = region.observation.values.get(owner)
                if module is None or f"{module.target}.{name}" not in MODULE_CONSTANTS:
                    return False
            case ast.BinOp() | ast.UnaryOp() | ast.operator() | ast.unaryop() | ast.expr_context():
                if isinstance(part, ast.Div | ast.FloorDiv | ast.Mod | ast.Pow):
                    return False
            case _:
                return False
    return True

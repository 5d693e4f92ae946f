"""Random numbers drawn before the loop, and read from an array in it as they are needed.

How many the loop takes may depend on the numbers: as many as it can take at most are drawn, and
behind it the generator is set back and draws those that were used. A generator's stream is the
same whether its numbers are drawn one at a time or as one array.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...loopnest.scope import dotted, own_nodes
from ...model import Basis, Condition, Edit, ValueInfo
from ...names import import_edit
from ..draws_array import Stream, python_module
from ..draws_find import (
    GENERATOR,
    LEGACY,
    PYTHON,
    Draw,
    Stop,
    all_draws,
    is_fixed_number,
    is_fixed_size,
)
from ..draws_tests import generator_tests
from ..nb_values import Unsupported
from .draft import Draft
from .generators import evaluated_first, operands, unconditional
from .twister_find import draws_of_twisters, has_compiled_forms

MOST = 2**24
"""Numbers that are drawn at once: they take 128 MB."""
_COMPILED = (PYTHON, LEGACY, GENERATOR)
"""Generators whose own steps can be compiled, see `twister`."""
_UNIFORM = {"random", "random_sample", "rand"}
_CALLED = ("float", "len", "max", "range", "type")
"""What the new text calls: the names must mean Python's own functions."""


@dataclass(frozen=True)
class Place:
    """A draw, the statement that it is hoisted out of, and the loops around that."""

    draw: Draw
    statement: ast.stmt
    under: str
    """The condition under which the statement comes to it; empty where it always does."""
    loops: tuple[ast.For, ...]


@dataclass(frozen=True)
class Names:
    """New names of the text."""

    numpy: str
    generator: str
    """As written in front of its methods."""
    numbers: str
    used: str
    """An array of one number: it keeps its count where the loop raises."""
    before: str
    """The generator's state before the loop."""
    twister: str
    """NumPy's generator of the kind that Python's is; its words and their position."""
    words: str
    position: str

    @property
    def count(self) -> str:
        """How many numbers the loop has taken."""
        return f"{self.used}[0]"


def without_draws(draft: Draft) -> Draft:
    """Draws of one kind as reads of an array. Raises Unsupported."""
    draws = all_draws(draft.region)
    if not draws:
        return draft
    try:
        _check_kind(draft, draws)
        places = list(_places(draft, draws))
        most = " + ".join(_times(draft, place) for place in places)
        if draws[0].kind in _COMPILED and len(draws) < draws_of_twisters(draft):
            return draft
    except Unsupported:
        if all(draw.kind == PYTHON for draw in draws) or has_compiled_forms(draft):
            return draft  # the generator itself can be compiled
        raise
    numpy, numpy_edit = import_edit(draft.source, "numpy", "np")
    imports = [numpy_edit]
    generator = draws[0].generator
    if draws[0].kind == PYTHON and draws[0].module:
        generator, edit = python_module(draft.source)
        imports.append(edit)
    wanted = ("drawn_numbers", "used_numbers", "before", "twister", "words", "position")
    names = Names(numpy, generator or f"{numpy}.random", *map(draft.free, wanted))
    tests = _tests(draft, draws[0], places, most, numpy)
    values = {names.numbers: _array("float64", None), names.used: _array("int64", 1)}
    edits = draft.above(draft.loop, _above(names, draws[0], most))
    for place in places:
        number = draft.free("drawn", *values)
        values[number] = ValueInfo("float", "builtins.float")
        edits += _hoisted(draft, place, number, names)
    draft = draft.advanced(edits, values).finally_(_behind(names, draws[0]))
    for test in tests:
        draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
    for edit in filter(None, imports):
        draft = draft.importing(edit)
    return draft


def _array(dtype: str, extent: int | None) -> ValueInfo:
    shape = (extent,)
    return ValueInfo(
        "ndarray",
        "numpy.ndarray",
        dtype=dtype,
        ndim=1,
        shape=shape,
        min_shape=(1,),
        c_contiguous=True,
        writeable=True,
    )


def _check_kind(draft: Draft, draws: Sequence[Draw]) -> None:
    """All are floats of one generator and one distribution: numbers of one array."""
    first, line = draws[0], draws[0].call.lineno
    region = draft.region
    if not all(map(draft.is_builtin, _CALLED)):
        raise Unsupported("a name of Python's own has another meaning here", line)
    for draw in draws:
        if (draw.generator, draw.kind) != (first.generator, first.kind):
            raise Unsupported("numbers of several generators are drawn", line)
        if draw.is_integer:
            raise Unsupported("whole numbers are drawn", draw.call.lineno)
        if draw.kind == PYTHON and draw.method not in ("random", "uniform"):
            raise Unsupported(f"{draw.method}() takes several numbers for one", draw.call.lineno)
        given = (*draw.call.args, *(k.value for k in draw.call.keywords))
        if not all(is_fixed_number(region, value) for value in given):
            raise Unsupported("what is drawn changes in the loop", draw.call.lineno)
        if draw.kind != PYTHON and (draw.method, draw.args) != (first.method, first.args):
            raise Unsupported("numbers of several distributions are drawn", draw.call.lineno)


# --------------------------------------------------------------------- places
def _places(draft: Draft, draws: Sequence[Draw]) -> Iterator[Place]:
    """Each draw with the statement that comes to it first. Raises Unsupported."""
    wanted = {draw.call: draw for draw in draws}
    harmless = frozenset[ast.expr](wanted)
    for statement in own_nodes(draft.loop):
        root = evaluated_first(draft, statement)
        if root is None or not isinstance(statement, ast.stmt) or statement is draft.loop:
            continue
        for part, under in operands(root):
            for node in unconditional(part, harmless):
                draw = wanted.pop(node, None) if isinstance(node, ast.Call) else None
                if draw is not None:
                    yield Place(draw, statement, under, _loops_around(draft, statement))
    for draw in wanted.values():
        text = f"{draw.function}() is called behind what may raise, or not in every case"
        raise Unsupported(text, draw.call.lineno, "assign its result in a line of its own")


def _loops_around(draft: Draft, statement: ast.stmt) -> tuple[ast.For, ...]:
    """The loops of which every iteration may come to the statement, outermost first."""
    around = [
        node
        for node in ast.walk(draft.loop)
        if isinstance(node, ast.For | ast.While)
        and any(inner is statement for part in node.body for inner in ast.walk(part))
    ]
    counted = [node for node in around if isinstance(node, ast.For)]
    if counted != around:
        text = "how many numbers a while loop draws is not known before it"
        raise Unsupported(text, statement.lineno)
    return tuple(counted)


# ------------------------------------------------------------------ how many
def _times(draft: Draft, place: Place) -> str:
    """How often the draw is made at most, as text that holds before the loop."""
    factors = [_trips(loop, place.loops[:depth]) for depth, loop in enumerate(place.loops)]
    for loop, factor in zip(place.loops, factors, strict=True):
        _check_fixed(draft, loop, factor)
    return " * ".join(factors)


def _trips(loop: ast.For, outer: Sequence[ast.For]) -> str:
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
            return _up_to(stop, outer)
        case ast.Call(func=ast.Name(id="range"), args=[start, stop, *_], keywords=[]):
            step = loop.iter.args[2:]
            if step and not _is_positive(step[0]):
                raise Unsupported("a range that may count down", loop.lineno)
            if _is_natural(start, outer):
                return _up_to(stop, outer)
            return f"max({ast.unparse(stop)} - ({ast.unparse(start)}), 0)"
        case ast.Name(id=name):
            return f"len({name})"
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            if not any(isinstance(item, ast.Starred) for item in elts):
                return str(len(elts))
    raise Unsupported("how often the loop runs is not known before it", loop.lineno)


def _up_to(stop: ast.expr, outer: Sequence[ast.For]) -> str:
    """Trips of ``range(stop)``; where that is an index around it, as many as its largest value.

    Counter-example to taking the trips of the index's own loop: ``for i in range(90, 100)``.
    """
    match stop:
        case ast.Name(id=name) if (index := _loop_of(name, outer)) is not None:
            loop, around = index
            match loop.iter:
                case ast.Call(func=ast.Name(id="range"), args=[last] | [_, last, *_]):
                    return _up_to(last, around)
            raise Unsupported("how often the loop runs is not known before it", stop.lineno)
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=int() as more)):
            inner = _up_to(left, outer)
            if more >= 0 and inner != _natural(left):
                return f"({inner} + {more})"
    return _natural(stop)


def _loop_of(name: str, outer: Sequence[ast.For]) -> tuple[ast.For, Sequence[ast.For]] | None:
    """The innermost loop whose index a name is, nothing else in it, and those around that."""
    for depth, loop in reversed(list(enumerate(outer))):
        stores = [
            n
            for n in ast.walk(loop)
            if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)
        ]
        if stores == [loop.target]:
            return loop, outer[:depth]
    return None


def _natural(stop: ast.expr) -> str:
    """Trips of ``range(stop)``: ``len`` of the range raises where they are more than 2**63."""
    text = ast.unparse(stop)
    match stop:
        case ast.Constant() | ast.Call(func=ast.Name(id="len")):
            return text
    return f"max({text}, 0)"


def _is_positive(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 0


def _is_natural(node: ast.expr, outer: Sequence[ast.For]) -> bool:
    """Whether an int is never negative."""
    match node:
        case ast.Constant(value=int() as value):
            return value >= 0
        case ast.BinOp(op=ast.Mod(), right=right):
            return _is_positive(right)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
            return _is_natural(left, outer) and _is_natural(right, outer)
        case ast.Name(id=name) if (index := _loop_of(name, outer)) is not None:
            return _counts_up(*index)
    return False


def _counts_up(loop: ast.For, outer: Sequence[ast.For]) -> bool:
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[_], keywords=[]):
            return True
        case ast.Call(func=ast.Name(id="range"), args=[start, _, *step], keywords=[]):
            return _is_natural(start, outer) and all(map(_is_positive, step))
    return False


def _check_fixed(draft: Draft, loop: ast.For, text: str) -> None:
    """The loop leaves alone what the number of its trips depends on."""
    tree = ast.parse(text, mode="eval").body
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="max"), args=[size, _]):
                fixed = is_fixed_size(size, draft.loop, draft.region.source)
            case ast.Call(func=ast.Name(id="len")):
                fixed = is_fixed_size(node, draft.loop, draft.region.source)
            case _:
                continue
        if not fixed:
            raise Unsupported("how often the loop runs is not known before it", loop.lineno)


def most_draws(draft: Draft, calls: Sequence[ast.Call]) -> tuple[str, tuple[str, ...]]:
    """How often calls of the loop are made at most, as text, and what must hold for that.

    Raises Unsupported.
    """
    counts = []
    for call in calls:
        loops = _loops_around_call(draft, call)
        factors = [_trips(loop, loops[:depth]) for depth, loop in enumerate(loops)]
        for loop, factor in zip(loops, factors, strict=True):
            _check_fixed(draft, loop, factor)
        counts.append(" * ".join(factors))
    times = {text: counts.count(text) for text in counts}
    most = " + ".join(text if n == 1 else f"{n} * {text}" for text, n in times.items())
    numpy, _ = import_edit(draft.source, "numpy", "np")
    return most, (*_type_tests(draft, most, numpy), _few(most))


def _loops_around_call(draft: Draft, call: ast.Call) -> tuple[ast.For, ...]:
    statements = (n for n in ast.walk(draft.loop) if isinstance(n, ast.stmt))
    holding = [s for s in statements if any(inner is call for inner in ast.walk(s))]
    inner = [s for s in holding if not isinstance(s, ast.For | ast.While)]
    # a loop's bounds are not evaluated in each of its own iterations, but counting so is safe
    return _loops_around(draft, inner[-1] if inner else holding[-1])


def _few(most: str) -> str:
    return f"{most} <= 2**{MOST.bit_length() - 1}"


# ---------------------------------------------------------------------- tests
def _tests(
    draft: Draft, first: Draw, places: Sequence[Place], most: str, numpy: str
) -> tuple[str, ...]:
    """What must hold before the numbers are drawn. Raises Unsupported."""
    tests = _type_tests(draft, most, numpy)
    tests += _argument_tests(draft, first)
    stream = Stream("", tuple(place.draw for place in places), ())
    try:
        tests += generator_tests(draft.region, (stream,), numpy)
    except Stop as stop:
        raise Unsupported(stop.reason, stop.line) from stop
    return (*dict.fromkeys(tests), _few(most))


def _type_tests(draft: Draft, most: str, numpy: str) -> list[str]:
    """What a number of draws is computed from is what was seen. Raises Unsupported."""
    tests = []
    for node in _read_in(ast.parse(most, mode="eval").body):
        seen = draft.values.get(node)
        if seen is not None and seen.kind in ("int", "list", "tuple"):
            tests.append(f"type({node}) is {seen.kind}")
        elif seen is not None and seen.kind == "ndarray" and seen.ndim:
            tests.append(f"type({node}) is {numpy}.ndarray and {node}.ndim == {seen.ndim}")
        else:
            raise Unsupported(f"{node} was not seen to be a number or a list", draft.loop.lineno)
    return tests


def _argument_tests(draft: Draft, draw: Draw) -> list[str]:
    """What NumPy refuses, such as a negative scale, it refuses even where no number is taken."""
    if draw.kind == PYTHON:
        return []
    tests = []
    given = (*draw.call.args, *(k.value for k in draw.call.keywords))
    for place, value in enumerate(given):
        names = [draft.values.get(n.id) for n in ast.walk(value) if isinstance(n, ast.Name)]
        if all(seen is None or seen.kind == "module" for seen in names):
            continue
        text = ast.unparse(value)
        may_be_negative = draw.method == "uniform" or (place == 0 and len(given) > 1)
        tests.append(f"{'-1e300' if may_be_negative else '0'} <= {text} <= 1e300")
    return tests


def _read_in(node: ast.expr) -> list[str]:
    """Names and attributes; of ``x.shape[0]`` the array."""
    read = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr != "shape"]
    inside = {id(n.value) for n in read}
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in inside]
    paths = [path for n in read if (path := dotted(n)) is not None]
    return [n for n in dict.fromkeys([*names, *paths]) if n not in _CALLED]


# ----------------------------------------------------------------------- text
def _above(names: Names, draw: Draw, most: str) -> list[str]:
    count = f"{names.used} = {names.numpy}.zeros(1, dtype={names.numpy}.int64)"
    lines = [_keep(names, draw)]
    if draw.kind == PYTHON:
        lines.append(f"{names.twister} = {names.numpy}.random.RandomState()")
        lines.append(_like_python(names))
    numbers = f"{names.numbers} = {_vector(names, draw, most)}"
    return [*lines, "# as many numbers as the loop can take", numbers, count]


def _keep(names: Names, draw: Draw) -> str:
    if draw.kind == PYTHON:
        return f"{names.before} = {names.generator}.getstate()"
    if draw.kind == GENERATOR:
        return f"{names.before} = {names.generator}.bit_generator.state"
    return f"{names.before} = {names.generator}.get_state()"


def _like_python(names: Names) -> str:
    words = f"{names.before}[1]"
    return f'{names.twister}.set_state(("MT19937", {words}[:-1], {words}[-1]))'


def _vector(names: Names, draw: Draw, count: str) -> str:
    if draw.kind == PYTHON:
        return f"{names.twister}.random_sample({count})"
    if draw.method in _UNIFORM:
        return f"{names.generator}.random({count})"
    method = "standard_normal" if draw.method == "randn" else draw.method
    return f"{names.generator}.{method}({', '.join((*draw.args, f'size={count}'))})"


def _behind(names: Names, draw: Draw) -> list[str]:
    """The generator as the loop would have left it."""
    lines = ["# only the numbers that were used count as drawn"]
    again = _vector(names, draw, names.count)
    if draw.kind == PYTHON:
        words, position, before = names.words, names.position, names.before
        return [
            *lines,
            _like_python(names),
            again,
            f"{words}, {position} = {names.twister}.get_state()[1:3]",
            f"{words} = (*{words}.tolist(), {position})",
            f"{names.generator}.setstate(({before}[0], {words}, {before}[2]))",
        ]
    if draw.kind == GENERATOR:
        return [*lines, f"{names.generator}.bit_generator.state = {names.before}", again]
    return [*lines, f"{names.generator}.set_state({names.before})", again]


def _hoisted(draft: Draft, place: Place, number: str, names: Names) -> list[Edit]:
    """The next number in a line above the statement, and its name in place of the call."""
    take = [f"{number} = float({names.numbers}[{names.count}])", f"{names.count} += 1"]
    if place.under:
        take = [f"{number} = 0.0", f"if {place.under}:", *(f"    {line}" for line in take)]
    text = number
    if place.draw.kind == PYTHON and place.draw.method == "uniform":
        low, high = place.draw.args
        text = f"(({low}) + (({high}) - ({low})) * {number})"
    start, end = draft.source.span(place.draw.call)
    return [*draft.above(place.statement, take), Edit(start, end, text)]

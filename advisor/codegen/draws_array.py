"""A loop that draws random numbers as one that reads them from arrays drawn before it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..loopnest.ir import (
    PY_INT,
    Allocation,
    ArrayInput,
    Binary,
    Const,
    Expr,
    For,
    Interval,
    Nest,
    statements,
)
from ..loopnest.lower import lower
from ..model import Edit, Refusal, Region, SiteObservation, Source, ValueInfo
from ..names import free_name, import_edit
from ..patch import apply_edits
from . import ast_tools as tools
from .draws_find import PYTHON, Draw, Stop, is_fixed_number, trips_text
from .draws_tests import generator_tests

_START_AND_STOP = 2
"""Arguments of ``range(start, stop)``."""


@dataclass(frozen=True)
class Stream:
    """All draws of one generator, in one array: a dimension for each loop, one for the draws."""

    name: str
    draws: tuple[Draw, ...]
    trips: tuple[str, ...]
    """How often each loop runs, as text."""

    @property
    def first(self) -> Draw:
        """Its generator and loops are those of all."""
        return self.draws[0]

    @property
    def called(self) -> bool:
        """Only the calls themselves give these numbers: of several kinds, or of Python's own."""
        kinds = {_kind(draw) for draw in self.draws}
        return len(kinds) > 1 or (
            (self.first.kind == PYTHON and kinds != {_kind(None)}) and (self.first.below is None)
        )

    @property
    def shape(self) -> tuple[str, ...]:
        """The extents, as text."""
        several = (str(len(self.draws)),) if len(self.draws) > 1 else ()
        return (*self.trips, *several)

    @property
    def shape_text(self) -> str:
        """The shape as an argument."""
        return self.shape[0] if len(self.shape) == 1 else f"({', '.join(self.shape)})"

    @property
    def count(self) -> str:
        """How many numbers in all, as text."""
        factors = [t if _is_atom(t) else f"({t})" for t in self.trips]
        if len(self.draws) > 1:
            factors.append(str(len(self.draws)))
        return self.trips[0] if len(factors) == 1 else " * ".join(factors)

    def lines(self, np: str, source: Source, taken: set[str]) -> list[str]:
        """The statements that draw the array; the generator is left as the loop leaves it."""
        shape, draw = self.shape_text, self.first
        if self.called:
            return [self._calls(np, source)]
        if draw.kind != PYTHON:
            if draw.method in ("rand", "randn"):
                return [f"{self.name} = {draw.function}({', '.join(self.shape)})"]
            args = ", ".join((*draw.args, f"size={shape}"))
            return [f"{self.name} = {draw.function}({args})"]
        return twister_lines(self, np, source, taken)

    def _calls(self, np: str, source: Source) -> str:
        """The calls as they are, in a list: the rest of the loop is what gains."""
        texts = [source.text(draw.call) for draw in self.draws]
        item = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
        factors = [t if _is_atom(t) else f"({t})" for t in self.trips]
        times = self.trips[0] if len(factors) == 1 else " * ".join(factors)
        text = f"{self.name} = {np}.array([{item} for _ in range({times})])"
        return text if len(self.shape) == 1 else f"{text}.reshape({self.shape_text})"


@dataclass(frozen=True)
class Drawn:
    """A region whose draws are in arrays."""

    streams: tuple[Stream, ...]
    tests: tuple[str, ...]
    """What must hold before the arrays are drawn."""
    nest: Nest | Refusal
    """The loop that reads them."""
    names: frozenset[str] = field(default=frozenset())
    """The arrays' names, and those of the loops' indices that had none."""

    def imports(self, source: Source) -> list[Edit]:
        """The edits that import what the lines need besides NumPy."""
        unnamed = [s for s in self.streams if s.first.kind == PYTHON and not s.first.generator]
        edit = python_module(source)[1] if unnamed else None
        return [] if edit is None else [edit]

    @property
    def arrays(self) -> frozenset[str]:
        """The names of the arrays."""
        return frozenset(stream.name for stream in self.streams)

    def lines(self, np: str, source: Source) -> list[str]:
        """The statements that draw all arrays."""
        taken = set(self.names)
        return [line for stream in self.streams for line in stream.lines(np, source, taken)]


def _kind(draw: Draw | None) -> tuple[object, ...]:
    """Draws of one kind come from one vector draw; None: Python's floats in [0, 1), scaled."""
    if draw is None or (draw.kind == PYTHON and draw.method in ("random", "uniform")):
        return (PYTHON,)
    if draw.below is not None:
        return (PYTHON, *draw.below)
    return (draw.method, draw.args)


def _is_atom(text: str) -> bool:
    return text.isidentifier() or text.isdigit() or text.endswith(")")


def twister_lines(stream: Stream, np: str, source: Source, taken: set[str]) -> list[str]:
    """The numbers of Python's own generator, from NumPy's of the same kind, and its state back."""
    names = []
    for wanted in ("version", "words", "gauss", "twister", "position", "tries", "chosen"):
        names.append(free_name(source, wanted, taken))
        taken.add(names[-1])
    version, words, gauss, twister, position, tries, chosen = names
    generator, start = (
        stream.first.generator or python_module(source)[0],
        f'("MT19937", {words}[:-1], {words}[-1])',
    )
    below = stream.first.below
    draw = [f"{stream.name} = {twister}.random_sample({stream.shape_text})"]
    if below is not None:
        draw = _rejection(stream, np, twister, tries, chosen, start)
    return [
        f"# the numbers that {generator} would give, one after the other",
        f"{version}, {words}, {gauss} = {generator}.getstate()",
        f"{twister} = {np}.random.RandomState()",
        f"{twister}.set_state({start})",
        *draw,
        f"_, {words}, {position} = {twister}.get_state()[:3]",
        f"{generator}.setstate(({version}, (*{words}.tolist(), {position}), {gauss}))",
    ]


def python_module(source: Source) -> tuple[str, Edit | None]:
    """The name of the module ``random``, and the edit that imports it if nothing does."""
    return import_edit(source, "random")


def _rejection(
    stream: Stream, np: str, twister: str, tries: str, chosen: str, start: str
) -> list[str]:
    """Integers below a limit: the first bits of each word, of those words that give one."""
    assert stream.first.below is not None
    low, limit = stream.first.below
    count = stream.count
    total = count if _is_atom(count) else f"({count})"
    drawn = f"{tries}[{chosen}].astype({np}.int64)"
    if low:
        drawn = f"{drawn} {'+' if low > 0 else '-'} {abs(low)}"
    if len(stream.shape) > 1:
        drawn = f"{f'({drawn})' if low else drawn}.reshape({stream.shape_text})"
    word = f"{twister}.randint(0, 2**32, size={{}}, dtype={np}.uint32)"
    more = word.format(f"2 * {total}")
    return [
        f"{tries} = {np}.empty(0, dtype={np}.uint32)",
        f"{chosen} = {np}.flatnonzero({tries})",
        f"while len({chosen}) < {count}:",
        f"    {tries} = {np}.append({tries}, {more} >> {32 - limit.bit_length()})",
        f"    {chosen} = {np}.flatnonzero({tries} < {limit})[:{count}]",
        f"{stream.name} = {drawn}",
        f"{twister}.set_state({start})",
        "# as many words as were used",
        word.format(f"{chosen}.max(initial=-1) + 1"),
    ]


def streams_of(region: Region, draws: Sequence[Draw]) -> tuple[Stream, ...]:
    """The draws by generator, each of one method. Raises Stop."""
    found: dict[str, list[Draw]] = {}
    for draw in draws:
        found.setdefault(draw.kind if draw.module else draw.generator, []).append(draw)
    result: list[Stream] = []
    for group in found.values():
        first = group[0]
        for draw in group:
            _check_one(region, first, draw)
        trips = tuple(trips_text(region, loop) for loop in first.loops)
        name = free_name(region.source, "draws", {s.name for s in result})
        result.append(Stream(name, tuple(group), trips))
    return tuple(result)


def _check_one(region: Region, first: Draw, draw: Draw) -> None:
    line = draw.call.lineno
    if draw.call.lineno != draw.call.end_lineno:
        raise Stop("a draw is written over several lines", line)
    if draw.loops != first.loops:
        raise Stop("numbers are drawn in several loops, in turn", line)
    if _kind(draw) != _kind(first) and (draw.is_integer or first.is_integer):
        raise Stop("different kinds of numbers are drawn in turn", line)
    if draw.below is not None:
        return
    given = (*draw.call.args, *(k.value for k in draw.call.keywords))
    if not all(is_fixed_number(region, a) for a in given):
        raise Stop("what is drawn changes in the loop", line)


def read_from_arrays(region: Region, draws: Sequence[Draw], np: str) -> Drawn:
    """The region's loop lowered with reads of arrays in place of the draws. Raises Stop."""
    streams = streams_of(region, draws)
    tests = generator_tests(region, streams, np)
    indices = _indices(region, streams)
    edits = list(_renamed(region, streams, indices))
    for stream in streams:
        for place, draw in enumerate(stream.draws):
            start, end = region.source.span(draw.call)
            edits.append(Edit(start, end, _read(region, stream, draw, place, indices)))
    source = Source(
        region.source.path, apply_edits(region.source, edits), rebound=region.source.rebound
    )
    nest = _lowered(region, source, streams)
    names = frozenset(s.name for s in streams) | frozenset(indices.values())
    if isinstance(nest, Nest):
        nest = _as_made(nest, region, streams, indices)
    return Drawn(streams, tests, nest, names)


def _indices(region: Region, streams: Sequence[Stream]) -> dict[ast.For, str]:
    """A name for the index of each loop: the user's own, unless it is ``_``. Raises Stop."""
    loops = list(dict.fromkeys(loop for stream in streams for loop in stream.first.loops))
    stores = [n.id for n in ast.walk(region.loop) if isinstance(n, ast.Name) and _bound(n)]
    found: dict[ast.For, str] = {}
    for loop in loops:
        if not isinstance(loop.target, ast.Name):
            raise Stop("the loop has no single index", loop.lineno)
        name = loop.target.id
        reads = tools.loads(region.function or region.source.tree, name)
        if name == "_" and not reads:
            name = free_name(region.source, "i", found.values())
        elif stores.count(name) > 1:
            raise Stop(f"the loop index {name} is assigned", loop.lineno)
        found[loop] = name
    return found


def _bound(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _renamed(
    region: Region, streams: Sequence[Stream], indices: dict[ast.For, str]
) -> Sequence[Edit]:
    edits = []
    for loop, name in indices.items():
        if isinstance(loop.target, ast.Name) and loop.target.id != name:
            edits.append(Edit(*region.source.span(loop.target), name))
    return edits


def _read(
    region: Region, stream: Stream, draw: Draw, place: int, indices: dict[ast.For, str]
) -> str:
    """The element in place of a draw, of the type that the draw has."""
    subscripts = []
    for loop in draw.loops:
        assert isinstance(loop.iter, ast.Call)
        start = "0"
        if len(loop.iter.args) == _START_AND_STOP:
            start = region.source.text(loop.iter.args[0])
        subscripts.append(indices[loop] if start == "0" else f"{indices[loop]} - ({start})")
    if len(stream.draws) > 1:
        subscripts.append(str(place))
    element = f"{stream.name}[{', '.join(subscripts)}]"
    if draw.method == "choice":
        return _chosen(draw.choices, f"int({element})")
    if draw.is_integer:
        return element if draw.method == "integers" else f"int({element})"
    if draw.method == "uniform" and draw.kind == PYTHON and not stream.called:
        low, high = draw.args
        return f"(({low}) + (({high}) - ({low})) * float({element}))"
    return f"float({element})"


def _chosen(choices: Sequence[str], position: str) -> str:
    """``a if position == 0 else b if position == 1 else c``."""
    *first, text = choices
    for number in reversed(range(len(first))):
        text = f"{first[number]} if {position} == {number} else {text}"
    return f"({text})"


# ------------------------------------------------------------------ lowering
def _lowered(region: Region, source: Source, streams: Sequence[Stream]) -> Nest | Refusal:
    observation = region.observation
    assert observation is not None
    values = dict(observation.values)
    for stream in streams:
        values[stream.name] = _seen(region, stream, observation)
    loop, function = _same_place(region, source)
    return lower(
        loop,
        source=source,
        function=function,
        observation=replace(observation, values=values),
        functions=region.functions,
    )


def _same_place(region: Region, source: Source) -> tuple[ast.For, ast.FunctionDef | None]:
    """The loop and the function around it in the new text: its lines are the same."""
    loop = next(
        n
        for n in source.nodes
        if isinstance(n, ast.For)
        and (n.lineno, n.col_offset) == (region.loop.lineno, region.loop.col_offset)
    )
    if region.function is None:
        return loop, None
    line = region.function.lineno
    function = next(n for n in source.nodes if isinstance(n, ast.FunctionDef) and n.lineno == line)
    return loop, function


def _seen(region: Region, stream: Stream, observation: SiteObservation) -> ValueInfo:
    """What would have been observed of the array."""
    extents = [_number(text, observation) for text in stream.trips]
    if len(stream.draws) > 1:
        extents.append(len(stream.draws))
    known = tuple(1 if e is None else e for e in extents)
    draw = stream.first
    low, high = _range(stream)
    return ValueInfo(
        kind="ndarray",
        type_name="numpy.ndarray",
        dtype="int64" if draw.is_integer else "float64",
        ndim=len(extents),
        shape=tuple(extents),
        min_shape=known,
        max_shape=known,
        c_contiguous=True,
        minimum=low,
        maximum=high,
    )


def _number(text: str, observation: SiteObservation) -> int | None:
    if text.isdigit():
        return int(text)
    seen = observation.values.get(text)
    return int(seen.maximum) if seen is not None and seen.maximum is not None else None


def _range(stream: Stream) -> tuple[float | int | None, float | int | None]:
    """Bounds that hold whatever is drawn; None where there are none."""
    draw = stream.first
    if draw.below is not None:
        return draw.below[0], sum(draw.below) - 1
    args = [int(a) for a in draw.args if a.lstrip("-").isdigit()]
    if draw.is_integer:
        if draw.method in ("randint", "integers") and len(args) == len(draw.args):
            low, high = (0, args[0]) if len(args) == 1 else (args[0], args[1])
            return low, high - 1
        return -(2**63), 2**63 - 1
    unit = draw.method in ("random", "random_sample", "rand") or draw.kind == PYTHON
    if unit and not stream.called:
        return 0.0, 1.0
    return None, None


def _as_made(
    nest: Nest, region: Region, streams: Sequence[Stream], indices: dict[ast.For, str]
) -> Nest:
    """The nest with what is known of the arrays: made here, with these extents and values."""
    loops = {s.index: s for s in statements((nest.root,)) if isinstance(s, For)}
    arrays = dict(nest.arrays)
    for stream in streams:
        info = arrays.get(stream.name)
        if info is None:
            continue  # a draw that nobody reads
        extents: list[Expr] = []
        for loop in stream.first.loops:
            one = loops[indices[loop]]
            extents.append(Binary(PY_INT, one.line, "-", one.stop, one.start))
        if len(stream.draws) > 1:
            extents.append(Const(PY_INT, region.loop.lineno, len(stream.draws)))
        arrays[stream.name] = _made(info, stream, region, tuple(extents))
    return replace(nest, arrays=arrays)


def _made(
    info: ArrayInput, stream: Stream, region: Region, extents: tuple[Expr, ...]
) -> ArrayInput:
    low, high = _range(stream)
    node: ast.stmt = ast.parse(f"{stream.name} = 0").body[0]
    return replace(
        info,
        interval=Interval(low, high),
        allocation=Allocation("drawn", region.loop.lineno, node),
        extents=extents,
    )

"""One attempt: a normalised nest and a choice of axes, to text and what it rests on."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ...loopnest.affine import affine
from ...loopnest.ir import (
    ArrayInput,
    Assign,
    Binary,
    Expr,
    For,
    If,
    Kind,
    Load,
    Nest,
    Stmt,
    Store,
    Sum,
    Var,
    expressions,
    statements,
    walk,
)
from ...model import Region
from ..made_lists import MadeTable, dead_after, made_table
from ..rows_read import rows_read
from . import reduced
from .block import axis_order, block_body, loop_header
from .calm import check_calm
from .expressions import scalar_text
from .factors import factorisation, write_factorisation
from .halo import Halo, allocation, filling
from .held import Held, Released
from .indexing import span_of
from .inexact import need_exact_powers
from .known import Facts
from .legality import index_range
from .lists import convert_lists
from .normal import NotVectorisable, exposed
from .planning import all_loops
from .provenance import proved_list, unshared_list
from .ranges import fits, has_room, type_range
from .relaxation import relaxation
from .restructure import ONCE, Variant
from .scan import scan_stores
from .scatter import scatter_stores
from .session import Context, Session
from .stores import make_rows
from .summing import check_start, summed
from .turned import write_copies
from .values import dtype_text


def attempt(
    nest: Nest,
    variant: Variant,
    region: Region,
    np_name: str,
    axes: frozenset[int],
    narrow: Mapping[str, str],
) -> Session:
    """Write the nest; repeated until the borders that it needs are known.

    Raises:
        NotVectorisable: some statement has no array form under this choice.
    """
    nest = nest if variant.waves is None else variant.waves.nest
    try:
        return _settled(nest, variant, region, np_name, axes, narrow)
    except NotVectorisable:
        if not has_room(nest):
            raise
    return _settled(nest, variant, region, np_name, axes, narrow, roomy=False)


def _settled(
    nest: Nest,
    variant: Variant,
    region: Region,
    np_name: str,
    axes: frozenset[int],
    narrow: Mapping[str, str],
    *,
    roomy: bool = True,
) -> Session:
    halos: dict[str, Halo] = {}
    fills: set[tuple[int, str]] = set()
    for _ in range(6):
        session = _session(nest, variant.root, region, np_name, axes, narrow)
        session.roomy = roomy
        session.moved = variant.moved
        session.turned = variant.turned
        _by_waves(session, variant)
        session.halos = dict(halos)
        session.taken |= {h.name for h in halos.values()}
        writer = _Writer(session, fills)
        writer.run()
        found = {name: h for name, h in session.halos.items() if isinstance(h, Halo)}
        if found == halos and writer.used == fills:
            write_copies(session, variant)
            return session
        halos, fills = found, writer.used
    raise NotVectorisable("the borders of the arrays could not be settled")


def _by_waves(session: Session, variant: Variant) -> None:
    """Note the loops over waves, and ask for what they rest on. Raises NotVectorisable."""
    session.waves = variant.waves
    if variant.waves is None:
        return
    facts = session.facts
    same = all(facts.require_equal(*pair) for pair in variant.waves.equal_required)
    if not (same and all(facts.require(form) for form in variant.waves.required)):
        raise NotVectorisable("a loop may have no iteration", variant.root.line)


def factorised(root: For, nest: Nest, region: Region, np_name: str) -> Session | None:
    """The nest as one factorisation of a matrix; None if it is none. Raises NotVectorisable."""
    facts = Facts(nest)
    variant = summed(Variant(root), nest, facts)
    found = None if variant is None else factorisation(variant.root, nest, facts)
    if variant is None or found is None:
        return None
    session = _session(nest, variant.root, region, np_name, frozenset(), {})
    write_factorisation(session, found)
    return session


def _session(
    nest: Nest,
    root: For,
    region: Region,
    np_name: str,
    axes: frozenset[int],
    narrow: Mapping[str, str],
) -> Session:
    uses: dict[str, int] = {}
    for statement in statements((root,)):
        for expr in expressions(statement):
            for part in walk(expr):
                if isinstance(part, Var):
                    uses[part.name] = uses.get(part.name, 0) + 1
    session = Session(nest, root, region.source, np_name, axes, uses, Facts(nest))
    session.rebound = _rebound(nest, region)
    session.made = region.around.made if region.around is not None else frozenset()
    made = (
        n for n, info in nest.arrays.items() if info.container == "list" and unshared_list(info)
    )
    session.dead = frozenset(name for name in made if dead_after(region, name))
    session.tables = _tables(nest, region)
    session.rows_read = _rows_read(session, region)
    assigned = [s.name for s in statements((root,)) if isinstance(s, Assign)]
    session.single = frozenset(name for name in assigned if assigned.count(name) == 1)
    session.narrow = dict(narrow)
    session.scatters = scatter_stores(root, nest)
    session.scans = scan_stores(root, nest)
    session.hidden = "_" if region.function is None else ""
    session.exact_powers = need_exact_powers(root)
    relaxed = relaxation(root, nest)
    if relaxed is not None and id(root) not in axes:
        session.domains += relaxed.tests(nest)
        session.closed_ranges.add(relaxed.array)
    session.taken |= set(nest.privates)
    return session


def _tables(nest: Nest, region: Region) -> dict[str, MadeTable]:
    """Lists of lists of which few elements need be looked at; not those that need none at all."""
    found = {}
    for name, info in nest.arrays.items():
        numbers = info.element.is_python and info.element.kind in (Kind.INT, Kind.FLOAT)
        plain = info.container == "list" and info.ndim == 2 and numbers and not info.aliases
        plain = plain and name not in nest.either
        if plain and type(info) is ArrayInput and not proved_list(info):
            made = made_table(region, name)
            if made is not None:
                found[name] = made
    return found


def _rows_read(session: Session, region: Region) -> dict[str, tuple[ast.expr, ...]]:
    """The rows that are read of the lists of lists that the function made itself."""
    found: dict[str, tuple[ast.expr, ...]] = {}
    if region.function is None or region.around is not None:
        return found  # a module's names outlive the loop
    for name, info in session.nest.arrays.items():
        own = name in session.tables or (info.container == "list" and unshared_list(info))
        own = own and name not in session.nest.either
        rows = rows_read(region, name) if own and info.ndim == 2 else None
        if rows is not None:
            found[name] = rows
    return found


def _rebound(nest: Nest, region: Region) -> frozenset[str]:
    """Arrays that ``x += ..`` may name: of a name from outside the function it would make a local.

    Parameters, what the function made itself, and all names of code that is in no function.
    """
    if region.function is None:
        return frozenset(name for name in nest.arrays if name.isidentifier())
    given = region.function.args
    parameters = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    made = {name for name, info in nest.arrays.items() if info.allocation is not None}
    return frozenset(name for name in parameters | made if name.isidentifier())


class _Writer:
    """Writes the kept loops and the blocks inside them."""

    def __init__(self, session: Session, fills: set[tuple[int, str]]) -> None:
        self.session = session
        self.fills = fills
        self.used: set[tuple[int, str]] = set()
        self.blocks = 0

    def run(self) -> None:
        """The whole nest."""
        session = self.session
        convert_lists(session)
        for array, dtype in session.narrow.items():
            wide = session.nest.arrays[array].element.kind is Kind.INT
            if wide:  # comparisons alone ask for no range: 256 would become 0
                session.ranges_used.setdefault(array, type_range(dtype))
            if wide and array not in session.halos and array not in session.array_names:
                name = session.fresh(f"small_{array}")
                session.array_names[array] = name
                session.prologue.append(f"{name} = {array}.astype({dtype_text(session.np, dtype)})")
        written = {s.array for s in statements((session.root,)) if isinstance(s, Store)}
        self.written = written
        known = [h for h in session.halos.values() if isinstance(h, Halo)]
        self.sequence((session.root,), session.nest.live_out)
        self._last_indices()
        for halo in known:  # last, when it is known how the sizes may be spelled
            session.prologue.append(allocation(session, halo))
            if halo.array not in written:
                session.prologue += filling(session, halo)

    def sequence(self, body: tuple[Stmt, ...], future: frozenset[str]) -> None:
        """Statements of kept loops."""
        session = self.session
        inner = (s for s in statements(body) if isinstance(s, For))
        has_arrays = any(id(loop) in session.axes for loop in inner)
        for position, statement in enumerate(body):
            after = exposed(body[position + 1 :]) | future
            if id(statement) in session.moved or isinstance(statement, Held | Released):
                check_calm(session, statement)
            match statement:
                case For(index=index) if index == ONCE:
                    self.sequence(statement.body, after)
                case For() if id(statement) in session.axes:
                    self.block(statement, after)
                case For():
                    self._kept(statement, after)
                case Assign():
                    self._scalar(statement)
                case Store():
                    self._element(statement, beside_arrays=has_arrays)
                case If(test=test, then=then, orelse=orelse):
                    with session.indented(f"if {scalar_text(session, test)}:"):
                        self.sequence(then, after)
                    if orelse:
                        with session.indented("else:"):
                            self.sequence(orelse, after)
                case _:
                    raise NotVectorisable("a statement has no array form", statement.line)

    def _scalar(self, statement: Assign) -> None:
        session, name = self.session, statement.name
        check_start(session, statement)
        match statement.value:
            case Binary(op="+" | "-" as op, left=Var(name=left), right=Sum() as total) if (
                left == name
            ):
                session.line(f"{name} {op}= {scalar_text(session, total)}")
            case value:
                session.line(f"{name} = {scalar_text(session, value)}")

    def _kept(self, loop: For, future: frozenset[str]) -> None:
        session = self.session
        bounds = index_range(loop)
        if bounds is not None:
            session.facts.ranges[loop.index] = bounds
        if session.waves is not None and loop.index in session.waves.names:
            session.line(f"# elements of one {loop.index} do not need each other")
        with session.indented(loop_header(session, loop)):
            self.sequence(loop.body, future | exposed(loop.body))
        session.facts.ranges.pop(loop.index, None)

    def _is_exact(self, statement: Store) -> bool:
        """The array gives back the very number that the list would hold."""
        info = self.session.nest.arrays[statement.array]
        value, element = statement.value, info.element
        plain = type(info) is ArrayInput and info.container == "list"
        if not plain or value.type != element or not element.is_python:
            return False  # 300 is no byte
        whole = element.kind is Kind.INT
        return not whole or fits(self.session, Context((), ()), value)

    def _element(self, statement: Store, *, beside_arrays: bool) -> None:
        session = self.session
        if statement.array in session.array_names and not (
            isinstance(statement, Released) or (beside_arrays and self._is_exact(statement))
        ):
            raise NotVectorisable(
                f"single elements of the list {statement.array} are written one after the other",
                statement.line,
                "use a NumPy array",
            )
        make_rows(session, statement.array)
        session.changed.add(statement.array)
        info = session.nest.arrays[statement.array]
        target = scalar_text(
            session, Load(info.element, statement.line, statement.array, statement.index)
        ).removesuffix(".item()")
        match statement.value:
            case Binary(op=op, left=Load(array=array, index=index), right=right) if (
                array == statement.array and index == statement.index
            ) and (id(statement) in session.moved or isinstance(statement.node, ast.AugAssign)):
                session.line(f"{target} {op}= {scalar_text(session, right)}")
            case value:
                session.line(f"{target} = {scalar_text(session, value)}")

    def block(self, loop: For, future: frozenset[str]) -> None:
        """An axis loop and everything in it."""
        session = self.session
        self.blocks += 1
        inside = [s for s in all_loops(loop) if id(s) in session.axes]
        session.block_loops = tuple(inside)
        session.reductions = reduced.find(loop, session.axes, future)
        session.axis_order = axis_order(session, loop)
        session.carried = set()
        session.masks = {}
        session.kept_around = bool(session.facts.ranges)
        stored = {s.array for s in statements(loop.body) if isinstance(s, Store)}
        for number, array in sorted(self.fills):
            if number != self.blocks:
                continue
            if array in stored:
                raise NotVectorisable(
                    f"{array} is read across its edge and written in the same loop", loop.line
                )
            halo = session.halos.get(array)
            if isinstance(halo, Halo) and array in self.written:
                for line in filling(session, halo):
                    session.line(line)
        before = dict(session.halos)
        spans = ((loop.index, span_of(loop)),)
        context = Context(spans, spans, future=future)
        block_body(session, loop.body, context, {})
        for array in session.halos:
            if array in _read(loop):
                self.used.add((self.blocks, array))
        del before

    def _last_indices(self) -> None:
        """Loop indices that are read after the nest keep the value the loop left."""
        session = self.session
        for loop in all_loops(session.root):
            if id(loop) not in session.axes or loop.index not in session.nest.live_out:
                continue
            start, stop = affine(loop.start), affine(loop.stop)
            if start is None or stop is None or abs(loop.step) != 1:
                raise NotVectorisable(f"{loop.index} is read after the loop", loop.line)
            for around in all_loops(session.root):
                low, high = affine(around.start), affine(around.stop)
                trips = None if low is None or high is None else high - low
                if trips is None or not session.facts.require(
                    trips - 1 if around.step > 0 else -trips - 1
                ):
                    raise NotVectorisable(f"{loop.index} is read after the loop", loop.line)
            last = stop - 1 if loop.step > 0 else stop + 1
            if last.symbols & session.nest.privates.keys():
                raise NotVectorisable(f"{loop.index} is read after the loop", loop.line)
            session.epilogue.append(f"{loop.index} = {session.facts.text(last)}")


def _read(loop: For) -> set[str]:
    return {
        part.array
        for statement in statements(loop.body)
        for expr in expressions(statement)
        for part in walk(expr)
        if isinstance(part, Load)
    }


def narrow_types(nest: Nest, root: For) -> list[dict[str, str]]:
    """Narrower integer types to try for arrays that are only read, narrowest first."""
    written = {s.array for s in statements((root,)) if isinstance(s, Store)}
    counts: dict[str, int] = {}
    for statement in statements((root,)):
        for expr in expressions(statement):
            for part in _loads(expr):
                counts[part.array] = counts.get(part.array, 0) + 1
    places = _used_as_places(root)
    chosen = [
        array
        for array, count in counts.items()
        if count >= 4 and array not in written | places and _is_wide_integer(nest, array)
    ]
    if len(chosen) != 1:
        return []
    low, high = nest.arrays[chosen[0]].interval.low, nest.arrays[chosen[0]].interval.high
    if nest.arrays[chosen[0]].element.kind is Kind.BOOL:
        low, high = 0, 1
    if low is None or high is None:
        return []
    result = []
    for dtype, least, most in (("uint8", 0, 255), ("int16", -32768, 32767)):
        if least <= low and high <= most:
            result.append({chosen[0]: dtype})
    return result


def _used_as_places(root: For) -> set[str]:
    """Arrays whose elements are subscripts: NumPy would widen bytes again."""
    found: set[str] = set()
    for statement in statements((root,)):
        subscripts = list(statement.index) if isinstance(statement, Store) else []
        for expr in expressions(statement):
            subscripts += [e for part in _loads(expr) for e in part.index]
        found |= {part.array for e in subscripts for part in _loads(e)}
    return found


def _is_wide_integer(nest: Nest, array: str) -> bool:
    element = nest.arrays[array].element
    if element.kind is Kind.BOOL:
        return True  # read as it is, but its counts fit into bytes
    return element.kind is Kind.INT and element.dtype in (None, "int64", "int32")


def _loads(expr: Expr) -> list[Load]:
    return [part for part in walk(expr) if isinstance(part, Load)]

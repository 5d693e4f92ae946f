"""A Python loop statement and what was seen at its entry, to a typed loop nest.

``lower`` never raises on any Python code: what the representation cannot express gives a
``Refusal`` that names the first construct in the way.
"""

from __future__ import annotations

import ast
import logging
from collections.abc import Mapping
from functools import cached_property

from ..errors import OUR_BUGS
from ..model import Refusal, SiteObservation, Source, ValueInfo
from .bindings import Env, Frame, Gone, Private, Stop, View
from .inline import InlineLowering
from .ir import (
    PY_FLOAT,
    PY_INT,
    Append,
    AppendRow,
    ArrayInput,
    Binary,
    Const,
    Dim,
    Expr,
    For,
    Interval,
    Kind,
    Len,
    Load,
    Nest,
    NewList,
    Scalar,
    ScalarInput,
    Store,
    UserCall,
    While,
    expressions,
    statements,
    walk,
)
from .liveness import live_after
from .numbered import numbered
from .provenance import Provenance
from .ranges import Observed, interval
from .scope import declared, local_names, module_of, own_nodes
from .text import LETTERS, KnownText

log = logging.getLogger("gpuadvise.loopnest")

_PASSES = 12
"""Rounds until the types at loop heads stand still; each adds a type or leaves."""


def lower(
    loop: ast.For | ast.While,
    *,
    source: Source,
    function: ast.FunctionDef | None,
    observation: SiteObservation | None,
    functions: Mapping[str, ast.FunctionDef] | None = None,
) -> Nest | Refusal:
    """Lower one loop statement of ``source``; ``function`` directly encloses it, if any does.

    ``functions`` holds the user's functions called inside, by the name used there
    (``"neighbours"``, ``"self.count"``).
    """
    if observation is None:
        return Refusal("the loop was never entered while it was observed", loop.lineno)
    try:
        given = (loop, source, function, observation, functions or {})
        try:
            return _Lowered(*given).nest()
        except Stop as stop:
            if not stop.unsettled:
                return stop.refusal
            first = stop.refusal
        # s = 0; for k in range(m): s += a[k]: a float if m > 0, which then is asked at run time
        try:
            return _Lowered(*given, trips=True).nest()
        except Stop:
            return first
    except OUR_BUGS as error:
        log.warning("lowering of %s:%d failed", source.path, loop.lineno, exc_info=True)
        return Refusal(f"the loop could not be analysed ({type(error).__name__})", loop.lineno)


class _Lowered:
    """One lowering from start to end."""

    def __init__(
        self,
        loop: ast.For | ast.While,
        source: Source,
        function: ast.FunctionDef | None,
        observation: SiteObservation,
        functions: Mapping[str, ast.FunctionDef],
        trips: bool = False,
    ) -> None:
        self.trips = trips
        """Rely on loops running at least once, where they were seen to."""
        self.loop = loop
        self.source = source
        self.function = function
        self.observation = observation
        self.functions = functions
        self.local = local_names(function)
        self.taken = module_of(source).identifiers | frozenset(observation.values)

    def nest(self) -> Nest:
        """The finished nest. Raises Stop."""
        state = InlineLowering(
            self.source, self.observation, self.local, self.taken, self.functions
        )
        state.reset_heads()
        state.known_text = KnownText(self.source, self.function, self.loop, self.observation)
        state.trust_trips = self.trips
        state.whole = self.loop
        state.element_types, state.presumption = {}, PY_INT
        for _ in range(_PASSES):
            try:
                root = self.one_pass(state)
            except Stop:
                if state.presumption == PY_FLOAT or not state.presumed:
                    raise
                # row.append(0.5 * row[-1]): taken for ints, the loop did not fit together
                state.presumption, state.changed, state.retyped = PY_FLOAT, True, True
                state.element_types.clear()
            if state.retyped:
                state.reset_heads()
                state.changed = True
                # row.append(0.5); out.append(row[0]): out was taken for ints as row was
                known = state.element_types.items()
                state.element_types = {n: t for n, t in known if n in state.presumed}
            if not state.changed:
                return self.finish(root, state)
        raise Stop("the types of the loop's variables do not settle", self.loop.lineno)

    def one_pass(self, state: InlineLowering) -> For | While:
        """Lower the whole statement once, under the loop heads known so far."""
        state.changed = state.retyped = False
        state.mixed.clear()
        state.used_arrays.clear()
        state.used_scalars.clear()
        state.all_types.clear()
        state.written.clear()
        state.appended.clear()
        state.rebound.clear()
        state.relies.clear()
        state.needs = []
        state.invented.clear()
        state.helpers.clear()
        state.modules.clear()
        state.positive_steps = []
        state.for_effect = []
        state.whole_values = []
        state.inlined = []
        state.sums = []
        state.budget = 200
        state.hoist = []
        state.frame = Frame(self.function)
        state.survey_lists(self.loop)
        state.assigned = self.assigned
        state.env = self.entry(state)
        produced = state.statement(self.loop)
        state.check_lists(self.loop.lineno)
        root = produced[-1]
        if len(produced) != 1 or not isinstance(root, For | While):
            raise Stop(
                "the loop changes what its own bounds are made of, or calls a helper for them",
                self.loop.lineno,
                "put the bound into a variable before the loop",
            )
        return root

    @cached_property
    def assigned(self) -> frozenset[str]:
        """Names and attribute paths that the statement assigns, as the text has them."""
        found: set[str] = set()
        for node in (self.loop, *own_nodes(self.loop)):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(ast.unparse(node))
        for helper in self.functions.values():
            # methods that are inlined assign attributes of the same object
            for node in ast.walk(helper):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    path = ast.unparse(node)
                    if path in self.observation.values:
                        found.add(path)
        return frozenset(found)

    def entry(self, state: InlineLowering) -> Env:
        """What the names that the loop assigns stand for before it."""
        env: Env = {}
        for name in sorted(state.assigned):
            info = self.observation.values.get(name)
            if info is None or name in state.makes:
                env[name] = Gone()
                continue
            if name in state.strings:
                env[name] = Gone("is a string that grows")
                continue
            if name in state.replaced:
                continue
            kind = state.scalar_type(name, info)
            if kind is not None:
                env[name] = Private(frozenset((kind,)), True, True)
            elif info.kind in ("ndarray", "list", "tuple", "bytearray"):
                env[name] = self.entry_view(state, name, info)
            else:
                env[name] = Gone(f"is {info.type_name} before the loop")
        return env

    def entry_view(self, state: InlineLowering, name: str, info: ValueInfo) -> View | Gone:
        try:
            state.check_array(name, info, self.loop.lineno)
        except Stop as stop:
            return Gone(f"cannot be used here: {stop.refusal.reason}")
        del state.used_arrays[name]
        state.used_arrays[name] = info
        return View(name)

    # ------------------------------------------------------------ finish
    def finish(self, root: For | While, state: InlineLowering) -> Nest:
        """The nest around the lowered statement, checked."""
        privates, joined = self.private_types(state)
        provenance = Provenance(self.source, self.function, self.loop, self.observation)
        arrays = self.arrays(root, state, provenance)
        varying = state.made | state.rows | state.measured
        dims = frozenset(
            (a, k) for a, info in arrays.items() if a not in varying for k in range(info.ndim)
        )
        scalars = {
            name: self.scalar(name, kind, provenance, dims)
            for name, kind in sorted(state.used_scalars.items())
        }
        after = live_after(self.source, self.function, self.loop)
        live = frozenset(n for n in privates if self.may_be_read(n, after, state))
        for name, line in state.rebound.items():
            if after is None or name in after:
                raise Stop(f"{name}, a row or array chosen in the loop, is read after it", line)
        nest = Nest(
            root=root,
            arrays=arrays,
            scalars=scalars,
            privates=privates,
            live_out=live,
            helpers=tuple(state.helpers),
            modules=dict(state.modules),
            invented=frozenset(state.invented & set(privates)),
            entries=self.observation.entries,
            joined=joined,
            relies_on=tuple(state.relies),
            made=frozenset(state.made),
            grown=frozenset(state.rows | state.measured),
            strings=state.strings & state.appended.keys(),
            replaced=state.replaced & state.measured,
            calls=tuple(state.inlined),
        )
        nest = numbered(nest, self.observation.values, state.known_text, state.needs)
        self.check_obligations(nest, state)
        self.check_attributes(nest)
        return nest

    def check_attributes(self, nest: Nest) -> None:
        """Two paths may be one attribute: ``self.x += other.x`` with ``other is self``."""
        paths = sorted(n for n in {*nest.privates, *nest.scalars} if "." in n)
        for written in (p for p in paths if p in nest.privates):
            attribute = written.rpartition(".")[2]
            for other in paths:
                if other != written and other.rpartition(".")[2] == attribute:
                    raise Stop(
                        f"{written} is assigned and {other} may be the same attribute",
                        self.loop.lineno,
                        "copy one of them into a local variable before the loop",
                    )

    def may_be_read(self, name: str, after: frozenset[str] | None, state: InlineLowering) -> bool:
        """Whether someone may read the private after the nest; attributes outlive it."""
        if name in state.invented:
            return False
        if "." in name or after is None or name in after:
            return True
        return self.function is not None and name in declared(self.function)

    def private_types(
        self, state: InlineLowering
    ) -> tuple[dict[str, Scalar], dict[str, tuple[Scalar, ...]]]:
        """One type for every private, and all of them where there are several."""
        privates: dict[str, Scalar] = {}
        joined: dict[str, tuple[Scalar, ...]] = {}
        for name, types in sorted(state.all_types.items()):
            everything = frozenset(types)
            if name in state.used_scalars:
                everything |= {state.used_scalars[name]}
            privates[name] = state.joined(everything, name, self.loop.lineno)
            if len(everything) > 1:
                joined[name] = tuple(sorted(everything, key=str))
        return privates, joined

    def arrays(
        self, root: For | While, state: InlineLowering, provenance: Provenance
    ) -> dict[str, ArrayInput]:
        """Every array the statement touches."""
        read, written, seen = _touched(root)
        result: dict[str, ArrayInput] = {}
        aliases = _aliases(self.observation, read | written | seen | set(state.appended))
        varying = state.made | state.rows | state.measured
        for name in sorted(varying):
            result[name] = self.varying(name, state, name in read)
        for name in sorted(seen - varying):
            info = state.used_arrays[name]
            if name in state.appended:
                raise Stop(f"{name} is appended to and read in the loop", self.loop.lineno)
            element = state.element_of(info)
            assert element is not None and info.ndim is not None and info.shape is not None
            result[name] = ArrayInput(
                name=name,
                container=info.kind,
                element=element,
                ndim=info.ndim,
                shape=info.shape,
                interval=_observed_interval(info),
                has_nan=info.has_nan or (info.element is not None and info.element.has_nan),
                c_contiguous=info.c_contiguous,
                read=name in read,
                written=name in written,
                allocation=provenance.allocation(name),
                aliases=aliases.get(name, ()),
                letters=info.element is not None and info.element.target == LETTERS,
                extents=provenance.extents(name, info.ndim),
            )
        for name, types in sorted(state.appended.items()):
            if name in varying:
                continue
            result[name] = self.grown(name, types, aliases.get(name, ()), provenance)
        return result

    @staticmethod
    def varying(name: str, state: InlineLowering, read: bool) -> ArrayInput:
        """A list made in the nest, or grown by more than single numbers that no one reads."""
        rank = 1 if name in state.measured else 2
        if name in state.made:
            rank = state.used_arrays[name].ndim or 1
        return ArrayInput(
            name=name,
            container="list",
            element=state.element_types[name],
            ndim=rank,
            shape=(None,) * rank,
            interval=Interval(),
            has_nan=True,
            c_contiguous=False,
            read=read,
            written=True,
        )

    def grown(
        self,
        name: str,
        types: set[Scalar],
        aliases: tuple[str, ...],
        provenance: Provenance,
    ) -> ArrayInput:
        """A list that is only appended to."""
        if len(types) > 1:
            raise Stop(f"values of different types are appended to {name}", self.loop.lineno)
        info = self.observation.values[name]
        return ArrayInput(
            name=name,
            container="list",
            element=next(iter(types)),
            ndim=1,
            shape=info.shape if info.shape is not None and len(info.shape) == 1 else (None,),
            interval=Interval(),
            has_nan=True,
            c_contiguous=False,
            read=False,
            written=True,
            allocation=provenance.allocation(name),
            aliases=aliases,
        )

    def scalar(
        self,
        name: str,
        kind: Scalar,
        provenance: Provenance,
        dims: frozenset[tuple[str, int]],
    ) -> ScalarInput:
        """A scalar read before it is assigned in the nest."""
        info = self.observation.values[name]
        equals = provenance.equal_extents(name)
        seen: list[tuple[str, int]] = []
        if info.constant and kind.kind is Kind.INT:
            for array, axis in sorted(dims):
                shape = self.observation.values[array].shape
                if shape and shape[axis] is not None and shape[axis] == info.minimum:
                    seen.append((array, axis))
        return ScalarInput(
            name=name,
            type=kind,
            interval=Interval() if info.has_nan else Interval(info.minimum, info.maximum),
            constant=info.constant,
            equals=tuple(e for e in equals if e in dims),
            seen_equal=tuple(e for e in seen if e not in equals),
            literal=provenance.literal(name),
        )

    def check_obligations(self, nest: Nest, state: InlineLowering) -> None:
        """What the lowering took for granted must be provable from the code. Raises Stop."""
        for step, line in state.positive_steps:
            found = interval(step, nest, observed=Observed.NOTHING)
            if found.low is None or found.low < 1:
                raise Stop("a range step that is not proved positive", line, "use a constant step")
        for statement in statements((nest.root,)):
            for top in expressions(statement):
                for expr in walk(top):
                    match expr:
                        case Binary(op="**", left=left, right=right) if left.type == PY_FLOAT:
                            self.check_float_power(left, right, nest, expr.line)

    @staticmethod
    def check_float_power(left: Expr, right: Expr, nest: Nest, line: int) -> None:
        """A negative Python float to a fractional power is complex."""
        if right.type.kind is Kind.INT:
            return
        if isinstance(right, Const) and float(right.value.real).is_integer():
            return
        if not right.type.is_python:
            return
        low = interval(left, nest, observed=Observed.EVERYTHING).low
        if low is None or low < 0:
            raise Stop("a fractional power of a float that may be negative, which is complex", line)


def _touched(root: For | While) -> tuple[set[str], set[str], set[str]]:
    read: set[str] = set()
    written: set[str] = set()
    seen: set[str] = set()
    for statement in statements((root,)):
        if isinstance(statement, Store | Append | AppendRow | NewList):
            written.add(statement.array)
        for top in expressions(statement):
            for expr in walk(top):
                if isinstance(expr, Load):
                    read.add(expr.array)
                elif isinstance(expr, Dim | Len):
                    seen.add(expr.array)
                elif isinstance(expr, UserCall):
                    read.update(a for a in expr.args if isinstance(a, str))
    appended = {s.array for s in statements((root,)) if isinstance(s, Append)}
    stored = {s.array for s in statements((root,)) if isinstance(s, Store)}
    # a list that is also read, stored to or measured is not only appended to
    return read, written, read | stored | seen | (written - appended)


def _aliases(observation: SiteObservation, names: set[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for left, right in observation.aliases:
        if left in names and right in names and left != right:
            found.setdefault(left, set()).add(right)
            found.setdefault(right, set()).add(left)
    return {name: tuple(sorted(others)) for name, others in found.items()}


def _observed_interval(info: ValueInfo) -> Interval:
    if info.kind == "bytes":
        return Interval(0, 255)  # every back end asks for it
    inner = info
    if info.minimum is None and info.element is not None:
        inner = info.element
    return Interval(inner.minimum, inner.maximum)

"""A unit as a function over its lanes, and the loop that takes the values one by one."""

from __future__ import annotations

import ast
import logging
from collections.abc import Sequence
from dataclasses import replace

from ...layout import reindent
from ...loopnest.fold import reads
from ...loopnest.ir import (
    Append,
    AppendRow,
    ArrayInput,
    Dim,
    For,
    If,
    Kind,
    Load,
    Nest,
    NewList,
    Stmt,
    Store,
    statements,
    walk,
)
from ...loopnest.scope import local_names, module_of
from ...model import Basis, Condition, Edit, Exactness, Match, Region, Source
from ...names import free_name
from ...patch import apply_edits, import_edit, replace_statement
from ..chained import condition_lines
from ..nb_text import functions_block, top_level_statement
from ..numpy_backend.guarding import apart, guards
from ..numpy_backend.inexact import deciding_line
from ..numpy_backend.known import Facts
from ..numpy_backend.normal import NotVectorisable
from ..numpy_backend.session import Session
from .bounds import GIVEN, TOO_LARGE
from .flow import Selected, flat, own_expressions
from .function import BUILT_IN, LaneFunction
from .idle import idle, without
from .unit import Unit

log = logging.getLogger("gpuadvise.codegen")

_BUILT_IN = BUILT_IN | {"next", "type", "set", "all"}
_TYPES = frozenset((None, "float64", "int64", "bool"))


def written(region: Region, nest: Nest, unit: Unit) -> Match:
    """The rewrite. Raises NotVectorisable."""
    for bits in GIVEN:
        try:
            return _Emitter(region, nest, unit, bits).match()
        except NotVectorisable as refusal:
            if refusal.reason != TOO_LARGE or bits == GIVEN[-1]:
                raise
    raise AssertionError("unreachable")


class _Emitter:
    """One unit of one region."""

    def __init__(self, region: Region, nest: Nest, unit: Unit, bits: int) -> None:
        self.bits = bits
        self.region = region
        self.source = region.source
        self.unit = unit
        above = region.loop.lineno if region.function is None else None
        self.np, self.import_ = import_edit(region.source, "numpy", "np", above=above)
        self.taken: set[str] = {self.np}
        self.nest = self._part_of(nest)
        self.whole = nest
        self.results = self._free(_plural(unit.name), private=region.function is None)
        name = self._free(f"{unit.name}_lanes")
        self.function = LaneFunction(self.nest, unit, self.source, self.np, name, bits)

    def _free(self, wanted: str, *, private: bool = False) -> str:
        name = free_name(self.source, ("_" if private else "") + wanted, self.taken)
        self.taken.add(name)
        return name

    def _part_of(self, nest: Nest) -> Nest:
        """The nest of the lanes alone."""
        body = tuple(_plain(s) for s in self.unit.steps)
        for loop in reversed(self.unit.loops):
            body = (replace(loop, body=body),)
        root = body[0]
        assert isinstance(root, For)
        read = _arrays(root)
        for name in sorted(read & (nest.made | nest.grown)):
            raise NotVectorisable(f"the loop makes or grows the list {name}")
        if nest.text:
            raise NotVectorisable("text in the loop")
        used = {n for s in flat((root,)) for e in own_expressions(s) for n in reads(e)}
        return replace(
            nest,
            root=root,
            arrays={name: info for name, info in nest.arrays.items() if name in read},
            scalars={name: info for name, info in nest.scalars.items() if name in used},
            made=frozenset(),
            grown=frozenset(),
            live_out=frozenset(),
        )

    # ------------------------------------------------------------------ checks
    def _tests(self) -> tuple[list[str], list[Condition]]:
        """What must hold in front of the loop. Raises NotVectorisable."""
        own = local_names(self.region.function)
        for name in sorted(_BUILT_IN):
            if name in own or module_of(self.source).bound(name):
                raise NotVectorisable(f"{name} means something else here")
        for info in self.nest.arrays.values():
            _check_array(info)
        assert isinstance(self.nest.root, For)
        session = Session(
            self.nest, self.nest.root, self.source, self.np, frozenset(), {}, Facts(self.nest)
        )
        tests, ledger = guards(session)
        more = [*self._sizes(), *self._apart(session)]
        for test in more:
            if test not in tests:
                tests.append(test)
                ledger.append(Condition(test, Basis.OBSERVED, guarded=True))
        return tests, ledger

    def _sizes(self) -> list[str]:
        """Integers are small enough for what is known of their products."""
        tests = []
        for name, scalar in self.nest.scalars.items():
            if scalar.type.kind is not Kind.INT or scalar.literal is not None or scalar.equals:
                continue
            low, high = scalar.interval.low, scalar.interval.high
            if low is None or high is None or max(-low, high) >= 2**self.bits:
                raise NotVectorisable(f"{name} may be a large integer")
            tests.append(f"abs({name}) < 2**{self.bits}")
        return tests

    def _apart(self, session: Session) -> list[str]:
        """Nothing that the lanes read is written in the loop. Raises NotVectorisable."""
        tests = []
        for statement in statements((self.whole.root,)):
            if not isinstance(statement, Store | Append | AppendRow | NewList):
                continue
            name = statement.array
            for other, info in self.nest.arrays.items():
                stored = self.whole.arrays[name]
                if name == other or other in stored.aliases:
                    text = f"{other} changes in the loop that reads it"
                    raise NotVectorisable(text, statement.line)
                made = stored.allocation or info.allocation or name in self.whole.made
                if not made:
                    tests += apart(session, name, other, stored, info)
        return list(dict.fromkeys(tests))

    # ------------------------------------------------------------------- text
    def match(self) -> Match:
        """The rewrite. Raises NotVectorisable."""
        tests, ledger = self._tests()
        text = self.function.text()
        lines = self._loop_lines(tests)
        top = top_level_statement(self.source, self.region.loop)
        offset, block = functions_block(self.source, top, [text])
        # the import above the function, of which the decorator is evaluated at once
        edits = [self.import_] if self.import_ is not None else []
        edits.append(Edit(offset, offset, block))
        edits.append(replace_statement(self.source, self.region.loop, lines))
        exactness = Exactness.BITS
        if self.function.writing.last_digit:
            exactness = Exactness.LAST_DIGIT
            assert isinstance(self.nest.root, For)
            line = deciding_line(self.nest.root, exact_powers=True)
            if line is not None:
                what = "no decision hangs on the last digit of a library function's result"
                ledger.append(Condition(what, Basis.ASSUMED, f"line {line}"))
        first, last = self.region.lines
        ledger.append(
            Condition(
                f"what is computed first needs nothing of the iterations before: {self.unit.name}",
                Basis.PROVED,
                f"lines {first}-{last}",
            )
        )
        return Match(
            edits=tuple(edits),
            why="every iteration has a loop of its own, of which the interpreter runs every "
            "operation on single numbers",
            change=f"{self.unit.name} of many iterations at once, by arrays of those that are "
            "still running; the loop takes the values in its order",
            needs=frozenset({"numpy"}),
            ledger=tuple(ledger),
            exactness=exactness,
            differences=self._differences(),
        )

    def _differences(self) -> tuple[str, ...]:
        if self.region.function is not None:
            return ()
        dropped = [self.unit.place, *idle(self.region, self.whole, self.unit)]
        inside = {
            n.id
            for node in dropped
            for n in ast.walk(node)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        gone = sorted(inside - set(self.unit.outputs))
        if not gone:
            return ()
        return (f"nothing in this file reads {', '.join(gone)} after the loop: not set as before",)

    # ------------------------------------------------------------------- loop
    def _loop_lines(self, tests: Sequence[str]) -> list[str]:
        call = f"{self.results} = {self.function.name}({', '.join(self.function.parameters)})"
        failing = "except (ArithmeticError, IndexError):"
        if tests:
            lines = [
                f"{self.results} = None",
                *condition_lines(tests),
                "    try:",
                f"        {call}",
            ]
            lines += [f"    {failing}", "        pass  # Python's own loop raises in its place"]
        else:
            lines = ["try:", f"    {call}", failing]
            lines += [f"    {self.results} = None  # Python's own loop raises in its place"]
        lines += [f"if {self.results} is not None:", self._reading(), "else:"]
        return [*lines, reindent(self.source, self.region.loop, 1)]

    def _reading(self) -> str:
        """The user's loop, with the next value in the place of its computation."""
        place = self.unit.place
        value = f"next({self.results})"
        if isinstance(place, ast.Call):
            edits = [Edit(*self.source.span(place), value)]
        else:
            line = f"{', '.join(self.unit.outputs)} = {value}"
            edits = [replace_statement(self.source, place, [line])]
        for statement in idle(self.region, self.whole, self.unit):
            edits.append(without(self.source, statement))
        source = Source(self.source.path, apply_edits(self.source, edits))
        at = self.region.loop.lineno, self.region.loop.col_offset
        loop = next(
            n for n in source.nodes if isinstance(n, ast.For) and (n.lineno, n.col_offset) == at
        )
        return reindent(source, loop, 1)


def _plural(name: str) -> str:
    return f"all_{name}" if name.endswith("s") else f"{name}s"


def _plain(statement: Stmt) -> Stmt:
    if isinstance(statement, Selected):
        return If(statement.line, statement.node, statement.test, (), ())
    return statement


def _arrays(root: For) -> frozenset[str]:
    exprs = [e for s in flat((root,)) for e in own_expressions(s)]
    found = (part for expr in exprs for part in walk(expr))
    return frozenset(part.array for part in found if isinstance(part, Load | Dim))


def _check_array(info: ArrayInput) -> None:
    if info.container not in ("ndarray", "list", "tuple") or info.element.kind is Kind.COMPLEX:
        raise NotVectorisable(f"{info.name} is a {info.container} of {info.element}")
    if info.element.dtype not in _TYPES or (info.container != "ndarray" and info.ndim > 2):
        raise NotVectorisable(f"{info.name} holds {info.element}")

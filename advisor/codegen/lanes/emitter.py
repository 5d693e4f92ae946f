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
    Expr,
    For,
    If,
    Kind,
    Load,
    Nest,
    NewList,
    Scalar,
    Stmt,
    Store,
    statements,
    walk,
)
from ...loopnest.scope import module_of
from ...model import Basis, Condition, Edit, Exactness, Match, Region, Source
from ...names import free_name
from ...patch import apply_edits, import_edit, replace_statement
from ..chained import condition_lines
from ..nb_text import functions_block, top_level_statement
from ..numpy_backend.guarding import apart, guards
from ..numpy_backend.inexact import deciding_line
from ..numpy_backend.known import Facts
from ..numpy_backend.layout import wrapped
from ..numpy_backend.normal import NotVectorisable
from ..numpy_backend.session import Session
from ..numpy_backend.values import dtype_text, natural_dtype
from .bounds import GIVEN, TOO_LARGE, Bounds, Range
from .complexes import parts
from .expressions import Writing
from .flow import Arranger, Selected, flat, own_expressions
from .idle import idle, without
from .names import Names, range_text
from .unit import Unit
from .values import Num, Pair, Val, number
from .writer import Writer

log = logging.getLogger("gpuadvise.codegen")

BLOCK = 32768
"""Lanes at a time: what they need fits into the cache."""
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
        self.function = self._free(f"{unit.name}_lanes")
        self.writing = Writing(self.nest, self.np, self._local)
        self.parameters: dict[str, str] = {}
        """The user's name -> the parameter's."""

    def _free(self, wanted: str, *, private: bool = False) -> str:
        name = free_name(self.source, ("_" if private else "") + wanted, self.taken)
        self.taken.add(name)
        return name

    def _local(self, wanted: str) -> str:
        """A name inside the new function; those of the module that it reads are no variables."""
        wanted = wanted if wanted.isidentifier() else "value"
        name, number = wanted, 1
        while name in self.taken or name in self.hidden:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name

    @property
    def hidden(self) -> frozenset[str]:
        """Names that the function must not have as variables."""
        used = {n for names in (self.whole.modules,) for n in names}
        return module_of(self.source).identifiers & (used | _constants(self.unit.steps)) | {
            "range", "len", "min", "max", "abs", "list", "zip", "float", "int", "bool", "iter",
        }  # fmt: skip

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
        text = self._function_text()
        lines = self._loop_lines(tests)
        top = top_level_statement(self.source, self.region.loop)
        offset, block = functions_block(self.source, top, [text])
        # the import above the function, of which the decorator is evaluated at once
        edits = [self.import_] if self.import_ is not None else []
        edits.append(Edit(offset, offset, block))
        edits.append(replace_statement(self.source, self.region.loop, lines))
        exactness = Exactness.BITS
        if self.writing.last_digit:
            exactness = Exactness.LAST_DIGIT
            assert isinstance(self.nest.root, For)
            line = deciding_line(self.nest.root)
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
            why="Every iteration has a loop of its own, of which the interpreter runs every "
            "operation on single numbers.",
            change=f"{self.unit.name} of many iterations at once, by arrays of those that are "
            "still running; the loop takes the values in its order.",
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

    def _function_text(self) -> str:
        w = self.writing
        names = self._names()
        head = list(self._conversions(names))
        found = self._local("found")
        w.level = 1
        w.lines = []
        body = self._blocks(names)
        steps = Arranger().body(self.unit.steps)
        bounds = Bounds(self._ranges(), self.bits)
        bounds.run(steps)
        Writer(w, bounds).sequence(steps, names, frozenset(self.unit.outputs))
        lines = [*body, *w.lines, *self._collected(found, names)]
        doc = f'"""{self._doc()}"""'
        parameters = ", ".join(self.parameters.values())
        text = [*self._decorator(), f"def {self.function}({parameters}):", f"    {doc}"]
        text += [f"    {line}" for line in (*head, f"{found} = []")]
        text += [part for line in lines for part in wrapped(f"    {line}", 0)]
        text.append(f"    return iter({found})")
        return "\n".join(text)

    def _doc(self) -> str:
        what = ", ".join(name.strip("_") for name in self.unit.outputs)
        if isinstance(self.unit.place, ast.Call):
            what = f"{self.unit.name}()"
        return f"{what} of every iteration in order; those that are done leave the arrays."

    def _decorator(self) -> list[str]:
        w = self.writing
        kinds = ["divide", "invalid", "over"]
        if not (w.floats or w.raising):
            return []
        if not w.raising:
            return [f'@{self.np}.errstate(all="ignore")']
        given = [f'{k}="{"raise" if k in w.raising else "ignore"}"' for k in kinds]
        return [f"@{self.np}.errstate({', '.join(given)})"]

    def _names(self) -> Names:
        """What the lanes know from outside."""
        values: dict[str, Val] = {}
        arrays: dict[str, str] = {}
        self.parameters = {}
        for name in self.nest.arrays:
            arrays[name] = self.parameters[name] = self._local(name.replace(".", "_"))
        for name, scalar in self.nest.scalars.items():
            if name in self.nest.privates:
                raise NotVectorisable(f"each iteration needs the {name} of the one before")
            self.parameters[name] = self._local(name.replace(".", "_"))
            value = number(self.parameters[name], scalar.type.kind)
            values[name] = parts(value) if scalar.type.kind is Kind.COMPLEX else value
        return Names(values, "", arrays, self.nest)

    def _conversions(self, names: Names) -> list[str]:
        lines = []
        for name, info in self.nest.arrays.items():
            text = names.arrays[name]
            dtype = natural_dtype(info.element)
            if info.container != "ndarray":
                lines.append(
                    f"{text} = {self.np}.array({text}, dtype={dtype_text(self.np, dtype)})"
                )
            if info.element.kind is Kind.INT:
                bound = f"2**{self.bits}"
                lines.append(f"if {text}.size and {self.np}.abs({text}).max() >= {bound}:")
                lines.append('    raise OverflowError("a large integer")')
        return lines

    def _bound(self, expr: Expr, names: Names) -> str:
        from .expressions import Expressions

        return Expressions(self.writing, names).number(expr).text

    def _blocks(self, names: Names) -> list[str]:
        """The head of the loop over blocks of lanes, and the indices in each."""
        if len(self.unit.loops) == 1:
            return self._one_range(self.unit.loops[0], names)
        first, place = self._local("first"), self._local("place")
        sizes, lines, indices = [], [], []
        for loop in self.unit.loops:
            low, high = self._bound(loop.start, names), self._bound(loop.stop, names)
            size = self._local(f"{loop.index.strip('_')}_count")
            lines.append(f"{size} = len({range_text(low, high, loop.step)})")
            sizes.append(size)
            index = self._index(loop, names)
            indices.append((index, low, loop.step))
        total = " * ".join(sizes)
        lines.append(f"for {first} in range(0, {total}, {BLOCK}):")
        lines.append(f"    {place} = {self.np}.arange({first}, min({first} + {BLOCK}, {total}))")
        targets = ", ".join(index for index, _, _ in indices)
        lines.append(f"    {targets} = {self.np}.unravel_index({place}, ({', '.join(sizes)}))")
        for index, low, step in indices:
            if (low, step) != ("0", 1):
                times = index if step == 1 else f"{step} * {index}"
                lines.append(
                    f"    {index} = {low} + {times}" if low != "0" else f"    {index} = {times}"
                )
        names.size = f"{place}.size"
        return lines

    def _one_range(self, loop: For, names: Names) -> list[str]:
        low, high = self._bound(loop.start, names), self._bound(loop.stop, names)
        first, index = self._local("first"), self._index(loop, names)
        names.size = f"{index}.size"
        step, jump = loop.step, BLOCK * loop.step
        pick = "min" if step > 0 else "max"
        behind = f"{first} + {jump}" if step > 0 else f"{first} - {-jump}"
        more = "" if step == 1 else f", {step}"
        return [
            f"for {first} in range({low}, {high}, {jump}):",
            f"    {index} = {self.np}.arange({first}, {pick}({behind}, {high}){more})",
        ]

    def _index(self, loop: For, names: Names) -> str:
        index = self._local(loop.index.strip("_") or "index")
        names.python[loop.index] = index
        names.values[loop.index] = number(index, Kind.INT, True)
        return index

    def _ranges(self) -> dict[str, Range]:
        known: dict[str, Range] = {}
        for name, scalar in self.nest.scalars.items():
            if isinstance(scalar.literal, int):
                known[name] = (int(scalar.literal), int(scalar.literal))
        for loop in self.unit.loops:
            ends = [Bounds(known, self.bits).of(e) for e in (loop.start, loop.stop)]
            if ends[0] is None or ends[1] is None:
                raise NotVectorisable("the bounds of a loop are no integers", loop.line)
            low, high = ends[0], ends[1]
            known[loop.index] = min(low[0], high[0]), max(low[1], high[1])
        return known

    def _collected(self, found: str, names: Names) -> list[str]:
        writer = Writer(self.writing, Bounds({}, self.bits))
        texts = []
        for name in self.unit.outputs:
            value = writer.wide(names.value(name, self.region.loop.lineno), names.size)
            texts.append(_listed(value, self.nest.privates[name]))
        if len(texts) == 1:
            return [f"    {found} += {texts[0]}"]
        return [f"    {found} += zip({', '.join(texts)})"]

    # ------------------------------------------------------------------- loop
    def _loop_lines(self, tests: Sequence[str]) -> list[str]:
        call = f"{self.results} = {self.function}({', '.join(self.parameters)})"
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


def _constants(steps: Sequence[Stmt]) -> set[str]:
    """Names of constants in the text."""
    from ...loopnest.ir import Const

    found = (p for s in flat(steps) for e in own_expressions(s) for p in walk(e))
    return {part.name for part in found if isinstance(part, Const) and part.name}


def _check_array(info: ArrayInput) -> None:
    if info.container not in ("ndarray", "list", "tuple") or info.element.kind is Kind.COMPLEX:
        raise NotVectorisable(f"{info.name} is a {info.container} of {info.element}")
    if info.element.dtype not in _TYPES or (info.container != "ndarray" and info.ndim > 2):
        raise NotVectorisable(f"{info.name} holds {info.element}")


def _listed(value: Val, kind: Scalar) -> str:
    """The elements as the objects that the loop had."""
    if isinstance(value, Pair):
        real, imag = (f"{_atom(part)}.tolist()" for part in (value.real, value.imag))
        return f"map(complex, {real}, {imag})"
    if kind.dtype is not None:
        return f"list({value.text})"
    return f"{_atom(value)}.tolist()"


def _atom(value: Num) -> str:
    return value.at(20)

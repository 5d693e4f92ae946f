"""The function that computes what all lanes need, block by block."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...loopnest.ir import Const, Expr, For, Kind, Nest, Scalar, Stmt, walk
from ...loopnest.scope import module_of
from ...model import Source
from ..numpy_backend.layout import wrapped
from ..numpy_backend.normal import NotVectorisable
from ..numpy_backend.values import ATOM, dtype_text, natural_dtype
from .bounds import Bounds, Range, counted
from .complexes import parts
from .expressions import Expressions, Writing
from .flow import Arranger, flat, own_expressions
from .names import Names, range_text
from .unit import Unit
from .values import Num, Pair, Val, number
from .writer import Writer

BLOCK = 32768
"""Lanes at a time: what they need fits into the cache."""
MOST = "2**24"
"""Values that are kept until the loop takes them: half a gigabyte."""
BUILT_IN = frozenset((
    "range", "len", "min", "max", "abs", "list", "zip", "float", "int", "bool", "iter", "map",
    "complex", "OverflowError",
))  # fmt: skip
"""Python's own names in the text of the function."""


class LaneFunction:
    """The text of the function for one unit."""

    def __init__(
        self, nest: Nest, unit: Unit, source: Source, np: str, name: str, bits: int
    ) -> None:
        self.nest = nest
        self.unit = unit
        self.source = source
        self.np = np
        self.name = name
        self.bits = bits
        self.taken = {np, name}
        self.writing = Writing(nest, np, self._local, module_of(source).bound)
        self.parameters: dict[str, str] = {}
        """The user's name -> the parameter's."""

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
        used = set(self.nest.modules)
        return frozenset(used | _constants(self.unit.steps)) | BUILT_IN

    def text(self) -> str:
        """The function's lines. Raises NotVectorisable."""
        w = self.writing
        names = self._names()
        head = list(self._conversions(names))
        found = self._local("found")
        w.level = 1
        body = self._blocks(names)
        steps = Arranger().body(self.unit.steps)
        bounds = Bounds(self._ranges(), self.bits)
        bounds.run(steps)
        Writer(w, bounds).sequence(steps, names, frozenset(self.unit.outputs))
        lines = [*body, *w.lines, *self._collected(found, names)]
        doc = f'"""{self._doc()}"""'
        parameters = ", ".join(self.parameters.values())
        text = [*self._decorator(), f"def {self.name}({parameters}):", f"    {doc}"]
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
        lines += _at_most(total)
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
            *_at_most(f"len({range_text(low, high, step)})"),
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
            known[loop.index] = counted(ends[0], ends[1], loop.step)
        return known

    def _collected(self, found: str, names: Names) -> list[str]:
        writer = Writer(self.writing, Bounds({}, self.bits))
        texts = []
        for name in self.unit.outputs:
            value = writer.wide(names.value(name, self.unit.loops[0].line), names.size)
            texts.append(_listed(value, self.nest.privates[name]))
        if len(texts) == 1:
            return [f"    {found} += {texts[0]}"]
        return [f"    {found} += zip({', '.join(texts)})"]


def _at_most(count: str) -> list[str]:
    return [f"if {count} > {MOST}:", '    raise OverflowError("too many values to keep")']


def _constants(steps: Sequence[Stmt]) -> set[str]:
    """Names of constants in the text."""
    found = (p for s in flat(steps) for e in own_expressions(s) for p in walk(e))
    return {part.name for part in found if isinstance(part, Const) and part.name}


def _listed(value: Val, kind: Scalar) -> str:
    """The elements as the objects that the loop had."""
    if isinstance(value, Pair):
        if kind.dtype is not None:
            raise NotVectorisable(f"numbers of the type {kind} leave the inner loop")
        real, imag = (f"{_atom(part)}.tolist()" for part in (value.real, value.imag))
        return f"map(complex, {real}, {imag})"
    if kind.dtype is not None:
        return f"list({value.text})"
    return f"{_atom(value)}.tolist()"


def _atom(value: Num) -> str:
    return value.at(ATOM)

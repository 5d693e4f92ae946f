"""Variables of the new function: given a value, widened to arrays, written into lanes' places."""

from __future__ import annotations

from collections.abc import Iterable

from ...loopnest.ir import Kind, Scalar
from ..numpy_backend.normal import NotVectorisable
from ..numpy_backend.values import natural_dtype
from .bounds import Bounds
from .expressions import Writing
from .names import Names, all_vector, plain, words
from .values import Num, Pair, Val, as_float, as_int, number


class Slots:
    """Writes single assignments."""

    def __init__(self, writing: Writing, bounds: Bounds) -> None:
        self.w = writing
        self.np = writing.np
        self.bounds = bounds

    def assign(self, names: Names, name: str, value: Val) -> None:
        """Give a scalar its value."""
        value = self.fitting(name, value)
        target = names.python.setdefault(name, self.w.fresh(plain(name)))
        names.values[name] = self.put(target, value)

    def put(self, target: str, value: Val) -> Val:
        """Write the assignment of a variable, two of a complex number; the value it has then."""
        if isinstance(value, Num):
            self.w.line(f"{target} = {value.text}")
            return number(target, value.kind, value.vector)
        real, imag = f"{target}_real", f"{target}_imag"
        lines = [f"{real} = {value.real.text}", f"{imag} = {value.imag.text}"]
        if real in words(value.imag.text):
            lines.reverse()
        if imag in words(value.real.text) and real in words(value.imag.text):
            new = self.w.fresh(f"new_{real}")
            lines = [f"{new} = {value.real.text}", lines[0], f"{real} = {new}"]
        for line in lines:
            self.w.line(line)
        return Pair(
            number(real, Kind.FLOAT, value.real.vector), number(imag, Kind.FLOAT, value.imag.vector)
        )

    def fitting(self, name: str, value: Val) -> Val:
        """The value in the type that the scalar has."""
        kind = self.w.nest.privates.get(name, Scalar(Kind.BOOL)).kind
        if isinstance(value, Pair) or value.kind is kind:
            return value
        if kind is Kind.FLOAT:
            return as_float(as_int(value, self.np), self.np)
        if kind is Kind.INT and value.kind is Kind.BOOL:
            return as_int(value, self.np)
        raise NotVectorisable(f"the type of {name} differs between paths")

    def wide(self, value: Val, size: str) -> Val:
        """The value with one element a lane."""
        if isinstance(value, Pair):
            real, imag = self.wide(value.real, size), self.wide(value.imag, size)
            assert isinstance(real, Num) and isinstance(imag, Num)
            return Pair(real, imag)
        if value.vector:
            return value
        text = f"{self.np}.full({size}, {value.text})"
        return number(text, value.kind, True)

    def widen(self, names: Names, wanted: Iterable[str]) -> None:
        """Let these scalars be arrays of their own."""
        for name in sorted(wanted):
            value = names.values.get(name)
            if value is not None and not (all_vector(value) and name in names.python):
                self.assign(names, name, self.wide(value, names.size))

    def as_before(
        self, names: Names, before: dict[str, Val], wanted: frozenset[str], line: int
    ) -> None:
        """At the end of a loop's body: what goes on has the names that it had at the head."""
        for name in sorted(wanted & before.keys()):
            old, new = before[name], names.values.get(name)
            if new is None or (new.vector and not old.vector):
                raise NotVectorisable(f"{name} differs between lanes", line)
            self._rebind(old, self.wide(new, names.size) if old.vector else new)
            names.values[name] = old

    def _rebind(self, old: Val, new: Val) -> None:
        if isinstance(old, Pair):
            assert isinstance(new, Pair)
            self._rebind(old.real, new.real)
            self._rebind(old.imag, new.imag)
        elif isinstance(new, Num) and new.text != old.text:
            self.w.line(f"{old.text} = {new.text}")

    def own(self, names: Names, wanted: frozenset[str], head: frozenset[str]) -> None:
        """Names of their own for what a loop changes, and arrays for what differs in it."""
        for name in sorted(wanted):
            value = names.values[name]
            if name in head:
                value = self.wide(value, names.size)
            target = names.python.setdefault(name, self.w.fresh(plain(name)))
            first = value.real.text if isinstance(value, Pair) else value.text
            if first not in (target, f"{target}_real"):
                names.values[name] = self.put(target, value)

    def room(self, names: Names, name: str, value: Val | None) -> Val:
        """A new array for the values of all lanes, with those they have so far."""
        target = self.w.fresh(f"final_{plain(name)}")
        kind = self.w.nest.privates.get(name, Scalar(Kind.BOOL))
        if kind.kind is Kind.COMPLEX:
            real, imag = (value.real, value.imag) if isinstance(value, Pair) else (None, None)
            return Pair(
                self._filled(f"{target}_real", names.size, real, "float64"),
                self._filled(f"{target}_imag", names.size, imag, "float64"),
            )
        assert value is None or isinstance(value, Num)
        dtype = natural_dtype(Scalar(kind.kind))
        return self._filled(target, names.size, value, dtype)

    def _filled(self, target: str, size: str, value: Num | None, dtype: str) -> Num:
        kind = {"float64": Kind.FLOAT, "int64": Kind.INT, "bool": Kind.BOOL}[dtype]
        text = "bool" if dtype == "bool" else f"{self.np}.{dtype}"
        if value is None:
            self.w.line(f"{target} = {self.np}.empty({size}, dtype={text})")
        elif value.vector:
            copied = ".copy()" if value.text.isidentifier() else ""
            self.w.line(f"{target} = {value.text}{copied}")
        else:
            self.w.line(f"{target} = {self.np}.full({size}, {value.text}, dtype={text})")
        return number(target, kind, True)

    def store(self, full: Val, where: str, value: Val) -> None:
        """Write values into their lanes' places."""
        if isinstance(full, Pair):
            assert isinstance(value, Pair)
            self.store(full.real, where, value.real)
            self.store(full.imag, where, value.imag)
            return
        assert isinstance(full, Num) and isinstance(value, Num)
        self.w.line(f"{full.text}[{where}] = {value.text}")

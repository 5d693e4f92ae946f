"""What a compiled loop hands back, with the types of the original, and the ledger of its proof."""

from __future__ import annotations

from ..loopnest.ir import Kind, Nest, Scalar
from ..model import Basis, Condition, Region
from .nb_analyse import Analysed
from .nb_guards import type_name
from .nb_parallel import only_exceeded
from .nb_state import State
from .nb_text import Names
from .nb_values import Num


class Results:
    """The types of live-out scalars, which compiled code does not keep, and words."""

    region: Region
    found: Analysed
    state: State
    parallel: bool

    # --------------------------------------------------------------- results
    def _flavoured(self) -> bool:
        return any(self._flavour(n, n, None) != n for n in self.found.live_out)

    def _flavour(self, path: str, text: str, names: Names | None) -> str:
        """The type of the original: compiled code returns Python numbers only."""
        value = self.found.env[path]
        assert isinstance(value, Num)
        result = text
        if not value.type.is_python:
            result = f"{type_name(value.type, names.numpy if names else 'np')}({text})"
        if names and value.also and (self._keeps_entry(path) or self._needs_flag(path)):
            old = names.params[path]
            if self._keeps_entry(path):
                # Nothing exceeds NaN, which is not equal to itself either.
                return f"{old} if {text} == {old} or {old} != {old} else {result}"
            return f"{result} if {old}_set else {old}"
        return result

    def _undecided(self, path: str) -> bool:
        """The type after the loop hangs on whether an iteration assigned it."""
        value = self.found.env[path]
        return isinstance(value, Num) and bool(value.also)

    def _keeps_entry(self, path: str) -> bool:
        """``worst = max(worst, d)``: the value at entry, with its type, if nothing exceeds it."""
        entry, value = self.found.entry.get(path), self.found.env[path]
        if not isinstance(entry, Num) or not isinstance(value, Num):
            return False
        assigned = self.state.assigned_types.get(path, frozenset()) - entry.types
        return assigned == {value.type} and only_exceeded(self.region.loop, path)

    def _needs_flag(self, path: str) -> bool:
        """``if near: energy += e[i]``: all assignments give one type, if there is one."""
        value = self.found.env[path]
        if not isinstance(value, Num) or not self._undecided(path) or self._keeps_entry(path):
            return False
        return self.state.assigned_types.get(path, frozenset()) == {value.type}

    def _result_names(self, returns: tuple[str, ...]) -> tuple[str, ...]:
        """Results whose old value is still needed get names of their own."""
        names = []
        for path, name in zip(self.found.live_out, returns, strict=True):
            kept = self._keeps_entry(path) or self._needs_flag(path)
            names.append(f"new_{name}" if kept and self._undecided(path) else name)
        return tuple(names)

    def _with_flavour(self, call: str, names: Names) -> str:
        return self._flavour(self.found.live_out[0], call, names)

    # ----------------------------------------------------------------- words
    def _change(self, kernel: str) -> str:
        how = "in parallel threads" if self.parallel else "as one serial loop nest"
        return f"the loop becomes {kernel}(), compiled by numba {how}"

    def _ledger(self) -> list[Condition]:
        found: list[Condition] = [
            Condition("Python ints stay within 64 bits", Basis.PROVED, "ranges of all expressions")
        ]
        if self.state.unchecked is None:
            found.append(Condition("every index is in bounds", Basis.PROVED, "symbolic bounds"))
        else:
            line = f"line {self.state.unchecked.lineno}"
            found.append(Condition("indices are checked by the compiled code", Basis.PROVED, line))
        if any(v.kind is Kind.INT or v.kind is Kind.FLOAT for v in self._numpy_types()):
            found.append(
                Condition(
                    "only NumPy's warnings (overflow, invalid value) are not shown",
                    Basis.PROVED,
                    "numba",
                )
            )
        for name in self.found.live_out:
            if self._undecided(name) and not self._keeps_entry(name) and not self._needs_flag(name):
                value = self.found.env[name]
                assert isinstance(value, Num)
                # d = 0.0 .. d = max(d, a[i]): float or float64, as the data have it
                text = f"{name} is {value.type} after the loop"
                found.append(Condition(text, Basis.ASSUMED))
        return found

    def _numpy_types(self) -> list[Scalar]:
        nest = self.region.nest
        assert isinstance(nest, Nest)
        return [a.element for a in nest.arrays.values() if not a.element.is_python]

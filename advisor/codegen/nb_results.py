"""What a compiled loop hands back, with the types of the original, and the ledger of its proof."""

from __future__ import annotations

from collections.abc import Mapping

from ..loopnest.ir import CHAR, Interval, Kind, Nest, Scalar
from ..model import Basis, Condition, Region
from .nb_analyse import Analysed
from .nb_bounded import KEY as BOUNDED
from .nb_guards import type_name
from .nb_state import State
from .nb_text import Names
from .nb_types import Flagged, Kept, Open, TypeAfter, type_after
from .nb_values import Num, Unsupported, compiled
from .text_edge import is_one_character, text_again


class Results:
    """The types of live-out scalars, which compiled code does not keep, and words."""

    region: Region
    found: Analysed
    state: State
    parallel: bool

    # --------------------------------------------------------------- results
    def _type_after(self, path: str) -> TypeAfter | None:
        return type_after(self.region, self.found, path)

    def _refuse_unknown_types(self) -> None:
        """Raise Unsupported where not even the kind of a result is known."""
        for path in self.found.live_out:
            if self._type_after(path) == Open(mixed=True):
                value = self.found.env[path]
                assert isinstance(value, Num)
                held = " or ".join(sorted(map(str, value.types)))
                text = f"{path} is {held} after the loop, as the data have it"
                raise Unsupported(text, self.region.loop.lineno, "give it one type from the start")

    def _flavoured(self) -> bool:
        return any(self._flavour(n, n, None) != n for n in self.found.live_out)

    def _flavour(
        self, path: str, text: str, names: Names | None, flags: Mapping[str, str] | None = None
    ) -> str:
        """The type of the original: compiled code returns Python numbers only."""
        value = self.found.env[path]
        assert isinstance(value, Num)
        numpy = names.numpy if names else "np"
        after = self._type_after(path)
        if after is None or isinstance(after, Open) or names is None:
            type_ = value.type if after is None or isinstance(after, Open) else after.other
            nest = self.region.nest
            words = nest.words if isinstance(nest, Nest) else ()
            return _converted(text, type_, value, numpy, words)
        old = names.params[path]
        new = _converted(text, after.other, value, numpy)
        if isinstance(after, Kept):
            # Nothing exceeds NaN, which is not equal to itself either.
            return f"{old} if {text} == {old} or {old} != {old} else {new}"
        own = _converted(text, after.own, value, numpy) if after.changes else old
        assert flags is not None
        return f"{new} if {flags[path]} else {own}"

    def _needs_flag(self, path: str) -> bool:
        """``if near: energy += e[i]``: all assignments give one type, if there is one."""
        return isinstance(self._type_after(path), Flagged)

    def _named_text(self) -> bool:
        """Some result is text that needs a name to be made text again."""
        values = (self.found.env[path] for path in self.found.live_out)
        return any(
            isinstance(v, Num) and v.type == CHAR and not is_one_character(_room(v)) for v in values
        )

    def _result_names(self, returns: tuple[str, ...]) -> tuple[str, ...]:
        """Results whose old value is still needed get names of their own."""
        names = []
        for path, name in zip(self.found.live_out, returns, strict=True):
            after = self._type_after(path)
            kept = isinstance(after, Kept) or (isinstance(after, Flagged) and not after.changes)
            new = f"new_{name}"
            while new in self.found.env or new in self.found.entry:
                new += "_"  # worst and new_worst may both be results
            names.append(new if kept else name)
        return tuple(names)

    def _with_flavour(self, call: str, names: Names) -> str:
        return self._flavour(self.found.live_out[0], call, names)

    # ----------------------------------------------------------------- words
    def _change(self, kernel: str) -> str:
        how = "in parallel threads" if self.parallel else "as one serial loop nest"
        return f"the loop becomes {kernel}(), compiled by numba {how}"

    def _ledger(self) -> list[Condition]:
        steps = "fewer than 2**46 steps, and elements: compiled code takes a day for them"
        bits = self.state.checked.get(BOUNDED)
        how = "ranges of all expressions"
        if bits is not None:
            how += f"; those stored are looked at: beyond 2**{bits} the loop in Python runs"
        found: list[Condition] = [
            Condition("Python ints stay within 64 bits", Basis.PROVED, how, given=steps)
        ]
        if self.state.unchecked is None:
            found.append(Condition("every index is in bounds", Basis.PROVED, "symbolic bounds"))
        else:
            line = f"line {self.state.unchecked.lineno}"
            found.append(Condition("indices are checked by the compiled code", Basis.PROVED, line))
        for name in self.found.live_out:
            if isinstance(self._type_after(name), Open):
                value = self.found.env[name]
                assert isinstance(value, Num)
                # d = 0.0 .. d = max(d, a[i], k): float or float64, as the data have it
                text = f"{name} is {value.type} after the loop"
                found.append(Condition(text, Basis.ASSUMED))
        return found

    def _differences(self) -> tuple[str, ...]:
        if any(v.kind is Kind.INT or v.kind is Kind.FLOAT for v in self._numpy_types()):
            return ("NumPy's warnings (overflow, invalid value, division by zero) are not shown",)
        return ()

    def _numpy_types(self) -> list[Scalar]:
        nest = self.region.nest
        assert isinstance(nest, Nest)
        return [a.element for a in nest.arrays.values() if not a.element.is_python]


def _room(value: Num) -> Interval:
    return Interval(value.low, value.high)


def _converted(
    text: str, type_: Scalar, value: Num, numpy: str, words: tuple[str, ...] = ()
) -> str:
    """A compiled result as a number of the type."""
    if type_ == CHAR:
        return text_again(text, _room(value), words)
    if not type_.is_python:
        return f"{type_name(type_, numpy)}({text})"
    if compiled(type_) == compiled(value.type):
        return text
    return f"{type_.kind}({text})"

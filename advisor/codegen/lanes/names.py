"""What the scalars of a program stand for in one set of lanes, and small texts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...loopnest.ir import Nest
from ..numpy_backend.normal import NotVectorisable
from .values import Num, Pair, Val, number


@dataclass
class Names:
    """What scalars stand for in one set of lanes."""

    values: dict[str, Val]
    size: str
    """How many lanes there are, as text."""
    arrays: dict[str, str]
    nest: Nest
    python: dict[str, str] = field(default_factory=dict)
    """The names that the scalars have here."""

    def value(self, name: str, line: int) -> Val:
        """What a scalar stands for. Raises NotVectorisable."""
        if name not in self.values:
            raise NotVectorisable(f"{name} may have no value", line)
        return self.values[name]

    def array(self, name: str) -> str:
        """The name of an array."""
        return self.arrays[name]

    def extent(self, name: str, axis: int) -> str:
        """How long an array is."""
        return f"len({self.arrays[name]})" if axis == 0 else f"{self.arrays[name]}.shape[{axis}]"

    def vectors(self) -> frozenset[str]:
        """The scalars that are arrays."""
        return frozenset(name for name, value in self.values.items() if value.vector)


def plain(name: str) -> str:
    """What a variable for the scalar may be called."""
    return name.replace(".", "_").strip("_") or "turn"


def words(text: str) -> set[str]:
    """The names in a text."""
    return set(re.findall(r"[A-Za-z_]\w*", text))


def text_of(value: Val) -> str:
    """All of the value's text."""
    return f"{value.real.text}, {value.imag.text}" if isinstance(value, Pair) else value.text


def is_short(value: Val) -> bool:
    """May be written more than once."""
    return isinstance(value, Num) and (value.text.isidentifier() or not value.vector)


def all_vector(value: Val) -> bool:
    """One element a lane, in both parts."""
    if isinstance(value, Pair):
        return value.real.vector and value.imag.vector
    return value.vector


def is_named(value: Val, own: str) -> bool:
    """The value of this variable."""
    if isinstance(value, Pair):
        return (value.real.text, value.imag.text) == (f"{own}_real", f"{own}_imag")
    return value.text == own


def vector_texts(value: Val) -> list[str]:
    """The variables with one element a lane."""
    parts = (value.real, value.imag) if isinstance(value, Pair) else (value,)
    return [part.text for part in parts if part.vector]


def elements(value: Val, where: str) -> Val:
    """The elements of some lanes."""
    if isinstance(value, Pair):
        real, imag = elements(value.real, where), elements(value.imag, where)
        assert isinstance(real, Num) and isinstance(imag, Num)
        return Pair(real, imag)
    if not value.vector:
        return value
    return number(f"{value.text}[{where}]", value.kind, True)


def range_text(low: str, high: str, step: int) -> str:
    """``range(1, n)``."""
    bounds = high if (low, step) == ("0", 1) else f"{low}, {high}"
    return f"range({bounds}{f', {step}' if step != 1 else ''})"


def power(value: int) -> str:
    """``2**40`` rather than thirteen digits."""
    if abs(value) > 4096 and abs(value) & (abs(value) - 1) == 0:
        text = f"2**{abs(value).bit_length() - 1}"
        return text if value > 0 else f"-({text})"
    return str(value)

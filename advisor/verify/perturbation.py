"""One change of a held state's inputs: a record of plain values, which can cross a socket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

SEED = 20_260


@dataclass(frozen=True)
class Perturbation:
    """One change of a state's inputs."""

    words: str
    """For the report: ``x not contiguous``."""
    kind: str = "none"
    """``none``, ``values``, ``exact``, ``whole``, ``form``, ``share``, ``axis``, ``at`` or
    ``step``, on top of the sizes."""
    change: str = ""
    slots: tuple[int, ...] = ()
    sizes: Mapping[int, int] = field(default_factory=dict)
    numbers: bool = True
    """The whole numbers that equal an extent change with it."""
    seed: int = SEED
    filled: str = ""
    """First, all arrays and lists get these values: many are still zero at the first call."""
    then: str = ""
    """Last, all arrays and lists get these values: those that their new types can hold."""
    wild: bool = False
    """Numbers so large that sums in another order may differ by more than rounding."""
    odd: bool = False
    """Nothing that a caller could mean: where the original raises an exception, another one does
    as well, and what is left half-way is no matter."""

    def plain(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "sizes": [list(pair) for pair in self.sizes.items()]}

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> Perturbation:
        """From what ``plain`` gave."""
        sizes = dict(fields["sizes"])
        return cls(**{**fields, "sizes": sizes, "slots": tuple(fields["slots"])})

    def on(self, base: Perturbation) -> Perturbation:
        """The same change of a state that has other sizes already."""
        words = f"{self.words}, {base.words}" if base.sizes else self.words
        return replace(self, words=words, sizes=base.sizes, numbers=base.numbers)

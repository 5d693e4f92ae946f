"""Other values for the inputs of a held state: within the range seen, beyond it, and special ones.

All draws follow from the content that is replaced and a fixed seed: the same state gives the same
inputs in every process, and two inputs with equal content stay equal (``b = a.copy()``).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .perturb_slots import Slot, numpy_loaded

PATTERN = 20_000
"""Longer inputs repeat the new values of their first elements."""
_MASK = (1 << 64) - 1


class Draws:
    """A small generator (splitmix64), so that no generator of the program is touched."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def bits(self) -> int:
        """64 random bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, bound: int) -> int:
        """A whole number in ``[0, bound)``."""
        return self.bits() % max(1, bound)

    def unit(self) -> float:
        """A float in ``[0, 1)``."""
        return (self.bits() >> 11) * 2.0**-53


Flat = list[Any]
Change = Callable[[Flat, Draws, "Range"], Flat]


class Range:
    """What the elements of one input may be."""

    def __init__(
        self,
        flat: Sequence[Any],
        low: int | None,
        high: int | None,
        constants: Sequence[float] = (),
    ) -> None:
        """``low``, ``high``: limits of the dtype; None for Python numbers.

        ``constants``: numbers in the program's text.
        """
        self.constants = (*constants, 0, 1, -1)
        kinds = {type(value) for value in flat}
        self.floats = bool(kinds) and kinds <= {float, complex}
        self.ints = kinds == {int}
        self.bools = kinds == {bool}
        self.least, self.most = low, high
        finite = [v for v in flat if type(v) is not complex and math.isfinite(v)] or [0]
        self.low, self.high = min(finite), max(finite)

    def fit(self, value: int) -> int:
        """The number itself, or what is nearest to it in the dtype."""
        if self.least is not None:
            value = max(value, self.least)
        return value if self.most is None else min(value, self.most)


def _within(flat: Flat, draws: Draws, seen: Range) -> Flat:
    if seen.bools:
        return [bool(draws.below(2)) for _ in flat]
    if seen.ints:
        span = seen.high - seen.low + 1
        return [seen.low + draws.below(span) for _ in flat]
    span = seen.high - seen.low
    return [_like(seen.low + draws.unit() * span, old) for old in flat]


def _like(value: float, old: Any) -> Any:
    return complex(value, value / 2) if type(old) is complex else value


def _beyond(flat: Flat, draws: Draws, seen: Range) -> Flat:
    size = max(abs(seen.low), abs(seen.high), 1)
    if seen.bools:
        return [not value for value in flat]
    if seen.ints:
        return [seen.fit(draws.below(6 * size + 1) - 3 * size) for _ in flat]
    return [_like((draws.unit() - 0.5) * 2000.0 * size, old) for old in flat]


def _extreme(flat: Flat, draws: Draws, seen: Range) -> Flat:
    if seen.bools:
        return [True for _ in flat]
    if seen.ints:
        limits = [2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**31) - 1, -1]
        return [seen.fit(limits[draws.below(len(limits))]) for _ in flat]
    return [_like((1e300, -1e300, 1e-300, 1e160)[draws.below(4)], old) for old in flat]


def _negative(flat: Flat, draws: Draws, seen: Range) -> Flat:
    if seen.bools:
        return flat
    return [seen.fit(-1 - v) if seen.ints else -v for v in flat]


def _zero(flat: Flat, draws: Draws, seen: Range) -> Flat:
    return [type(value)(0) for value in flat]


def _ones(flat: Flat, draws: Draws, seen: Range) -> Flat:
    return [type(value)(1) for value in flat]


def _equal(flat: Flat, draws: Draws, seen: Range) -> Flat:
    return [flat[0] for _ in flat]


def _sorted(flat: Flat, draws: Draws, seen: Range) -> Flat:
    return flat if complex in map(type, flat) else sorted(flat)


def _falling(flat: Flat, draws: Draws, seen: Range) -> Flat:
    return flat if complex in map(type, flat) else sorted(flat, reverse=True)


def _repeated(flat: Flat, draws: Draws, seen: Range) -> Flat:
    """Few different ones of the values, many times: duplicate indices, ties."""
    few = [flat[draws.below(len(flat))] for _ in range(3)]
    return [few[draws.below(3)] for _ in flat]


def _sprinkled(*special: float) -> Change:
    def change(flat: Flat, draws: Draws, seen: Range) -> Flat:
        if not seen.floats:
            return flat
        new = [
            _like(special[draws.below(len(special))], old) if draws.below(4) == 0 else old
            for old in flat
        ]
        # at least one, at a place that is neither first nor last where there is such a place
        new[len(new) // 2] = _like(special[0], new[len(new) // 2])
        return new

    return change


def _outlier(flat: Flat, draws: Draws, seen: Range) -> Flat:
    """One number above all that was seen: an index out of bounds, a state that does not exist."""
    if seen.bools:
        return flat
    new = list(flat)
    top = seen.high + 1 if seen.ints else seen.high * 2 + 1
    new[len(new) // 2] = seen.fit(top) if seen.ints else _like(top, new[0])
    return new


def _wrapped(flat: Flat, draws: Draws, seen: Range) -> Flat:
    """Equal to what it was in a type of 8, 16 or 32 bits: only exact results tell them apart."""
    if seen.bools:
        return flat
    more = [(256, 65536, 2**32)[draws.below(3)] if k % 2 else 0 for k in range(len(flat))]
    most = math.inf if seen.most is None else seen.most
    return [v + m if v + m <= most else v for v, m in zip(flat, more, strict=True)]


def _thresholds(flat: Flat, draws: Draws, seen: Range) -> Flat:
    """Numbers that stand in the text, where ``<`` and ``<=`` part."""
    if seen.bools:
        return flat
    wanted = [c for c in seen.constants if not seen.ints or c == int(c)]
    drawn = [wanted[draws.below(len(wanted))] for _ in flat]
    return [
        seen.fit(int(c)) if seen.ints else _like(float(c), old)
        for c, old in zip(drawn, flat, strict=True)
    ]


def _nan_first(flat: Flat, draws: Draws, seen: Range) -> Flat:
    return [_like(math.nan, flat[0]), *flat[1:]] if seen.floats else flat


ALL: dict[str, tuple[str, Change]] = {
    "within": ("random values in the range seen", _within),
    "nan": ("NaN among its values", _sprinkled(math.nan)),
    "thresholds": ("numbers that stand in the code", _thresholds),
    "wrapped": ("every other value larger by 256, 65536 or 2**32", _wrapped),
    "beyond": ("values beyond the range seen", _beyond),
    "infinite": ("infinities among its values", _sprinkled(math.inf, -math.inf)),
    "zero": ("all zero", _zero),
    "extreme": ("values near the limits of the type", _extreme),
    "repeated": ("few different values", _repeated),
    "negative": ("negative values", _negative),
    "signed zero": ("-0.0 and subnormal numbers", _sprinkled(-0.0, 0.0, 5e-324, -5e-324)),
    "outlier": ("one value above all others", _outlier),
    "equal": ("all values equal", _equal),
    "nan first": ("NaN in front", _nan_first),
    "sorted": ("sorted values", _sorted),
    "falling": ("values in falling order", _falling),
    "ones": ("all one", _ones),
}
"""Changes of the values of arrays and lists, the most telling ones first."""

WILD = frozenset(("beyond", "extreme", "infinite"))
"""Changes that make sums ill-conditioned or overflow: told apart only bit for bit."""


def change_values(slot: Slot, name: str, seed: int, constants: Sequence[float] = ()) -> bool:
    """Replace the values of an array or list, in place where possible; False if nothing changed.

    ``constants``: numbers in the program's text.
    """
    change = ALL[name][1]
    value = slot.get()
    np = numpy_loaded()
    if np is not None and isinstance(value, np.ndarray):
        return _change_array(slot, value, change, seed, constants)
    old = list(leaves(value))
    flat = [_plain(item) for item in old]
    if not flat or len({type(item) for item in old}) > 1:
        return False
    new = _pattern(flat, change, seed, Range(flat, *limits(old[0]), constants))
    if _same(new, flat):
        return False
    if type(old[0]) is not type(flat[0]):
        new = [type(old[0])(item) for item in new]
    replacement = refilled(value, iter(new))
    if replacement is not value:
        slot.put(replacement)
    return True


def limits(value: Any) -> tuple[int | None, int | None]:
    """Least and greatest of an integer array or NumPy integer; None for all else."""
    np = numpy_loaded()
    dtype = getattr(value, "dtype", None)
    if np is None or dtype is None or dtype.kind not in "iu":
        return None, None
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _plain(item: Any) -> Any:
    return item.item() if hasattr(item, "item") else item


def _pattern(flat: Flat, change: Change, seed: int, seen: Range) -> Flat:
    head = flat[:PATTERN]
    digest = hashlib.blake2b(repr(head[:1000]).encode(), digest_size=8).digest()
    draws = Draws(seed ^ int.from_bytes(digest, "little"))
    new = change(head, draws, seen)
    return [new[k % len(new)] for k in range(len(flat))] if len(flat) > PATTERN else new


def _same(new: Flat, old: Flat) -> bool:
    return repr(new) == repr(old)


def _change_array(
    slot: Slot, value: Any, change: Change, seed: int, constants: Sequence[float]
) -> bool:
    np = numpy_loaded()
    if value.size == 0:
        return False
    flat = value.reshape(-1)[:PATTERN].tolist()
    new = _pattern(flat, change, seed, Range(flat, *limits(value), constants))
    if _same(new, flat):
        return False
    with np.errstate(all="ignore"):
        filled = np.resize(np.array(new).astype(value.dtype), value.shape)
    if value.flags.writeable:
        value[...] = filled
    else:
        slot.put(filled)
    return True


def leaves(value: Any) -> Iterator[Any]:
    """The numbers of a nested list, in order."""
    for item in value:
        if isinstance(item, list | tuple):
            yield from leaves(item)
        else:
            yield item


def refilled(value: Any, new: Iterator[Any]) -> Any:
    """The same nesting with other numbers: lists in place, tuples anew."""
    items = [refilled(x, new) if isinstance(x, list | tuple) else next(new) for x in value]
    if isinstance(value, tuple):
        return type(value)(items)
    value[:] = items
    return value

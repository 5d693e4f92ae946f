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
    """Of both signs: 0.0 is not less than -0.0, and not greater."""
    if not seen.floats:
        return [type(value)(0) for value in flat]
    return [_like((0.0, -0.0)[k % 2], old) for k, old in enumerate(flat)]


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
        # What a loop begins with is often the first element: NaN there would hide all others.
        new[0] = flat[0]
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


def _beyond_doubles(flat: Flat, draws: Draws, seen: Range) -> Flat:
    """Whole numbers that float64 does not hold: it shows where they are taken for floats.

    Drawn for every input apart: a large value beside a small weight.
    """
    if not seen.ints:
        return flat
    return [seen.fit(v + 2**53 + 1) if draws.below(2) else v for v in flat]


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


def _at(place: int, special: float) -> Change:
    """One special number, first (0) or last (-1), among random ones."""

    def change(flat: Flat, draws: Draws, seen: Range) -> Flat:
        if not seen.floats:
            return flat
        new = _within(flat, draws, seen)
        new[place] = _like(special, flat[place])
        return new

    return change


def _greatest_last(flat: Flat, draws: Draws, seen: Range) -> Flat:
    """The extreme is where a scan that stops too early does not look."""
    if seen.bools:
        return [*[False for _ in flat[1:]], True]
    top = seen.fit(int(seen.high) + 1) if seen.ints else _like(abs(seen.high) * 2 + 1, flat[-1])
    return [*flat[:-1], top]


def _sparse(flat: Flat, draws: Draws, seen: Range) -> Flat:
    """Nearly all zero: what a few elements do is not hidden by their neighbours."""
    return [value if draws.below(8) == 0 else type(value)(0) for value in flat]


def _grid(step: float, least: int, most: int) -> Change:
    """Multiples of ``step``: sums that meet whole numbers, or just miss them."""

    def change(flat: Flat, draws: Draws, seen: Range) -> Flat:
        if not seen.floats:
            return flat
        return [_like((least + draws.below(most - least + 1)) * step, old) for old in flat]

    return change


def _close(step: float) -> Change:
    """Floats that are one number in 32 bits, and have an order in 64; the first step is one up.

    With a negative ``step`` it is one down.
    """

    def change(flat: Flat, draws: Draws, seen: Range) -> Flat:
        if not seen.floats:
            return flat
        drawn = [0, 15, *(draws.below(16) for _ in flat[2:])]
        return [_like(1.0 + k * step, old) for k, old in zip(drawn, flat, strict=False)]

    return change


def _small_halves(flat: Flat, draws: Draws, seen: Range) -> Flat:
    """0, 0.5, 1, 1.5 and 2, also where Python ints were: what takes them for ints loses halves."""
    if not seen.floats and not (seen.ints and seen.least is None):
        return flat
    return [_like(draws.below(5) * 0.5, old) for old in flat]


def _small(flat: Flat, draws: Draws, seen: Range) -> Flat:
    """0, 1 and 2: some pair is equal, and some sum meets any small number."""
    return flat if seen.bools else [_like(type(old)(draws.below(3)), old) for old in flat]


def _mixed_sizes(flat: Flat, draws: Draws, seen: Range) -> Flat:
    """1.0 is lost beside 1e16, if it comes second: the order of a sum shows."""
    if not seen.floats:
        return flat
    return [_like((1e16, -1e16, 1.0, 3.0, 0.1)[draws.below(5)], old) for old in flat]


def _bytes(flat: Flat, draws: Draws, seen: Range) -> Flat:
    """Whole numbers that single bytes hold, and some that they do not, negative ones as well."""
    if seen.bools or seen.floats:
        return flat
    return [seen.fit(draws.below(601) - 250) for _ in flat]


ALL: dict[str, tuple[str, Change]] = {
    "within": ("random values in the range seen", _within),
    "nan": ("NaN among its values", _sprinkled(math.nan)),
    "beyond doubles": ("some values larger by 2**53 + 1", _beyond_doubles),
    "thresholds": ("numbers that stand in the code", _thresholds),
    "wrapped": ("every other value larger by 256, 65536 or 2**32", _wrapped),
    "tenths": ("multiples of 0.1", _grid(0.1, 0, 7)),
    "small": ("whole numbers from 0 to 2", _small),
    "close": ("numbers that differ by 1e-12 at most", _close(2.0**-45)),
    "signed zero": ("-0.0 and subnormal numbers", _sprinkled(-0.0, 0.0, 5e-324, -5e-324)),
    "greatest last": ("the greatest value at the end", _greatest_last),
    "beyond": ("values beyond the range seen", _beyond),
    "infinite": ("infinities among its values", _sprinkled(math.inf, -math.inf)),
    "infinity times zero": ("infinities and zeros", _sprinkled(math.inf, 0.0, -0.0, -math.inf)),
    "sparse": ("nearly all zero", _sparse),
    "zero": ("all zero", _zero),
    "negative": ("negative values", _negative),
    "nan last": ("NaN at the end", _at(-1, math.nan)),
    "extreme": ("values near the limits of the type", _extreme),
    "bytes": ("whole numbers from -250 to 350", _bytes),
    "repeated": ("few different values", _repeated),
    "outlier": ("one value above all others", _outlier),
    "halves": ("multiples of 0.5", _grid(0.5, -2, 6)),
    "mixed sizes": ("numbers of very different size", _mixed_sizes),
    "equal": ("all values equal", _equal),
    "nan first": ("NaN in front", _at(0, math.nan)),
    "sorted": ("sorted values", _sorted),
    "falling": ("values in falling order", _falling),
    "ones": ("all one", _ones),
}
"""Changes of the values of arrays and lists, the most telling ones first."""

TOGETHER: dict[str, tuple[str, Change]] = {
    "close falling": ("numbers that differ by 1e-12 at most, falling", _close(-(2.0**-45))),
    "small halves": ("multiples of 0.5 from 0 to 2", _small_halves),
}
"""Further ones, which tell something only beside chosen single numbers."""

WILD = frozenset(
    ("beyond", "beyond doubles", "extreme", "infinite", "mixed sizes", "infinity times zero")
)
"""Changes that make sums ill-conditioned or overflow: told apart only bit for bit."""


def change_values(slot: Slot, name: str, seed: int, constants: Sequence[float] = ()) -> bool:
    """Replace the values of an array or list, in place where possible; False if nothing changed.

    ``constants``: numbers in the program's text.
    """
    change = (ALL.get(name) or TOGETHER[name])[1]
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


def all_ints(slot: Slot) -> bool:
    """Whole Python ints for the floats of a list; False if there are none."""
    value = slot.get()
    old = list(leaves(value))
    if not old or {type(item) for item in old} != {float}:
        return False
    new = [max(2, round(item)) if math.isfinite(item) else 2 for item in old]
    slot.put(refilled(value, iter(new)))
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

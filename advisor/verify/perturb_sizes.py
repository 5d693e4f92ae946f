"""Other sizes for the inputs of a held state, consistent where the program means them to be.

Extents that are equal change together, across arrays, lists and the whole numbers that equal them
(``n = len(a)``); extents that differ by one or two keep that difference (``n + 2`` with a halo);
an extent that is the product of two others stays their product (``flat = [0] * (w * h)``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .perturb_frames import is_frame, with_rows
from .perturb_slots import Inputs, Slot, numpy_loaded

NEAR = 2
"""Extents that differ by at most this are one extent and its halo,"""
LARGE = 5
"""if both are at least this: 3 and 4 are just two small numbers."""
FIRST_SMALL = 7
"""Extents are brought down to 7, 9, 11 ...: odd, different, and large enough for a halo of 2."""
DOUBLED_LIMIT = 4096
"""Larger extents are not doubled."""

Sizes = Mapping[int, int]
"""Old extent -> new extent."""


def all_extents(slots: Iterable[Slot]) -> list[int]:
    """Every different extent, ascending."""
    return sorted({extent for slot in slots for extent in slot.shape})


def clusters(found: Sequence[int]) -> list[list[int]]:
    """Extents in groups that change together; small ones are alone."""
    groups: list[list[int]] = []
    for extent in sorted(found):
        near = bool(groups) and groups[-1][0] >= LARGE and extent - groups[-1][-1] <= NEAR
        if near and extent - groups[-1][0] <= 2 * NEAR:
            groups[-1].append(extent)
        else:
            groups.append([extent])
    return groups


def _products(found: Sequence[int], numbers: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Extents that are the product of two smaller extents or whole numbers of the state."""
    factors = sorted({n for n in (*found, *numbers) if n >= LARGE})
    products: dict[int, tuple[int, int]] = {}
    for extent in found:
        for low in factors:
            high = extent // low
            if low <= high < extent and low * high == extent and high in factors:
                products[extent] = (low, high)
                break
    return products


def whole(slots: Iterable[Slot]) -> list[int]:
    """The state's plain ints."""
    values = (slot.get() for slot in slots if slot.kind == "number")
    return [value for value in values if type(value) is int]


class Scheme:
    """How the extents of one state may change."""

    def __init__(self, inputs: Inputs) -> None:
        self.found = all_extents(inputs.slots)
        self.numbers = whole(inputs.slots)
        self.products = _products(self.found, self.numbers)
        # A factor that only a number shows (w in w * h) changes like an extent.
        factors = {f for pair in self.products.values() for f in pair}
        independent = sorted({*self.found, *factors} - self.products.keys())
        self.groups = clusters(independent)
        self.resizable = not inputs.at_top or self._provable(inputs.literals)

    def _provable(self, literals: frozenset[int]) -> bool:
        """At module level: a common shift keeps every relation that the text can prove.

        ``a = np.zeros(n + 1)`` has one element more than ``n``, always; with two independent
        extents, or the length as a literal in the text, other sizes would be impossible states.
        """
        large = [group for group in self.groups if group[-1] >= LARGE]
        inside = any(extent in literals for group in large for extent in group)
        return len(large) == 1 and not self.products and not inside

    def small(self) -> dict[int, int] | None:
        """Every large extent brought down; None if there is none."""
        if not self.resizable:
            return None
        sizes: dict[int, int] = {}
        target = FIRST_SMALL
        for group in self.groups:
            if group[0] < LARGE:
                continue
            wanted = min(target, group[0])
            sizes |= {extent: wanted + extent - group[0] for extent in group}
            target += 2 + group[-1] - group[0]
        return self._complete(sizes) if any(a != b for a, b in sizes.items()) else None

    def changed(self, group: Sequence[int], size: int, base: Sizes) -> dict[int, int]:
        """One group of extents at another size, the others as in ``base``."""
        shift = {extent: max(0, size + extent - group[0]) for extent in group}
        return self._complete({**base, **shift})

    def _complete(self, sizes: dict[int, int]) -> dict[int, int]:
        done = dict(sizes)
        for extent, (low, high) in self.products.items():
            done[extent] = sizes.get(low, low) * sizes.get(high, high)
        return done

    def number(self, value: int, sizes: Sizes) -> int:
        """What a whole number becomes that is an extent, or one more or less than one."""
        if value in sizes:
            return sizes[value]
        for extent, new in sizes.items():
            if extent >= LARGE and 0 < abs(value - extent) <= NEAR and value not in self.found:
                return max(0, new + value - extent)
        return value


# ----------------------------------------------------------------------- apply
def resize(inputs: Inputs, scheme: Scheme, sizes: Sizes, *, numbers: bool) -> None:
    """Give all inputs their new sizes; ``numbers``: the ints that are extents as well."""
    done: dict[int, Any] = {}
    for slot in inputs.slots:
        if not slot.whole:
            continue
        value = slot.get()
        if slot.kind == "number":
            if numbers and type(value) is int:
                new = scheme.number(value, sizes)
                if new != value:
                    slot.put(new)
        elif id(value) not in done:
            new_value = resized(value, sizes, done)
            if new_value is not value:
                slot.put(new_value)


def resized(value: Any, sizes: Sizes, done: dict[int, Any]) -> Any:
    """An array or list with other extents; its elements repeat in their order.

    Lists stay the same objects, so that other references to them see the change. ``done`` collects
    what has its new size: 200 -> 7 and 7 -> 9 do not make 9 of 200.
    """
    if id(value) in done:
        return value
    np = numpy_loaded()
    if np is not None and isinstance(value, np.ndarray):
        result = _array(value, sizes)
    elif isinstance(value, list | tuple):
        result = _nest(value, sizes, done)
    elif is_frame(value):
        result = with_rows(value, sizes.get(len(value), len(value)))
    else:
        return value
    done[id(result)] = result
    return result


def _nest(value: Any, sizes: Sizes, done: dict[int, Any]) -> Any:
    new = sizes.get(len(value), len(value)) if value else 0
    rows = [_copied(value[k % len(value)], k >= len(value)) for k in range(new)]
    rows = [resized(row, sizes, done) for row in rows]
    if isinstance(value, tuple):
        same = len(rows) == len(value) and all(map(_identical, rows, value))
        return value if same else tuple(rows)
    value[:] = rows
    return value


def _identical(one: Any, other: Any) -> bool:
    return one is other


def _copied(row: Any, again: bool) -> Any:
    """A repeated row is a row of its own."""
    return [_copied(item, again) for item in row] if again and type(row) is list else row


def _array(value: Any, sizes: Sizes) -> Any:
    np = numpy_loaded()
    shape = tuple(sizes.get(extent, extent) for extent in value.shape)
    if shape == value.shape:
        return value
    if value.size == 0:
        return np.zeros(shape, dtype=value.dtype)
    picked = value
    for axis, new in enumerate(shape):
        if new != value.shape[axis]:
            picked = np.take(picked, np.arange(new) % value.shape[axis], axis=axis)
    return np.array(picked, order="C")

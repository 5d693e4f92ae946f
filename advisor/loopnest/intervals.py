"""Arithmetic on closed intervals; an open side is None. See ``ranges`` for whole nests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from .ir import UNBOUNDED, Interval, Kind, Scalar

Bound = float | int | None
_BOOLEAN = Interval(0, 1)


def hull(parts: Iterable[Interval]) -> Interval:
    """The smallest interval that holds all parts; unbounded for none."""
    found = list(parts)
    if not found:
        return UNBOUNDED
    lows = [p.low for p in found]
    highs = [p.high for p in found]
    return Interval(
        None if any(b is None for b in lows) else min(b for b in lows if b is not None),
        None if any(b is None for b in highs) else max(b for b in highs if b is not None),
    )


def meet(left: Interval, right: Interval) -> Interval:
    """Values in both; the left one where they do not meet (dead code)."""
    low = left.low if right.low is None else right.low if left.low is None else None
    high = left.high if right.high is None else right.high if left.high is None else None
    if left.low is not None and right.low is not None:
        low = max(left.low, right.low)
    if left.high is not None and right.high is not None:
        high = min(left.high, right.high)
    if low is not None and high is not None and low > high:
        return left
    return Interval(low, high)


def bounded(value: Interval) -> bool:
    """Both sides known."""
    return value.low is not None and value.high is not None


def of_type(kind: Scalar) -> Interval:
    """All values a type can hold; unbounded for Python ints and floats of any kind."""
    if kind.kind is Kind.BOOL:
        return _BOOLEAN
    if kind.kind is Kind.INT and kind.dtype is not None:
        info = np.iinfo(kind.dtype)
        return Interval(int(info.min), int(info.max))
    return UNBOUNDED


def fits(value: Interval, kind: Scalar) -> bool:
    """Whether every value of the interval is representable in an integer or bool type."""
    room = of_type(kind)
    if room == UNBOUNDED:
        return True
    if not bounded(value):
        return False
    assert value.low is not None and value.high is not None
    assert room.low is not None and room.high is not None
    return room.low <= value.low and value.high <= room.high


def wrapped_to(value: Interval, kind: Scalar) -> Interval:
    """What is left of a computed value in its type: NumPy integers wrap, Python's do not."""
    if kind.kind is Kind.FLOAT and kind.dtype not in (None, "float64", "longdouble"):
        return _widened(value, kind)
    return value if fits(value, kind) else of_type(kind)


def _widened(value: Interval, kind: Scalar) -> Interval:
    # narrow floats round outwards by up to half a unit in the last place
    eps = float(np.finfo(kind.dtype).eps) if kind.dtype else 0.0
    low = None if value.low is None else value.low - abs(value.low) * eps
    high = None if value.high is None else value.high + abs(value.high) * eps
    return Interval(low, high)


def add(left: Interval, right: Interval) -> Interval:
    """``left + right``."""
    return Interval(_plus(left.low, right.low), _plus(left.high, right.high))


def negate(value: Interval) -> Interval:
    """``-value``."""
    return Interval(
        None if value.high is None else -value.high, None if value.low is None else -value.low
    )


def _plus(left: Bound, right: Bound) -> Bound:
    if left is None or right is None:
        return None
    total = left + right
    return None if isinstance(total, float) and math.isnan(total) else total


def multiply(left: Interval, right: Interval) -> Interval:
    """``left * right``; open sides count as infinite, with 0 * infinity = 0."""
    products: list[Bound] = []
    for one, sign_one in ((left.low, -1), (left.high, 1)):
        for two, sign_two in ((right.low, -1), (right.high, 1)):
            products.append(_times(one, sign_one, two, sign_two))
    low = None if any(p == -math.inf for p in products) else min(_solid(products))
    high = None if any(p == math.inf for p in products) else max(_solid(products))
    return Interval(_finite(low), _finite(high))


def _times(one: Bound, sign_one: int, two: Bound, sign_two: int) -> Bound:
    if one == 0 or two == 0:
        return 0
    if one is not None and two is not None:
        return one * two
    first = math.copysign(1, one) if one is not None else sign_one
    second = math.copysign(1, two) if two is not None else sign_two
    return math.inf * first * second


def _solid(values: list[Bound]) -> list[float | int]:
    return [v for v in values if v is not None]


def _finite(value: Bound) -> Bound:
    return None if isinstance(value, float) and math.isinf(value) else value


def modulo(left: Interval, right: Interval) -> Interval:
    """``left % right`` with Python's sign rule."""
    if right.low is not None and right.low > 0:
        if left.low is not None and left.low >= 0 and left.high is not None:
            if left.high < right.low:
                return left
            top = right.high if right.high is not None else left.high
            return Interval(0, min(left.high, _below(top)))
        return Interval(0, None if right.high is None else _below(right.high))
    if right.high is not None and right.high < 0:
        return Interval(None if right.low is None else right.low + _step(right.low), 0)
    return UNBOUNDED


def _below(top: float | int) -> float | int:
    return top - 1 if isinstance(top, int) else top


def _step(value: float | int) -> int:
    return 1 if isinstance(value, int) else 0


def floor_divide(left: Interval, right: Interval) -> Interval:
    """``left // right`` where the divisor is positive; else unbounded."""
    if right.low is None or right.low <= 0:
        return UNBOUNDED
    ends = [right.low] if right.high is None else [right.low, right.high]
    return _quotients(left, right, [_floor(v, e) for v in (left.low, left.high) for e in ends])


def _floor(value: Bound, divisor: float | int) -> Bound:
    return None if value is None else value // divisor


def _quotients(left: Interval, right: Interval, ends: list[Bound]) -> Interval:
    solid = _solid(ends)
    if right.high is None:
        solid += [0, -1] if left.low is None or left.low < 0 else [0]
    low = None if left.low is None else min(solid)
    high = None if left.high is None else max(solid)
    return Interval(low, high)


def divide(left: Interval, right: Interval) -> Interval:
    """``left / right`` where 0 is not in the divisor; else unbounded."""
    if right.low is None or right.high is None or right.low <= 0 <= right.high:
        return UNBOUNDED
    if not bounded(left):
        if left.low is not None and left.low >= 0 and right.low > 0:
            return Interval(0.0, None)
        return UNBOUNDED
    assert left.low is not None and left.high is not None
    try:
        ends = [v / d for v in (left.low, left.high) for d in (right.low, right.high)]
    except OverflowError:
        return UNBOUNDED
    return Interval(_finite(min(ends)), _finite(max(ends)))


def absolute(value: Interval) -> Interval:
    """``abs(value)``."""
    if value.low is not None and value.low >= 0:
        return value
    if value.high is not None and value.high <= 0:
        return negate(value)
    if not bounded(value):
        return Interval(0, None)
    assert value.low is not None and value.high is not None
    return Interval(0, max(-value.low, value.high))


def power(base: Interval, exponent: Interval) -> Interval:
    """``base ** exponent`` for a constant whole exponent; non-negative where that shows."""
    if exponent.low is not None and exponent.low == exponent.high:
        degree = exponent.low
        if float(degree).is_integer() and 0 <= degree <= 64:
            return _whole_power(base, int(degree))
    if base.low is not None and base.low >= 0:
        return Interval(0, None)
    return UNBOUNDED


def _whole_power(base: Interval, degree: int) -> Interval:
    if degree == 0:
        return Interval(1, 1)
    if degree % 2 == 0:
        base = absolute(base)
    try:
        low = None if base.low is None else base.low**degree
        high = None if base.high is None else base.high**degree
    except OverflowError:
        return Interval(0, None) if degree % 2 == 0 else UNBOUNDED
    return Interval(low, high)


def monotone(value: Interval, function: Callable[[float], float | int]) -> Interval:
    """An increasing function of an interval; sides where it fails stay open."""

    def at(bound: Bound) -> Bound:
        if bound is None:
            return None
        try:
            return _finite(function(bound))
        except (ValueError, OverflowError):
            return None

    return Interval(at(value.low), at(value.high))


def shift_left(left: Interval, right: Interval) -> Interval:
    """``left << right`` for small constant shifts."""
    if right.low is not None and right.low == right.high and 0 <= right.low <= 64:
        return multiply(left, Interval(2 ** int(right.low), 2 ** int(right.low)))
    return UNBOUNDED


def shift_right(left: Interval, right: Interval) -> Interval:
    """``left >> right``."""
    if right.low is None or right.low < 0:
        return UNBOUNDED
    low = 2 ** int(min(right.low, 4096))
    return floor_divide(
        left, Interval(low, None if right.high is None else 2 ** int(min(right.high, 4096)))
    )


def bits(op: str, left: Interval, right: Interval) -> Interval:
    """``& | ^`` of non-negative values; else unbounded."""
    if left.low is None or right.low is None or left.low < 0 or right.low < 0:
        if op == "&":
            caps = [i.high for i in (left, right) if i.low is not None and i.low >= 0]
            known = [c for c in caps if c is not None]
            if known:
                return Interval(0, min(known))
        return UNBOUNDED
    if op == "&":
        caps2 = [h for h in (left.high, right.high) if h is not None]
        return Interval(0, min(caps2) if caps2 else None)
    if left.high is None or right.high is None:
        return Interval(0, None)
    size = max(int(left.high), int(right.high)).bit_length()
    return Interval(0, 2**size - 1)

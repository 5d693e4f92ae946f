"""Arithmetic on intervals: rounding keeps signs and the order of values."""

from __future__ import annotations

import math

from ...loopnest.ir import Interval

ANY = Interval()
Bound = float | int | None


def union(a: Interval, b: Interval) -> Interval:
    """The smallest interval that holds both."""
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    high = None if a.high is None or b.high is None else max(a.high, b.high)
    return Interval(low, high)


def unary(op: str, a: Interval) -> Interval:
    """Range of ``op a``."""
    if op == "-":
        return Interval(None if a.high is None else -a.high, None if a.low is None else -a.low)
    if op == "not":
        return Interval(0, 1)
    return a if op == "+" else ANY


def square(a: Interval) -> Interval:
    """Range of ``a * a``."""
    ends = [abs(end) for end in (a.low, a.high) if end is not None]
    high = max(ends) ** 2 if len(ends) == 2 and max(ends) < 1e150 else None
    low = 0
    if a.low is not None and a.low > 0 and a.low > 1e-150:
        low = a.low * a.low  # type: ignore[assignment]
    return Interval(low, high)


def binary_interval(op: str, a: Interval, b: Interval) -> Interval:
    """Range of ``a op b``."""
    match op:
        case "+":
            return Interval(add(a.low, b.low), add(a.high, b.high))
        case "-":
            return binary_interval("+", a, unary("-", b))
        case "*":
            return product(a, b)
        case "/" if a.low is not None and a.low >= 0 and b.low is not None and b.low > 0:
            return Interval(0, None)
        case "/" if _finite(a) and _finite(b) and b.low is not None and b.low >= 1:
            return Interval(min(a.low, 0), max(a.high, 0))  # type: ignore[type-var]
        case "//" if _whole(a) and _whole(b) and b.low == b.high and b.low >= 1:  # type: ignore[operator]
            return Interval(a.low // b.low, a.high // b.low)  # type: ignore[operator]
        case "<<" if _whole(a) and _whole(b) and b.low >= 0 and b.high <= 62:  # type: ignore[operator]
            ends = [x << y for x in (a.low, a.high) for y in (b.low, b.high)]  # type: ignore[operator]
            return Interval(min(ends), max(ends))
        case ">>" if _whole(a) and b.low is not None and b.low >= 0:
            return Interval(min(a.low, 0), max(a.high, 0))  # type: ignore[type-var]
        case "//" if b.low is not None and b.low >= 1 and a.low is not None and a.high is not None:
            return Interval(min(a.low, 0), max(a.high, 0))
        case "%" if b.low is not None and b.low >= 1 and b.high is not None:
            return Interval(0, b.high)
        case "&" if a.low is not None and a.low >= 0 and b.low is not None and b.low >= 0:
            highs = [x for x in (a.high, b.high) if x is not None]
            return Interval(0, min(highs) if highs else None)
        case "|" | "^" if (a.low, b.low) == (0, 0) and a.high == b.high == 1:
            return Interval(0, 1)
    return ANY


def scaled(a: Interval, factor: int) -> Interval:
    """Range of ``factor * a``."""
    low = None if a.low is None else a.low * factor
    high = None if a.high is None else a.high * factor
    return Interval(low, high) if factor >= 0 else Interval(high, low)


def add(a: Bound, b: Bound) -> Bound:
    """The sum of two ends; None, unbounded, if one is."""
    return None if a is None or b is None else a + b


def product(a: Interval, b: Interval) -> Interval:
    """Range of ``a * b``."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        signs = {_sign(a), _sign(b)}
        if None in signs:
            return ANY
        if a.low is not None and b.low is not None and min(a.low, b.low) > 0:
            low = a.low * b.low
            return Interval(low if low > 1e-290 else 0, None)
        return Interval(None, 0) if signs == {1, -1} else Interval(0, None)
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(ends), max(ends))


def _finite(a: Interval) -> bool:
    return a.low is not None and a.high is not None


def _whole(a: Interval) -> bool:
    """Both ends are integers."""
    return isinstance(a.low, int) and isinstance(a.high, int)


def _sign(a: Interval) -> int | None:
    if a.low is not None and a.low >= 0:
        return 1
    return -1 if a.high is not None and a.high <= 0 else None


def called(name: str, args: list[Interval]) -> Interval:
    """Range of a function's results."""
    short = name.rpartition(".")[2]
    if short in ("abs", "fabs", "absolute"):
        squared = square(args[0])
        ends = [abs(e) for e in (args[0].low, args[0].high) if e is not None]
        return Interval(0, max(ends) if len(ends) == 2 and squared.high is not None else None)
    if short == "sqrt":
        low, high = args[0].low, args[0].high
        top = None if high is None or high > 1e300 else math.sqrt(max(high, 0)) * 1.001
        return Interval(0 if low is None or low <= 0 else math.sqrt(low) * 0.999, top)
    if short in ("exp", "hypot", "cosh"):
        return Interval(0, None)
    if short in ("sin", "cos", "tanh"):
        return Interval(-1, 1)
    if name == "sorted":
        starts = [a.low for a in args[1:] if a.low is not None]
        ends = [a.high for a in args[1:] if a.high is not None]
        bounded_below, bounded_above = (len(known) == len(args) - 1 for known in (starts, ends))
        return Interval(
            min(starts) if bounded_below else None, max(ends) if bounded_above else None
        )
    if name in ("min", "max") and len(args) > 2:
        return called(name, [called(name, args[:2]), *args[2:]])
    if name in ("min", "max") and len(args) == 2:
        a, b = args
        pick = min if name == "min" else max
        low = None if a.low is None or b.low is None else pick(a.low, b.low)
        high = None if a.high is None or b.high is None else pick(a.high, b.high)
        if name == "max":
            lows = [x for x in (a.low, b.low) if x is not None]
            low = max(lows) if lows else None
        else:
            highs = [x for x in (a.high, b.high) if x is not None]
            high = min(highs) if highs else None
        return Interval(low, high)
    if short in ("int", "float", "trunc", "floor", "ceil", "rint", "float64") and len(args) == 1:
        low, high = args[0].low, args[0].high
        if short in ("float", "float64"):
            return args[0]
        return Interval(
            None if low is None else math.floor(low), None if high is None else math.ceil(high)
        )
    if name == "bool":
        return Interval(0, 1)
    return ANY

"""Whether a rewrite rounds worse than the original, told by a run of the original in wider floats.

The a-priori tolerance (see ``compare``) bounds how far a rewrite may be from the original. It does
not say which of both is nearer to the truth: ``sqrt(|a|^2 + |b|^2 - 2ab)`` stays within the
tolerance of the largest distance, and has lost all digits of the small ones. So the errors of both
against a more exact reference are compared, in units of each number's own last place:

* largest:  ``candidate <= 8 * original + max(4, sqrt(n))``
* root mean square, from 64 numbers on:  ``candidate <= 2 * original + max(4, sqrt(n)) / 2``

with ``n`` the reduction length. Rounding errors of two orders of summation are about independent;
with few numbers the original's may be small by chance, which the factor 8 allows for: the ratio of
two such errors exceeds it in one of 13 cases. 4 units are what library functions may be off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from .capture import Capture
from .packing import Digested

LARGEST_FACTOR = 8.0
MEAN_FACTOR = 2.0
MEAN_FROM = 64
"""Numbers from which on the mean says something."""
LAST_PLACES = 4.0
ROOTS = ("result", "arguments", "closure", "globals", "modules", "classes", "random")
"""Roots of a capture that the wider run is judged by; printed text differs in its digits."""
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Accuracy:
    """What the wider run says."""

    worse: str | None = None
    """How the rewrite is less accurate than the original, if it is."""
    words: str = ""
    """For the report."""


@dataclass
class _Leaves:
    """The content of a capture by path: floats, and all that must not depend on rounding."""

    floats: dict[str, Array] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    """Bytes of the narrowest float at a path."""
    rest: dict[str, Any] = field(default_factory=dict)


def accuracy(
    original: Capture, candidate: Capture, wider: Capture, reduction_length: int
) -> Accuracy:
    """Compare the errors of both against the wider run."""
    try:
        one, other, reference = (leaves(c.apart()) for c in (original, candidate, wider))
    except Digested:
        return Accuracy(words=not_judged("it is too large"))
    differs = next((p for p, v in one.rest.items() if reference.rest.get(p, v) != v), None)
    if differs is not None:
        return Accuracy(words=not_judged(f"there the original takes another way ({differs})"))
    moved = [p for p, x in one.floats.items() if _moved(x, other.floats.get(p))]
    judged = [p for p in moved if _speaks(one, reference, p)]
    if not judged:
        return Accuracy(words=not_judged("its numbers did not become wider"))
    before = after = 0.0
    for path in judged:
        verdict = _Errors.of(one.floats[path], other.floats[path], reference.floats[path])
        worse = verdict.worse(path, reduction_length)
        if worse is not None:
            return Accuracy(worse)
        before, after = max(before, verdict.largest[0]), max(after, verdict.largest[1])
    words = (
        "no less accurate than the original, by a run of it in wider floats (largest error "
        f"{before:.2g} units in the last place before, {after:.2g} after)"
    )
    if len(judged) < len(moved):
        words += f"; {len(moved) - len(judged)} of {len(moved)} results did not become wider there"
    return Accuracy(words=words)


def not_judged(why: str) -> str:
    """The tolerance alone decides, and why."""
    return f"within the tolerance; not compared with a run in wider floats: {why}"


def _moved(x: Array, y: Array | None) -> bool:
    return y is not None and x.shape == y.shape and x.tobytes() != y.tobytes()


def _speaks(original: _Leaves, wider: _Leaves, path: str) -> bool:
    found = wider.floats.get(path)
    if found is None or found.shape != original.floats[path].shape:
        return False
    return wider.widths[path] > original.widths[path]


@dataclass(frozen=True)
class _Errors:
    """Errors of original and rewrite, in units of each number's last place."""

    largest: tuple[float, float]
    mean: tuple[float, float]
    count: int

    @classmethod
    def of(cls, original: Array, candidate: Array, reference: Array) -> _Errors:
        exact = reference.astype(np.longdouble)
        finite = np.isfinite(original) & np.isfinite(candidate) & np.isfinite(exact)
        if not finite.any():
            return cls((0.0, 0.0), (0.0, 0.0), 0)
        exact = exact[finite]
        eps = np.longdouble(np.finfo(original.dtype).eps)
        size = np.abs(exact)
        # Exactly zero has no last place: that of the smallest number that could be told from 0.
        place = eps * np.maximum(size, max(size.max() * eps, np.finfo(original.dtype).tiny))
        errors = [
            np.abs(x[finite].astype(np.longdouble) - exact) / place for x in (original, candidate)
        ]
        largest = [float(e.max()) for e in errors]
        mean = [float(np.sqrt(np.mean(e * e))) for e in errors]
        return cls((largest[0], largest[1]), (mean[0], mean[1]), exact.size)

    def worse(self, path: str, reduction_length: int) -> str | None:
        """In words how the rewrite is less accurate; None if it is not."""
        floor = max(LAST_PLACES, sqrt(max(1, reduction_length)))
        pairs = [(self.largest, LARGEST_FACTOR, floor)]
        if self.count >= MEAN_FROM:
            pairs.append((self.mean, MEAN_FACTOR, floor / 2))
        for (before, after), factor, beyond in pairs:
            if after > factor * before + beyond:
                return (
                    f"{path}: less accurate than the original: {after:.3g} units in the last place "
                    f"from the result in wider floats, where the original is {before:.3g} from it"
                )
        return None


# -------------------------------------------------------------------- leaves
def leaves(capture: Capture) -> _Leaves:
    """Floats and everything else that a capture holds, by path."""
    found = _Leaves()
    seen: set[int] = set()
    pending = [(name, [capture.roots[name]]) for name in ROOTS if name in capture.roots]
    while pending:
        path, values = pending.pop()
        numbers: list[Any] = []
        for position, value in enumerate(values):
            where = f"{path}[{position}]" if len(values) > 1 else path
            if isinstance(value, list) and value[0] == "r":
                if value[1] not in seen:
                    seen.add(value[1])
                    pending += _node(found, capture, where, capture.nodes[value[1]])
            elif not _number(value, numbers) and not isinstance(value, list):
                found.rest[where] = value
        if numbers:
            _add(found, path, numbers)
    return found


def _number(value: Any, numbers: list[Any]) -> bool:
    """Collect a float, complex, or NumPy float; False for other values."""
    if type(value) is float:
        numbers.append(np.float64(value))
    elif isinstance(value, list) and value[0] == "c":
        numbers += [np.float64(value[1]), np.float64(value[2])]
    elif isinstance(value, list) and value[0] == "n" and np.dtype(value[1]).kind in "fc":
        numbers += list(_flat(np.frombuffer(bytes.fromhex(value[2]), np.dtype(value[1]))))
    else:
        return False
    return True


def _flat(array: Array) -> Array:
    """Complex numbers as pairs of floats."""
    if array.dtype.kind != "c":
        return array
    return np.ascontiguousarray(array).view(np.dtype(f"f{array.dtype.itemsize // 2}"))


def _add(found: _Leaves, path: str, numbers: list[Any]) -> None:
    narrowest = min(number.dtype.itemsize for number in numbers)
    widest = max((number.dtype for number in numbers), key=lambda d: d.itemsize)
    found.floats[path] = np.array(numbers, dtype=widest)
    found.widths[path] = narrowest


def _node(
    found: _Leaves, capture: Capture, path: str, node: Mapping[str, Any]
) -> list[tuple[str, list[Any]]]:
    """Put down what a node holds itself; returns what is below it."""
    kind = node["t"]
    if kind == "array" and "size" in node:
        dtype = np.dtype(node["dtype"])
        data = capture.bytes_of(node)
        if dtype.kind in "fc":
            if data is not None and len(data):
                array = _flat(np.frombuffer(data, dtype))
                found.floats[path], found.widths[path] = array, array.dtype.itemsize
            found.rest[f"{path}.shape"] = tuple(node["shape"])
        else:
            found.rest[path] = (tuple(node["shape"]), bytes(data or b""))
        return []
    if node.get("p") == "d":
        data = capture.bytes_of(node)
        if data is not None:
            found.floats[path], found.widths[path] = np.frombuffer(data, np.float64), 8
        return []
    if "size" in node:
        data = capture.bytes_of(node)
        found.rest[path] = bytes(data or b"")
        return []
    if kind in ("opaque", "function", "method", "reduced", "generator", "cache"):
        return []
    if kind == "dict":
        keys, values = [k for k, _ in node["v"]], [v for _, v in node["v"]]
        named = [(f"{path}[{k!r}]", [v]) for k, v in zip(keys, values, strict=True)]
        return [*named, *_attributes(path, node)]
    return [(path, list(node.get("v", []))), *_attributes(path, node)]


def _attributes(path: str, node: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    return [(f"{path}.{name}", [value]) for name, value in node.get("a", [])]

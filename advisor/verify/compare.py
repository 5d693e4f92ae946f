"""Comparison of two captured states: structure, types, sharing and numbers.

What must be equal whatever the exactness: structure, types (a Python float is not a
``numpy.float64``), dtypes, shapes, NaN positions, which names are one object, which arrays share
memory, integers, booleans and text. How far floats may be apart depends on the exactness.

Tolerances, with ``eps`` that of the reference's dtype and ``n`` the reduction length:

* ``BITS``: none; only NaN payloads are ignored. ``-0.0`` differs from ``0.0``.
* ``REASSOCIATED``: ``8 * eps * sqrt(n) * max|reference|``, the maximum over the whole array or
  list. Rounding errors of a sum of ``n`` terms walk at random, so they grow with ``sqrt(n)``
  (Higham, Accuracy and Stability, 4.2); 8 covers the tail of that walk.
* ``LAST_DIGIT``: ``4 * eps * sqrt(n) * max(|reference|, max|reference| / 16)`` for each element:
  libm and SIMD versions of a function differ by up to 2 units in the last place, on each side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import ErrorSize, Exactness
from .capture import Capture

REASSOCIATED_FACTOR = 8.0
LAST_DIGIT_FACTOR = 4.0
LAST_DIGIT_FLOOR = 1.0 / 16.0
NAMED = 4
"""How many things a message names before it only counts."""


@dataclass(frozen=True)
class Same:
    """Nothing that was compared differs by more than the tolerance."""

    error: ErrorSize
    what: str
    """What was compared, and what could not be."""


@dataclass(frozen=True)
class Different:
    """The first difference found, in words."""

    what: str


@dataclass(frozen=True)
class Incomparable:
    """The result itself is of a kind that cannot be compared (a generator, a lock, a file)."""

    what: str


Comparison = Same | Different | Incomparable


class _Difference(Exception):
    pass


class _Incomparable(Exception):
    pass


@dataclass(frozen=True)
class Tolerance:
    """How far apart floats may be."""

    exactness: Exactness = Exactness.BITS
    reduction_length: int = 1

    def allowed(self, reference: npt.NDArray[Any], eps: float) -> npt.NDArray[Any]:
        """Absolute tolerance of every element of ``reference`` (finite parts count)."""
        size = np.abs(reference)
        finite = size[np.isfinite(size)]
        top = float(finite.max()) if finite.size else 0.0
        growth = eps * sqrt(max(1, self.reduction_length))
        if self.exactness is Exactness.REASSOCIATED:
            return np.full(size.shape, REASSOCIATED_FACTOR * growth * top)
        floor = np.maximum(np.where(np.isfinite(size), size, 0.0), top * LAST_DIGIT_FLOOR)
        return np.asarray(LAST_DIGIT_FACTOR * growth * floor)


def compare(
    original: Capture,
    candidate: Capture,
    *,
    exactness: Exactness = Exactness.BITS,
    reduction_length: int = 1,
    ignore: Iterable[str] = (),
) -> Comparison:
    """Compare what the candidate left behind with what the original did.

    ``ignore`` are module globals that nobody reads (a loop variable that is gone, a new buffer).
    """
    walk = _Walk(original, candidate, Tolerance(exactness, reduction_length), frozenset(ignore))
    try:
        walk.run()
    except _Difference as difference:
        return Different(str(difference))
    except _Incomparable as reason:
        return Incomparable(str(reason))
    return Same(walk.error, walk.summary())


def compare_numbers(
    original: npt.NDArray[Any], candidate: npt.NDArray[Any], tolerance: Tolerance, where: str
) -> ErrorSize:
    """Compare two arrays of one dtype and shape. Raises ValueError with the difference."""
    if original.dtype.kind == "c":
        half = np.dtype(f"f{original.dtype.itemsize // 2}")
        original = np.ascontiguousarray(original).view(half)
        candidate = np.ascontiguousarray(candidate).view(half)
    if original.dtype.kind != "f":
        return _exact(original, candidate, where)
    return _floats(original, candidate, tolerance, where)


def _exact(original: npt.NDArray[Any], candidate: npt.NDArray[Any], where: str) -> ErrorSize:
    # Bytes, not ==: NaT and structured dtypes have their own idea of equality.
    if original.tobytes() == candidate.tobytes():
        return ErrorSize()
    with np.errstate(all="ignore"):
        differs = np.flatnonzero(np.atleast_1d(original != candidate))
    at = int(differs[0]) if differs.size else 0
    raise ValueError(
        f"{where}: {max(1, differs.size)} of {original.size} elements differ, the first at "
        f"position {at}: {original.reshape(-1)[at]} became {candidate.reshape(-1)[at]}"
    )


def _floats(
    original: npt.NDArray[Any], candidate: npt.NDArray[Any], tolerance: Tolerance, where: str
) -> ErrorSize:
    original, candidate = original.reshape(-1), candidate.reshape(-1)
    if original.tobytes() == candidate.tobytes():
        return ErrorSize()
    both_nan = np.isnan(original) & np.isnan(candidate)
    with np.errstate(all="ignore"):
        apart = np.abs(candidate.astype(np.float64) - original.astype(np.float64))
        if original.dtype.itemsize > 8:
            apart = np.abs(candidate - original).astype(np.float64)
        spacing = np.spacing(np.abs(original)).astype(np.float64)  # overflows at the largest
    apart[both_nan | (original == candidate)] = 0.0
    if tolerance.exactness is Exactness.BITS:
        wrong = (original != candidate) & ~both_nan
        wrong |= (
            (original == 0) & (candidate == 0) & (np.signbit(original) != np.signbit(candidate))
        )
    else:
        reference = original.astype(np.float64)
        wrong = ~(apart <= tolerance.allowed(reference, float(np.finfo(original.dtype).eps)))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{where}: {int(wrong.sum())} of {original.size} numbers differ"
            f"{'' if tolerance.exactness is Exactness.BITS else ' by more than rounding'}, the "
            f"first at position {at}: {original[at]!s} became {candidate[at]!s}"
        )
    return _size(original, apart, spacing)


def _size(
    original: npt.NDArray[Any], apart: npt.NDArray[Any], spacing: npt.NDArray[Any]
) -> ErrorSize:
    size = np.abs(original.astype(np.float64))
    moved = np.isfinite(apart) & (apart > 0)
    if not moved.any():
        return ErrorSize()
    apart, size, spacing = apart[moved], size[moved], spacing[moved]
    nonzero = size > 0
    relative = float((apart[nonzero] / size[nonzero]).max()) if nonzero.any() else float("inf")
    return ErrorSize(float(apart.max()), relative, float((apart / spacing).max()))


def larger(one: ErrorSize, other: ErrorSize) -> ErrorSize:
    """The larger of both in every measure."""
    return ErrorSize(
        max(one.absolute, other.absolute),
        max(one.relative, other.relative),
        max(one.ulp, other.ulp),
    )


_WORDS = {
    "r": "an object",
    "c": "builtins.complex",
    "b": "builtins.bytes",
    "I": "builtins.int",
    "q": "a named object",
    "t": "builtins.tuple",
}


def _type_of(value: Any, capture: Capture) -> str:
    if not isinstance(value, list):
        return "None" if value is None else f"builtins.{type(value).__name__}"
    if value[0] == "n":
        return f"numpy.{np.dtype(value[1]).name}"
    if value[0] == "r":
        node = capture.nodes[value[1]]
        return str(node.get("cls", f"builtins.{node['t']}"))
    return _WORDS[str(value[0])]


class _Walk:
    """Walks both graphs side by side, pairing their nodes."""

    def __init__(
        self, original: Capture, candidate: Capture, tolerance: Tolerance, ignore: frozenset[str]
    ) -> None:
        self.a, self.b, self.tolerance, self.ignore = original, candidate, tolerance, ignore
        self.error = ErrorSize()
        self.pairs: dict[int, int] = {}
        self.reverse: dict[int, int] = {}
        self.groups: dict[int, int] = {}
        self.group_reverse: dict[int, int] = {}
        self.members: dict[int, tuple[str, Mapping[str, Any], Mapping[str, Any]]] = {}
        self.queue: list[tuple[str, int, int]] = []
        self.opaque: list[str] = []
        self.numbers = 0

    def run(self) -> None:
        if set(self.a.roots) != set(self.b.roots):
            raise _Difference(f"{sorted(set(self.a.roots) ^ set(self.b.roots))} on one side only")
        # An exception on one side only is said first: all else follows from it.
        for root in sorted(self.a.roots, key=lambda name: (name != "exception", name)):
            self.value(root, self.a.roots[root], self.b.roots[root])
            while self.queue:
                self.node(*self.queue.pop(0) if len(self.queue) < 64 else self.queue.pop())

    def summary(self) -> str:
        words = f"{len(self.pairs)} objects and {self.numbers} packed numbers"
        if self.opaque:
            names = ", ".join(self.opaque[:NAMED])
            more = len(self.opaque) - NAMED
            words += f"; not compared: {names}" + (f" and {more} more" if more > 0 else "")
        return words

    # ------------------------------------------------------------- values
    def value(self, path: str, a: Any, b: Any) -> None:
        if isinstance(a, list) and isinstance(b, list) and a[0] == b[0]:
            self.tagged(path, a, b)
            return
        if type(a) is not type(b) or isinstance(a, list):
            was, now = _type_of(a, self.a), _type_of(b, self.b)
            raise _Difference(f"{path}: the type of the result changed from {was} to {now}")
        if type(a) is float:
            self.floats(path, a, b, np.dtype(np.float64))
        elif a != b:
            raise _Difference(f"{path}: {_short(a)} became {_short(b)}")

    def tagged(self, path: str, a: list[Any], b: list[Any]) -> None:
        if a[0] == "r":
            self.pair(path, a[1], b[1])
        elif a[0] == "t":
            if len(a) != len(b):
                raise _Difference(f"{path}: {len(a) - 1} elements became {len(b) - 1}")
            for position, (x, y) in enumerate(zip(a[1:], b[1:], strict=True)):
                self.value(f"{path}[{position}]", x, y)
        elif a[0] == "c":
            self.floats(path, complex(a[1], a[2]), complex(b[1], b[2]), np.dtype(np.complex128))
        elif a[0] == "n":
            if a[1] != b[1]:
                was, now = _type_of(a, self.a), _type_of(b, self.b)
                raise _Difference(f"{path}: the type of the result changed from {was} to {now}")
            dtype = np.dtype(a[1])
            x, y = (np.frombuffer(bytes.fromhex(v[2]), dtype=dtype) for v in (a, b))
            self.arrays(path, x, y)
        elif a != b:
            before, after = (bytes.fromhex(v[1]) if v[0] == "b" else v[-1] for v in (a, b))
            raise _Difference(f"{path}: {_short(before)} became {_short(after)}")

    def floats(self, path: str, a: Any, b: Any, dtype: np.dtype[Any]) -> None:
        self.arrays(path, np.array([a], dtype=dtype), np.array([b], dtype=dtype))

    def arrays(self, path: str, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> None:
        try:
            self.error = larger(self.error, compare_numbers(a, b, self.tolerance, path))
        except ValueError as difference:
            raise _Difference(str(difference)) from None

    # -------------------------------------------------------------- nodes
    def pair(self, path: str, a: int, b: int) -> None:
        known = self.pairs.get(a)
        x, y = self.a.nodes[a], self.b.nodes[b]
        # No one can tell two equal tuples of plain values from one; mutable objects they can.
        mutable = x["t"] not in ("tuple", "plain", "function", "method", "reduced", "opaque")
        if known == b:
            return
        if mutable and (known is not None or b in self.reverse):
            raise _Difference(f"{path}: it is one object with another name on one side only")
        if known is None:
            self.pairs[a] = b
        self.reverse.setdefault(b, a)
        if x["t"] != y["t"] or x.get("cls") != y.get("cls"):
            was, now = _type_of(["r", a], self.a), _type_of(["r", b], self.b)
            raise _Difference(f"{path}: the type of the result changed from {was} to {now}")
        self.queue.append((path, a, b))

    def node(self, path: str, a: int, b: int) -> None:
        x, y = self.a.nodes[a], self.b.nodes[b]
        kind = x["t"]
        if kind == "opaque":
            if path.startswith(("result", "exception")):
                raise _Incomparable(f"{path} is a {x['cls']}, which cannot be compared")
            self.opaque.append(f"{path} ({x['cls']})")
            return
        if x.get("x") != y.get("x"):
            raise _Difference(f"{path}: {x.get('x')} became {y.get('x')}")
        if kind == "array":
            self.array(path, x, y)
        elif kind == "dict":
            self.mapping(path, x, y)
        elif "size" in x or "size" in y:
            self.packed(path, x, y)
        else:
            self.sequence(path, x.get("v", []), y.get("v", []))
        self.attributes(path, x.get("a", []), y.get("a", []))

    def sequence(self, path: str, a: list[Any], b: list[Any]) -> None:
        if len(a) != len(b):
            raise _Difference(f"{path}: its length changed from {len(a)} to {len(b)}")
        for position, (x, y) in enumerate(zip(a, b, strict=True)):
            self.value(f"{path}[{position}]", x, y)

    def mapping(self, path: str, x: Mapping[str, Any], y: Mapping[str, Any]) -> None:
        if path == "globals" or path.startswith("modules["):
            skip = self.ignore if path == "globals" else frozenset()
            self.names(path, dict(x["v"]), dict(y["v"]), skip)
            return
        if len(x["v"]) != len(y["v"]):
            raise _Difference(f"{path}: its length changed from {len(x['v'])} to {len(y['v'])}")
        for (key, item), (other, thing) in zip(x["v"], y["v"], strict=True):
            self.value(f"{path} key {_short(key)}", key, other)
            self.value(f"{path}[{_short(key)}]", item, thing)

    def names(
        self, path: str, a: dict[str, Any], b: dict[str, Any], ignore: frozenset[str]
    ) -> None:
        for name in sorted((a.keys() | b.keys()) - ignore):
            if name not in b:
                raise _Difference(f"{path}: {name} is no longer set")
            if name not in a:
                raise _Difference(f"{path}: {name} is new")
            self.value(f"{path}[{name!r}]", a[name], b[name])

    def attributes(self, path: str, a: list[Any], b: list[Any]) -> None:
        mine, other = dict(a), dict(b)
        if mine.keys() != other.keys():
            names = ", ".join(sorted(mine.keys() ^ other.keys()))
            raise _Difference(f"{path}: attribute {names} exists on one side only")
        for name, item in mine.items():
            self.value(f"{path}.{name}", item, other[name])

    def packed(self, path: str, x: Mapping[str, Any], y: Mapping[str, Any]) -> None:
        if x.get("p") != y.get("p"):
            # [1.0] * 9 against [1] * 9: one side packed as floats, one as ints or not at all.
            raise _Difference(f"{path}: the types of the elements changed")
        packed = {None: np.uint8, "d": np.float64, "q": np.int64}
        dtype: np.dtype[Any] = np.dtype(packed[x.get("p")])
        if x["size"] != y["size"]:
            width = dtype.itemsize
            was, now = x["size"] // width, y["size"] // width
            raise _Difference(f"{path}: its length changed from {was} to {now}")
        self.raw(path, x, y, dtype)

    def array(self, path: str, x: Mapping[str, Any], y: Mapping[str, Any]) -> None:
        for key, word in (("dtype", "dtype"), ("shape", "shape")):
            if x[key] != y[key]:
                raise _Difference(f"{path}: its {word} changed from {x[key]} to {y[key]}")
        # A view of a padded buffer in place of an array of its own: reshape(-1) then copies.
        if x["contiguous"] and not y["contiguous"]:
            raise _Difference(f"{path}: it is no longer contiguous in memory")
        # np.broadcast_to in place of np.full: the next write raises.
        if x["writeable"] != y["writeable"]:
            raise _Difference(f"{path}: it can no longer be written to")
        self.sharing(path, x, y)
        if "v" in x:
            self.sequence(path, x["v"], y["v"])
            return
        fields = x["dtype"] if isinstance(x["dtype"], str) else _descr(x["dtype"])
        self.raw(path, x, y, np.dtype(fields))

    def sharing(self, path: str, x: Mapping[str, Any], y: Mapping[str, Any]) -> None:
        a, b = x["group"], y["group"]
        if self.groups.setdefault(a, b) != b or self.group_reverse.setdefault(b, a) != a:
            raise _Difference(f"{path}: it shares memory with another array on one side only")
        first = self.members.setdefault(a, (path, x, y))
        if first[0] == path:
            return
        moved = x["offset"] - first[1]["offset"] != y["offset"] - first[2]["offset"]
        if moved or x["strides"] != y["strides"]:
            raise _Difference(f"{path}: it shares other memory with {first[0]} than before")

    def raw(
        self, path: str, x: Mapping[str, Any], y: Mapping[str, Any], dtype: np.dtype[Any]
    ) -> None:
        a, b = self.a.bytes_of(x), self.b.bytes_of(y)
        if a is None or b is None:
            self.digests(path, x, y)
            return
        if dtype.itemsize == 0 or len(a) == 0:
            return
        mine, other = np.frombuffer(a, dtype=dtype), np.frombuffer(b, dtype=dtype)
        self.numbers += mine.size
        self.arrays(path, mine, other)

    def digests(self, path: str, x: Mapping[str, Any], y: Mapping[str, Any]) -> None:
        if "digest" not in x or "digest" not in y:
            raise _Incomparable(f"{path} is too large to be compared")
        if x["digest"] != y["digest"]:
            raise _Difference(f"{path}: its content differs ({x['size']} bytes)")


def _descr(fields: Any) -> Any:
    return [tuple(tuple(p) if isinstance(p, list) else p for p in field) for field in fields]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

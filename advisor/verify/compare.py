"""Comparison of two captured states: structure, types, sharing and numbers.

What must be equal whatever the exactness: structure, types (a Python float is not a
``numpy.float64``), dtypes, shapes, NaN positions, which names are one object, which arrays share
memory, integers, booleans and text. How far floats may be apart depends on the exactness: see
``tolerance``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import ErrorSize, Exactness
from .capture import Capture
from .matrices import Matrices
from .packing import Digested, equal
from .tolerance import Tolerance, compare_numbers, larger

NAMED = 4
"""How many things a message names before it only counts."""


@dataclass(frozen=True)
class Same:
    """Nothing that was compared differs by more than the tolerance."""

    error: ErrorSize
    what: str
    """What was compared, and what could not be."""
    accuracy: str = ""
    """Whether the result is as accurate as the original's, where both differ (see ``shadow``)."""


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


class _NotAlike(Exception):
    """What is packed differs, or something else refers to a part of it."""


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
    tolerance = Tolerance(exactness, reduction_length)
    walk = _Walk(original, candidate, tolerance, frozenset(ignore))
    try:
        try:
            walk.run()
        except _NotAlike:
            walk = _Walk(original.apart(), candidate.apart(), tolerance, frozenset(ignore))
            walk.run()
    except Digested:
        return Incomparable("a list of records is too large: its content differs (by its digest)")
    except _Difference as difference:
        return Different(str(difference))
    except _Incomparable as reason:
        return Incomparable(str(reason))
    return Same(replace(walk.error, numbers=walk.floats_seen), walk.summary())


def in_later_call(comparison: Different | Incomparable) -> Different | Incomparable:
    """What is said where only a second call of one process differs."""
    return replace(comparison, what=f"in a second call of one process, {comparison.what}")


_WORDS = {
    "r": "an object",
    "c": "builtins.complex",
    "b": "builtins.bytes",
    "s": "builtins.str",
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


def _raised(value: Any, capture: Capture) -> str:
    """The class of an exception as `reached.described` keeps it, in words."""
    if value is None:
        return "nothing"
    return str(capture.nodes[value[1]]["v"][0]).removeprefix("builtins.")


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
        self.numbers = self.records = 0
        self.floats_seen = 0
        self.matrices = Matrices(original)
        self.around = 0.0
        """The largest number of the matrix that the present list is a part of."""

    def run(self) -> None:
        if set(self.a.roots) != set(self.b.roots):
            raise _Difference(f"{sorted(set(self.a.roots) ^ set(self.b.roots))} on one side only")
        # An exception on one side only is said first: all else follows from it.
        for root in sorted(self.a.roots, key=lambda name: (name != "exception", name)):
            self.around = 0.0
            self.value(root, self.a.roots[root], self.b.roots[root])
            while self.queue:
                self.node(*self.queue.pop(0) if len(self.queue) < 64 else self.queue.pop())

    def summary(self) -> str:
        words = f"{len(self.pairs) + self.records} objects and {self.numbers} packed numbers"
        if self.opaque:
            names = ", ".join(self.opaque[:NAMED])
            more = len(self.opaque) - NAMED
            words += f"; not compared: {names}" + (f" and {more} more" if more > 0 else "")
        return words

    # ------------------------------------------------------------- values
    def value(self, path: str, a: Any, b: Any) -> None:
        if isinstance(a, dict) or isinstance(b, dict):
            raise _NotAlike  # a packed record that has a second name
        if isinstance(a, list) and isinstance(b, list) and a[0] == b[0]:
            self.tagged(path, a, b)
            return
        if path == "exception" and (a is None) is not (b is None):
            was, now = _raised(a, self.a), _raised(b, self.b)
            raise _Difference(f"the original raised {was}, the rewrite {now}")
        if type(a) is not type(b) or isinstance(a, list):
            was, now = _type_of(a, self.a), _type_of(b, self.b)
            raise _Difference(f"{path}: the type of the result changed from {was} to {now}")
        if type(a) is float:
            if a == b and a != 0.0:  # zeros have a sign
                self.floats_seen += 1
            else:
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
            if dtype.itemsize == 0:  # empty text
                return
            x, y = (np.frombuffer(bytes.fromhex(v[2]), dtype=dtype) for v in (a, b))
            self.arrays(path, x, y)
        elif a != b:
            before, after = (bytes.fromhex(v[1]) if v[0] in "bs" else v[-1] for v in (a, b))
            raise _Difference(f"{path}: {_short(before)} became {_short(after)}")

    def floats(self, path: str, a: Any, b: Any, dtype: np.dtype[Any]) -> None:
        self.arrays(path, np.array([a], dtype=dtype), np.array([b], dtype=dtype))

    def arrays(self, path: str, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> None:
        self.floats_seen += a.size if a.dtype.kind in "fc" else 0
        try:
            found = compare_numbers(a, b, self.tolerance, path, self.around)
            self.error = larger(self.error, found)
        except ValueError as difference:
            raise _Difference(str(difference)) from None

    # -------------------------------------------------------------- nodes
    def pair(self, path: str, a: int, b: int) -> None:
        known = self.pairs.get(a)
        x, y = self.a.nodes[a], self.b.nodes[b]
        # No one can tell two equal tuples of plain values from one; mutable objects they can.
        mutable = x["t"] not in _INTERCHANGEABLE or x.get("own", False)
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
        reordered = kind == "list" and self.tolerance.exactness is Exactness.REASSOCIATED
        self.around = self.matrices.around(a) if reordered else 0.0
        if kind == "opaque" or (kind in _CODED and _coded_elsewise(path, x, y)):
            if path.startswith(("result", "exception")):
                raise _Incomparable(f"{path} is a {x['cls']}, which cannot be compared")
            self.opaque.append(f"{path} ({x['cls']})")
            return
        if x.get("x") != y.get("x"):
            raise _Difference(f"{path}: {x.get('x')} became {y.get('x')}")
        if "packed" in x or "packed" in y:
            self.columns(path, x.get("packed", ()), y.get("packed", ()))
            x, y = ({**node, "v": []} for node in (x, y))
        if kind in ("array", "record"):
            self.array(path, x, y)
        elif kind == "dict":
            self.mapping(path, x, y)
        elif "size" in x or "size" in y:
            self.packed(path, x, y)
        else:
            self.sequence(path, x.get("v", []), y.get("v", []))
        if kind == "function":
            self.sequence(f"{path}.__closure__", x["cells"], y["cells"])
        if "made" in x:
            self.sequence(f"{path}.default_factory", x["made"], y["made"])
        self.attributes(path, x.get("a", []), y.get("a", []))

    def columns(self, path: str, mine: Sequence[Any], other: Sequence[Any]) -> None:
        if len(mine) != len(other):
            raise _NotAlike
        for x, y in zip(mine, other, strict=True):
            found = equal(x, self.a.bytes_of, y, self.b.bytes_of)
            if found is None:
                raise _NotAlike
            self.numbers += found.numbers
            self.floats_seen += found.floats
            self.records += found.records
            for a, b in found.met:
                try:
                    self.pair(path, a, b)
                except _Difference:
                    raise _NotAlike from None

    def sequence(self, path: str, a: list[Any], b: list[Any]) -> None:
        if len(a) != len(b):
            raise _Difference(f"{path}: its length changed from {len(a)} to {len(b)}")
        if _alike(a, b):
            return
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
        if x.get("metadata") != y.get("metadata"):
            raise _Difference(f"{path}: the metadata of its dtype changed")
        # A view of a padded buffer in place of an array of its own: reshape(-1) then copies. Or
        # Fortran order in place of C order: sums of it add in another order.
        if _steps(x) != _steps(y):
            raise _Difference(
                f"{path}: its layout in memory changed from strides {tuple(x['strides'])} to "
                f"{tuple(y['strides'])}"
            )
        # np.broadcast_to in place of np.full: the next write raises.
        if x["writeable"] != y["writeable"]:
            raise _Difference(f"{path}: it can no longer be written to")
        self.sharing(path, x, y)
        if "v" in x:
            self.sequence(path, x["v"], y["v"])
        elif "fields" in x:
            self.attributes(path, x["fields"], y["fields"])
        else:
            self.raw(path, x, y, np.dtype(x["dtype"]))

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
            self.digests(path, x, y, rounded=dtype.kind in "fc")
            return
        if dtype.itemsize == 0 or len(a) == 0:
            return
        mine, other = np.frombuffer(a, dtype=dtype), np.frombuffer(b, dtype=dtype)
        self.numbers += mine.size
        self.arrays(path, mine, other)

    def digests(
        self, path: str, x: Mapping[str, Any], y: Mapping[str, Any], *, rounded: bool
    ) -> None:
        if "digest" not in x or "digest" not in y:
            raise _Incomparable(f"{path} is too large to be compared")
        if x["digest"] != y["digest"]:
            if rounded and self.tolerance.exactness is not Exactness.BITS:
                raise _Incomparable(f"{path} is too large to be compared within a tolerance")
            raise _Difference(f"{path}: its content differs ({x['size']} bytes)")


_INTERCHANGEABLE = frozenset(
    {"tuple", "plain", "function", "method", "reduced", "opaque", "reference", "index"}
)
"""Kinds of nodes of which nobody can tell two equal ones from one."""
_CODED = ("function", "generator")


def _coded_elsewise(path: str, x: Mapping[str, Any], y: Mapping[str, Any]) -> bool:
    """Other code, which may well do the same: ``return lambda x: x * 2`` and ``x + x``.

    A function that the program's text defines may be the one that the rewrite is about.
    """
    returned = x["t"] == "generator" or path.startswith(("result", "exception"))
    return returned and x.get("code") != y.get("code")


def _alike(a: list[Any], b: list[Any]) -> bool:
    """Whether both hold the same text and ints: told at once of a million, and not of floats.

    Those have a sign at zero; and ``1 == True``, hence the types.
    """
    kinds = [*map(type, a)]
    return _EXACT.issuperset(kinds) and a == b and kinds == [*map(type, b)]


_EXACT = frozenset({str, int, bool, type(None)})


def _steps(node: Mapping[str, Any]) -> list[int]:
    """Strides along the axes where they matter."""
    if 0 in node["shape"]:
        return []
    return [s for s, n in zip(node["strides"], node["shape"], strict=True) if n > 1]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

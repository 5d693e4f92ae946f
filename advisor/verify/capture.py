"""The state of a program after a call, written down so that another process can compare it.

``write`` walks everything reachable from the given roots and writes one file: raw array data
first, then a JSON document, then eight bytes with the document's length. Objects are described by
type and content, never by address, and every mutable object is one numbered node, so that the
reader can tell ``b is a`` from ``b == a``. No pickle is written or read: what comes back from a
process that ran somebody's program is data, not code.

A *value* in the document is a JSON scalar (None, bool, int, float, str as such), or a list whose
first item says what it is: ``["r", node]``, ``["c", re, im]``, ``["n", dtype, hex]`` (a NumPy
scalar), ``["b", hex]``, ``["s", hex]`` (text that is no Unicode), ``["I", hex]`` (a huge int),
``["q", kind, name]`` (something known by its name), ``["t", ...]`` (a tuple of such values,
only as an element of a set), or ``{"e": serial}`` (a record that is packed with others, see
``packing``).

This module runs inside the user's process: it imports nothing heavy, and NumPy only if the
process has it already.
"""

from __future__ import annotations

import array
import hashlib
import json
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from .describe import (
    attributes,
    code_digest,
    memory_of,
    only_attributes,
    qualified,
    slots,
    special,
    steady,
)
from .describe_frames import frame_node
from .packing import PACK_FROM, SHARED, WEIGHT, Packer, apart, raw_numbers

__all__ = ["Capture", "TooLarge", "parse", "qualified", "read", "slots", "take", "write"]

Value = Any
"""One JSON value of the document, as described above."""

NODE_LIMIT = 1_500_000
"""Objects walked per capture; about 3 s. Beyond it the state is not compared in full."""
BYTE_LIMIT = 512 << 20
"""Array bytes written per capture; larger arrays are then compared by their digest only."""
ELEMENT_LIMIT = 2000
"""Objects without an order of their own in one set that are put in order by their content."""
MACHINERY = frozenset({"numba", "llvmlite", "line_profiler", "gpuadvise"})
"""Packages whose objects are compared by type only; numba's lists and dictionaries are data."""
_NUMBERS = (int, float, complex, bool)


class TooLarge(Exception):
    """More objects than ``NODE_LIMIT``."""


def _text(text: str) -> Value:
    """JSON writes two lone surrogates as it writes the character that they would stand for."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return ["s", text.encode("utf-8", "surrogatepass").hex()]
    return text


class _Encoder:
    """Numbers the objects and describes each once, without recursion."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        node_limit: int,
        byte_limit: int,
        final: bool = False,
        ordered: bool = True,
    ) -> None:
        self._write = write
        self._final, self._ordered = final, ordered
        self._kinds: dict[type, bool] = {}
        self._node_limit = node_limit
        self._byte_limit = byte_limit
        self._position = 0
        self._ids: dict[int, int] = {}
        self._alive: list[Any] = []
        self._groups: dict[int, int] = {}
        self._owners: list[Any] = []
        self._numpy: Any = sys.modules.get("numpy")
        self._packer = Packer(self._blob, self._ids)
        self._shared = False
        self.nodes: list[dict[str, Any]] = []

    def run(self, roots: Mapping[str, Any]) -> dict[str, Any]:
        numbered = {name: self.value(root) for name, root in roots.items()}
        done = 0
        while done < len(self._alive):
            self.nodes.append(self._described(self._alive[done]))
            done += 1
        return {"roots": numbered, "nodes": self.nodes, "shared": self._shared}

    # ------------------------------------------------------------- values
    def value(self, thing: Any) -> Value:
        kind = type(thing)
        if thing is None or kind is bool or kind is float:
            return thing
        if kind is str:
            return thing if thing.isascii() else _text(thing)
        if kind is int:
            return thing if thing.bit_length() < 4096 else ["I", hex(thing)]
        if kind is complex:
            return ["c", thing.real, thing.imag]
        if kind is bytes and len(thing) <= 4096:
            return ["b", thing.hex()]
        named = self._by_name(thing)
        if named is not None:
            return named
        serial = self._packer.serials.get(id(thing))
        if serial is None:
            return ["r", self._node(thing)]
        self._shared = True
        return {SHARED: serial}

    def _by_name(self, thing: Any) -> Value:
        if isinstance(thing, types.ModuleType):
            return ["q", "module", thing.__name__]
        if isinstance(thing, type):
            return ["q", "class", qualified(thing)]
        if isinstance(thing, types.BuiltinFunctionType) and (
            thing.__self__ is None or isinstance(thing.__self__, types.ModuleType)
        ):
            return ["q", "builtin", qualified(thing)]
        if thing is Ellipsis or thing is NotImplemented:
            return ["q", "constant", repr(thing)]
        # Compiled functions carry identifiers made up anew in every process.
        made_by = type(thing).__module__
        if made_by.partition(".")[0] in MACHINERY and not made_by.startswith("numba.typed"):
            return ["q", "machinery", qualified(type(thing))]
        np = self._numpy
        if np is None:
            return None
        if isinstance(thing, np.generic) and thing.dtype.kind not in "VO":
            return ["n", thing.dtype.str, thing.tobytes().hex()]
        if isinstance(thing, np.dtype):
            return ["q", "dtype", repr(thing)]
        if isinstance(thing, np.ufunc):
            return ["q", "ufunc", thing.__name__]
        return None

    def _node(self, thing: Any) -> int:
        known = self._ids.get(id(thing))
        if known is not None:
            return known
        self._check_limit(1)
        self._ids[id(thing)] = len(self._alive)
        self._alive.append(thing)
        return len(self._alive) - 1

    def _check_limit(self, more: int = 0) -> None:
        if len(self._alive) + self._packer.records // WEIGHT + more > self._node_limit:
            raise TooLarge(f"more than {self._node_limit} objects")

    def _element(self, thing: Any) -> Value:
        """A set's element: without a node where possible, as nodes have no sortable content."""
        if type(thing) is tuple:
            return ["t", *(self._element(item) for item in thing)]
        return self.value(thing)

    # -------------------------------------------------------------- nodes
    def _described(self, thing: Any) -> dict[str, Any]:
        try:
            return self._describe(thing)
        except TooLarge:
            raise
        except Exception:  # the object's own code may run here, and raise whatever it likes
            return {"t": "opaque", "cls": qualified(type(thing))}

    def _describe(self, thing: Any) -> dict[str, Any]:
        kind = type(thing)
        if kind is list or kind is tuple:
            return {"t": kind.__name__, **self._sequence(thing)}
        if kind is dict:
            return {"t": "dict", **self._mapping(thing)}
        if kind is types.FunctionType:
            return self._function(thing)
        if kind is types.MethodType:
            return {"t": "method", "v": [self.value(thing.__func__), self.value(thing.__self__)]}
        np = self._numpy
        if np is not None and issubclass(kind, np.ndarray):
            return self._array(thing)
        if np is not None and issubclass(kind, np.void):
            return {**self._array(np.asarray(thing)), "t": "record", "cls": qualified(kind)}
        if (frame := frame_node(thing, self.value)) is not None:
            return {**frame, "cls": qualified(kind)}
        if self._plain(kind):
            return {"t": "object", "cls": qualified(kind), **self._attributes(thing)}
        known = self._container(thing, kind) or special(thing, self.value, final=self._final)
        if known is not None:
            if "a" in known:
                return {**known, "cls": qualified(kind)}
            return {**known, "cls": qualified(kind), **self._attributes(thing)}
        return {**self._reduced(thing), "cls": qualified(kind)}

    def _sequence(self, thing: Any) -> dict[str, Any]:
        if len(thing) >= PACK_FROM:
            raw = raw_numbers(thing, set(map(type, thing)))
            if raw is not None:
                return {"p": raw[0], **self._blob(raw[1])}
            column = self._packer.packed(thing)
            if column is not None:
                self._check_limit()
                return {"packed": [column]}
        return {"v": [self.value(item) for item in thing]}

    def _mapping(self, thing: Any) -> dict[str, Any]:
        """Keys and values of any dictionary, in their order."""
        columns = self._packer.packed_pairs(dict.keys(thing), dict.values(thing))
        if columns is not None:
            self._check_limit()
            return {"packed": columns}
        return {"v": [[self.value(key), self.value(item)] for key, item in dict.items(thing)]}

    def _items(self, thing: Any) -> list[list[Value]]:
        return [[self.value(key), self.value(item)] for key, item in thing.items()]

    def _function(self, thing: Any) -> dict[str, Any]:
        # A function is code (compared by name where the program's text defines it, as a rewrite
        # changes it) and what it carries from call to call: def f(x, seen=[]): seen.append(x),
        # or a counter in a closure.
        keywords = thing.__kwdefaults__ or {}
        return {
            "t": "function",
            "cls": qualified(thing),
            "code": code_digest(thing.__code__),
            "v": [self.value(item) for item in (*(thing.__defaults__ or ()), *keywords.values())],
            "cells": [self.value(cell) for cell in thing.__closure__ or ()],
            "a": self._items(thing.__dict__) if thing.__dict__ else [],
        }

    def _container(self, thing: Any, kind: type) -> dict[str, Any] | None:
        from collections import defaultdict, deque

        if issubclass(kind, set | frozenset):
            return {"t": "set", **self._set(thing, kind)}
        if issubclass(kind, list):
            return {"t": "list", **self._sequence(list(list.__iter__(thing)))}
        if issubclass(kind, tuple):
            return {"t": "tuple", **self._sequence(tuple(tuple.__iter__(thing)))}
        if issubclass(kind, dict):
            made = self.value(thing.default_factory) if issubclass(kind, defaultdict) else None
            return {"t": "dict", **self._mapping(thing), "made": [made]}
        if issubclass(kind, deque):
            return {"t": "list", "x": thing.maxlen, **self._sequence(list(deque.__iter__(thing)))}
        if issubclass(kind, bytes | bytearray):
            return {"t": "bytes", **self._blob(bytes(memoryview(thing)))}
        if issubclass(kind, array.array):
            return {"t": "bytes", "x": thing.typecode, **self._blob(array.array.tobytes(thing))}
        bases: tuple[Any, ...] = (int, float, complex, str)  # subclasses of the plain ones
        for base in bases:
            if issubclass(kind, base):
                return {"t": "plain", "v": [self.value(base.__new__(base, thing))]}
        return None

    def _set(self, thing: Any, kind: type) -> dict[str, Any]:
        """Numbers in the order of iteration, which a program can rely on; others sorted.

        The order of text differs from run to run (PYTHONHASHSEED), that of objects with their
        addresses. Not that of numbers: ``for v in found: total += v`` adds in another order where
        another history filled the set.
        """
        base: Any = set if issubclass(kind, set) else frozenset
        items = list(base.__iter__(thing))
        if all(map(steady, items)):
            return {"x": "ordered", "v": [self._element(item) for item in items]}
        if not all(type(item) is str for item in items) and len(items) <= ELEMENT_LIMIT:
            items.sort(key=self._rank)
        elements = [self._element(item) for item in items]
        texts = [json.dumps(element) for element in elements]
        if not any('["r",' in text for text in texts):
            elements = [element for _, element in sorted(zip(texts, elements, strict=True))]
        return {"v": elements}

    def _rank(self, thing: Any) -> str:
        """Something to sort objects by that their addresses have no part in."""
        if type(thing) in _NUMBERS or type(thing) is str or thing is None:
            return json.dumps(thing)
        digest = hashlib.blake2b(digest_size=16)
        try:
            write({"element": thing}, digest.update, node_limit=self._node_limit // 1000 + 10)
        except TooLarge:
            return qualified(type(thing))
        return qualified(type(thing)) + digest.hexdigest()

    def _plain(self, kind: type) -> bool:
        known = self._kinds.get(kind)
        if known is None:
            data_of_numba = kind.__module__.startswith("numba.typed")
            known = self._kinds[kind] = only_attributes(kind) and not data_of_numba
        return known

    def _attributes(self, thing: Any) -> dict[str, Any]:
        own = attributes(thing, ordered=self._ordered)
        found = [[name, self.value(item)] for name, item in own]
        return {"a": found} if found else {}

    def _reduced(self, thing: Any) -> dict[str, Any]:
        """Library objects, by the parts that pickle would store."""
        import copyreg

        kind: Any = type(thing)
        registered: Any = copyreg.dispatch_table.get(kind)
        parts = registered(thing) if registered is not None else thing.__reduce_ex__(4)
        # Iterators and the like can be told from their equals by using them up.
        own = {"own": True} if kind.__hash__ is object.__hash__ else {}
        if isinstance(parts, str):
            return {"t": "reduced", "v": [parts], **own, **self._attributes(thing)}
        head, args, state, items, pairs = (*parts, None, None, None)[:5]
        rest = [list(items) if items else None, [list(p) for p in pairs] if pairs else None]
        node = {"t": "reduced", "v": [self.value(p) for p in (head, args, state, *rest)], **own}
        # class Money(Fraction) with a currency: Fraction says how to pickle, and forgets it.
        covered = state.keys() if isinstance(state, dict) else ()
        held = attributes(thing, ordered=self._ordered)
        extra = [[name, self.value(v)] for name, v in held if name not in covered]
        return {**node, "a": extra} if extra and not isinstance(thing, BaseException) else node

    # -------------------------------------------------------------- arrays
    def _array(self, thing: Any) -> dict[str, Any]:
        root, start = memory_of(thing, self._numpy)
        self._owners.append(root)
        kind = type(thing)
        node = {
            "t": "array",
            "cls": qualified(kind),
            "dtype": str(thing.dtype) if thing.dtype.fields else thing.dtype.str,
            "shape": list(thing.shape),
            "writeable": bool(thing.flags.writeable),
            "group": self._groups.setdefault(id(root), len(self._groups)),
            "offset": thing.__array_interface__["data"][0] - start,
            "strides": list(thing.strides),
        }
        if thing.dtype.metadata:
            node["metadata"] = repr(sorted(thing.dtype.metadata.items(), key=repr))
        if kind is not self._numpy.ndarray:
            node |= self._attributes(thing)
        if thing.dtype.hasobject:
            return {**node, "v": [self.value(item) for item in thing.reshape(-1).tolist()]}
        if thing.dtype.fields is None:
            return {**node, **self._array_blob(thing)}
        # Field by field: what lies between the fields is nobody's.
        plain = thing.view(self._numpy.ndarray)
        fields = [(name, plain[name]) for name in thing.dtype.names]
        return {**node, "fields": [[name, self.value(part.copy())] for name, part in fields]}

    def _array_blob(self, thing: Any) -> dict[str, Any]:
        flat = self._numpy.ascontiguousarray(thing).reshape(-1)
        step = max(1, (16 << 20) // max(1, flat.dtype.itemsize))
        pieces = (flat[at : at + step].tobytes() for at in range(0, flat.size, step))
        return self._blobs(pieces, flat.nbytes)

    def _blob(self, data: bytes) -> dict[str, Any]:
        return self._blobs(iter((data,)), len(data))

    def _blobs(self, pieces: Iterator[bytes], size: int) -> dict[str, Any]:
        if self._position + size > self._byte_limit:
            digest = hashlib.blake2b(digest_size=16)
            for piece in pieces:
                digest.update(piece)
            return {"digest": digest.hexdigest(), "size": size}
        start = self._position
        for piece in pieces:
            self._write(piece)
        self._position += size
        return {"at": start, "size": size}


def write(
    roots: Mapping[str, Any],
    sink: Callable[[bytes], None],
    *,
    node_limit: int = NODE_LIMIT,
    byte_limit: int = BYTE_LIMIT,
    final: bool = False,
    ordered: bool = True,
) -> None:
    """Describe what is reachable from ``roots`` and hand it to ``sink`` piece by piece.

    ``final``: this process does nothing else afterwards, so that open files may be flushed, and
    read on to tell where they stand. ``ordered``: attributes in the order of their assignment; the
    program is slower afterwards. Raises TooLarge beyond ``node_limit`` objects.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # describing an itertools object is deprecated from 3.12 on
        document = _Encoder(sink, node_limit, byte_limit, final, ordered).run(roots)
    text = json.dumps(document, separators=(",", ":")).encode("ascii")
    sink(text)
    sink(len(text).to_bytes(8, "little"))


@dataclass(frozen=True)
class Capture:
    """A capture as read back."""

    roots: Mapping[str, Value]
    nodes: tuple[Mapping[str, Any], ...]
    data: memoryview = field(repr=False)
    shared: bool = False
    """Something refers to a record that is packed with others."""

    def apart(self) -> Capture:
        """The same with all objects described one by one. Raises packing.Digested."""
        if not any("packed" in node for node in self.nodes):
            return self
        nodes = apart(self.nodes, self.bytes_of, shared=self.shared)
        return Capture(self.roots, nodes, self.data)

    def bytes_of(self, node: Mapping[str, Any]) -> memoryview | None:
        """The raw data of a node; None if only its digest was kept."""
        if "raw" in node:
            return memoryview(node["raw"])
        if "at" not in node:
            return None
        return self.data[node["at"] : node["at"] + node["size"]]


def parse(content: bytes | memoryview) -> Capture:
    """Read what ``write`` wrote. Raises ValueError if it is not complete."""
    view = memoryview(content)
    if len(view) < 8:
        raise ValueError("the capture is empty")
    size = int.from_bytes(view[-8:], "little")
    start = len(view) - 8 - size
    if start < 0:
        raise ValueError("the capture is cut off")
    document = json.loads(bytes(view[start:-8]))
    nodes, shared = tuple(document["nodes"]), document["shared"]
    return Capture(document["roots"], nodes, view[:start], shared)


def read(stream: IO[bytes]) -> Capture:
    """Read a capture from a file, by mapping it."""
    import mmap

    try:
        return parse(memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)))
    except ValueError as problem:  # mmap refuses an empty file in the same way
        raise ValueError(f"no capture came back ({problem})") from None


def take(roots: Mapping[str, Any], **limits: Any) -> Capture:
    """Capture within this process."""
    pieces: list[bytes] = []
    write(roots, pieces.append, **limits)
    return parse(b"".join(pieces))

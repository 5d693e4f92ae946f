"""The state of a program after a call, written down so that another process can compare it.

``write`` walks everything reachable from the given roots and writes one file: raw array data
first, then a JSON document, then eight bytes with the document's length. Objects are described by
type and content, never by address, and every mutable object is one numbered node, so that the
reader can tell ``b is a`` from ``b == a``. No pickle is written or read: what comes back from a
process that ran somebody's program is data, not code.

A *value* in the document is a JSON scalar (None, bool, int, float, str as such), or a list whose
first item says what it is: ``["r", node]``, ``["c", re, im]``, ``["n", dtype, hex]`` (a NumPy
scalar), ``["b", hex]``, ``["I", hex]`` (a huge int), ``["q", kind, name]`` (something known by its
name), ``["t", ...]`` (a tuple of such values, only as an element of a set).

This module runs inside the user's process: it imports nothing heavy, and NumPy only if the
process has it already.
"""

from __future__ import annotations

import array
import hashlib
import json
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

Value = Any
"""One JSON value of the document, as described above."""

NODE_LIMIT = 1_500_000
"""Objects walked per capture; about 3 s. Beyond it the state is not compared in full."""
BYTE_LIMIT = 512 << 20
"""Array bytes written per capture; larger arrays are then compared by their digest only."""
PACK_FROM = 8
"""Lists of this many floats or ints are written as raw numbers."""

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a ``class`` statement
_OPAQUE_TYPES = (
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
    types.FrameType,
    types.CodeType,
    types.TracebackType,
)

MACHINERY = frozenset({"numba", "llvmlite", "line_profiler", "gpuadvise"})
"""Packages whose objects are compared by type only."""


class TooLarge(Exception):
    """More objects than ``NODE_LIMIT``."""


def qualified(thing: Any) -> str:
    """``module.qualname`` of a class or function."""
    return f"{getattr(thing, '__module__', '?')}.{getattr(thing, '__qualname__', '?')}"


def slots(cls: type) -> Iterator[str]:
    """Names under which instances keep values outside ``__dict__``."""
    for base in cls.__mro__:
        names = base.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__"):
                private = name.startswith("__") and not name.endswith("__")
                yield f"_{base.__name__.lstrip('_')}{name}" if private else name


class _Encoder:
    """Numbers the objects and describes each once, without recursion."""

    def __init__(self, write: Callable[[bytes], None], node_limit: int, byte_limit: int) -> None:
        self._write = write
        self._node_limit = node_limit
        self._byte_limit = byte_limit
        self._position = 0
        self._ids: dict[int, int] = {}
        self._alive: list[Any] = []
        self._groups: dict[int, int] = {}
        self._owners: list[Any] = []
        self._random: Any = sys.modules.get("random")
        self._numpy: Any = sys.modules.get("numpy")
        self.nodes: list[dict[str, Any]] = []

    def run(self, roots: Mapping[str, Any]) -> dict[str, Any]:
        document = {"roots": {name: self.value(root) for name, root in roots.items()}}
        done = 0
        while done < len(self._alive):
            self.nodes.append(self._describe(self._alive[done]))
            done += 1
        document["nodes"] = self.nodes  # type: ignore[assignment]
        return document

    # ------------------------------------------------------------- values
    def value(self, thing: Any) -> Value:
        kind = type(thing)
        if thing is None or kind is bool or kind is float or kind is str:
            return thing
        if kind is int:
            return thing if thing.bit_length() < 4096 else ["I", hex(thing)]
        if kind is complex:
            return ["c", thing.real, thing.imag]
        if kind is bytes and len(thing) <= 4096:
            return ["b", thing.hex()]
        named = self._by_name(thing)
        return named if named is not None else ["r", self._node(thing)]

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
        if type(thing).__module__.partition(".")[0] in MACHINERY:
            return ["q", "machinery", qualified(type(thing))]
        np = self._numpy
        if np is None:
            return None
        if isinstance(thing, np.generic) and not thing.dtype.hasobject:
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
        if len(self._alive) >= self._node_limit:
            raise TooLarge(f"more than {self._node_limit} objects")
        self._ids[id(thing)] = len(self._alive)
        self._alive.append(thing)
        return len(self._alive) - 1

    def _element(self, thing: Any) -> Value:
        """A set's element: without a node where possible, as nodes have no sortable content."""
        if type(thing) is tuple:
            return ["t", *(self._element(item) for item in thing)]
        return self.value(thing)

    # -------------------------------------------------------------- nodes
    def _describe(self, thing: Any) -> dict[str, Any]:
        kind = type(thing)
        if kind is list:
            return {"t": "list", **self._sequence(thing)}
        if kind is tuple:
            return {"t": "tuple", **self._sequence(thing)}
        if kind is dict:
            return {"t": "dict", "v": self._items(thing)}
        if isinstance(thing, types.FunctionType):
            return self._function(thing)
        if isinstance(thing, types.MethodType):
            parts = [self.value(thing.__func__), self.value(thing.__self__)]
            return {"t": "method", "v": parts}
        if self._numpy is not None and isinstance(thing, self._numpy.ndarray):
            return self._array(thing)
        special = self._container(thing) or self._generator_state(thing)
        if special is not None:
            return {**special, "cls": qualified(kind), **self._attributes(thing)}
        return self._object(thing)

    def _sequence(self, thing: Any) -> dict[str, Any]:
        if len(thing) >= PACK_FROM:
            kinds = set(map(type, thing))
            if kinds == {float}:
                return {"p": "d", **self._blob(array.array("d", thing).tobytes())}
            if kinds == {int}:
                try:
                    return {"p": "q", **self._blob(array.array("q", thing).tobytes())}
                except OverflowError:  # beyond 64 bits: one by one
                    pass
        return {"v": [self.value(item) for item in thing]}

    def _items(self, thing: Any) -> list[list[Value]]:
        return [[self.value(key), self.value(item)] for key, item in thing.items()]

    def _function(self, thing: Any) -> dict[str, Any]:
        # A function is code (compared by name) and what it carries from call to call:
        # def f(x, seen=[]): seen.append(x)
        return {
            "t": "function",
            "cls": qualified(thing),
            "v": [self.value(default) for default in thing.__defaults__ or ()],
            "a": self._items(thing.__dict__) if thing.__dict__ else [],
        }

    def _container(self, thing: Any) -> dict[str, Any] | None:
        from collections import deque

        if isinstance(thing, set | frozenset):
            elements = [self._element(item) for item in thing]
            return {"t": "set", "v": sorted(elements, key=lambda e: json.dumps(e))}
        if isinstance(thing, list):
            return {"t": "list", **self._sequence(list(list.__iter__(thing)))}
        if isinstance(thing, tuple):
            return {"t": "tuple", **self._sequence(tuple(tuple.__iter__(thing)))}
        if isinstance(thing, dict):
            pairs = [[self.value(k), self.value(v)] for k, v in dict.items(thing)]
            return {"t": "dict", "v": pairs}
        if isinstance(thing, deque):
            return {"t": "list", "x": thing.maxlen, **self._sequence(list(thing))}
        if isinstance(thing, bytes | bytearray):
            return {"t": "bytes", **self._blob(bytes(thing))}
        if isinstance(thing, array.array):
            return {"t": "bytes", "x": thing.typecode, **self._blob(thing.tobytes())}
        if isinstance(thing, int | float | complex | str):  # subclasses of the plain ones
            bases: tuple[Any, ...] = (int, float, complex, str)
            base = next(b for b in bases if isinstance(thing, b))
            return {"t": "plain", "v": [self.value(base.__new__(base, thing))]}
        return None

    def _generator_state(self, thing: Any) -> dict[str, Any] | None:
        """Random generators: what they will draw next."""
        if self._random is not None and type(thing) is self._random.Random:
            return {"t": "random", "v": [self.value(thing.getstate())]}
        drawn = getattr(self._numpy, "random", None)
        if drawn is None:
            return None
        if isinstance(thing, drawn.Generator):
            return {"t": "random", "v": [self.value(thing.bit_generator.state)]}
        if isinstance(thing, drawn.RandomState):
            return {"t": "random", "v": [self.value(thing.get_state(legacy=False))]}
        return None

    def _attributes(self, thing: Any) -> dict[str, Any]:
        found: list[list[Value]] = []
        own = getattr(thing, "__dict__", None)
        if type(own) is dict:
            found += [[name, self.value(item)] for name, item in own.items()]
        if type(thing).__flags__ & _HEAP_TYPE:
            for name in slots(type(thing)):
                try:
                    found.append([name, self.value(object.__getattribute__(thing, name))])
                except AttributeError:  # a slot without a value
                    continue
        return {"a": found} if found else {}

    def _object(self, thing: Any) -> dict[str, Any]:
        kind: Any = type(thing)
        head = {"cls": qualified(kind)}
        if isinstance(thing, _OPAQUE_TYPES):
            return {"t": "opaque", **head}
        plain = (
            kind.__reduce_ex__ is object.__reduce_ex__
            and kind.__reduce__ is object.__reduce__
            and kind.__flags__ & _HEAP_TYPE
        )
        if plain:
            return {"t": "object", **head, **self._attributes(thing)}
        return {**self._reduced(thing), **head}

    def _reduced(self, thing: Any) -> dict[str, Any]:
        """Library objects, by the parts that pickle would store."""
        try:
            parts = thing.__reduce_ex__(4)
            if isinstance(parts, str):
                return {"t": "reduced", "v": [parts]}
            head, args, state, items, pairs = (*parts, None, None, None)[:5]
            rest = [list(items) if items else None, [list(p) for p in pairs] if pairs else None]
            return {"t": "reduced", "v": [self.value(p) for p in (head, args, state, *rest)]}
        except TooLarge:
            raise
        except Exception:  # the object's own code runs here, and it may refuse in any way
            return {"t": "opaque"}

    # -------------------------------------------------------------- arrays
    def _array(self, thing: Any) -> dict[str, Any]:
        owner = thing
        while isinstance(owner.base, self._numpy.ndarray):
            owner = owner.base
        start = owner.__array_interface__["data"][0]
        root = owner if owner.base is None else owner.base
        self._owners.append(root)
        node = {
            "t": "array",
            "cls": qualified(type(thing)),
            "dtype": thing.dtype.str if thing.dtype.fields is None else thing.dtype.descr,
            "shape": list(thing.shape),
            "contiguous": bool(thing.flags.c_contiguous),
            "writeable": bool(thing.flags.writeable),
            "group": self._groups.setdefault(id(root), len(self._groups)),
            "offset": thing.__array_interface__["data"][0] - start,
            "strides": list(thing.strides),
        }
        if type(thing) is not self._numpy.ndarray:
            node |= self._attributes(thing)
        if thing.dtype.hasobject:
            flat = [self.value(item) for item in thing.reshape(-1).tolist()]
            return {**node, "v": flat}
        return {**node, **self._array_blob(thing)}

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
) -> None:
    """Describe what is reachable from ``roots`` and hand it to ``sink`` piece by piece.

    Raises TooLarge beyond ``node_limit`` objects.
    """
    document = _Encoder(sink, node_limit, byte_limit).run(roots)
    text = json.dumps(document, separators=(",", ":")).encode("ascii")
    sink(text)
    sink(len(text).to_bytes(8, "little"))


@dataclass(frozen=True)
class Capture:
    """A capture as read back."""

    roots: Mapping[str, Value]
    nodes: tuple[Mapping[str, Any], ...]
    data: memoryview = field(repr=False)

    def bytes_of(self, node: Mapping[str, Any]) -> memoryview | None:
        """The raw data of a node; None if only its digest was kept."""
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
    return Capture(document["roots"], tuple(document["nodes"]), view[:start])


def read(stream: IO[bytes]) -> Capture:
    """Read a capture from a file, by mapping it."""
    import mmap

    try:
        return parse(memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)))
    except ValueError as problem:  # mmap refuses an empty file in the same way
        raise ValueError(f"no capture came back ({problem})") from None


def take(roots: Mapping[str, Any], **limits: int) -> Capture:
    """Capture within this process."""
    pieces: list[bytes] = []
    write(roots, pieces.append, **limits)
    return parse(b"".join(pieces))

"""What particular kinds of objects hold, in terms of values that ``capture`` can write down.

Each function here returns the node of one object, or None where it is of another kind. Nothing
has an effect on the program unless ``final`` is set, which says that this capture is the last act
of its process: only then are streams flushed and read on.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from struct import calcsize
from typing import Any

from ..observe.instances import stored

Encode = Callable[[Any], Any]
Node = dict[str, Any]

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a ``class`` statement, or by newer C code
_POINTER = calcsize("P")
CONTENT_LIMIT = 16 << 20
"""Bytes of a file open for writing whose content is looked at."""
AHEAD = 1 << 16
"""Characters read on to tell how far an open file was consumed."""
HEADROOM = 32
"""Bytes of digest asked of a hash of any length (SHAKE)."""


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


def only_attributes(cls: type) -> bool:
    """True if instances keep nothing but attributes: no state of C code behind them.

    The size says so, as it does for ``copyreg`` and ``object.__reduce_ex__``. A ``csv.reader`` or
    a hash object is made of a heap type without attributes, and still holds a state.
    """
    if not cls.__flags__ & _HEAP_TYPE or cls.__itemsize__:
        return False
    places = (cls.__dictoffset__ > 0) + (cls.__weakrefoffset__ > 0) + sum(1 for _ in slots(cls))
    return cls.__basicsize__ <= object.__basicsize__ + places * _POINTER


def attributes(thing: Any, *, ordered: bool = True) -> Iterator[tuple[str, Any]]:
    """What an instance keeps in ``__dict__`` and in slots.

    ``ordered``: in the order in which they were assigned, which takes a ``__dict__``. Making one
    slows every later access to the instance's attributes.
    """
    if ordered:
        try:
            own = object.__getattribute__(thing, "__dict__")
        except AttributeError:
            own = None
    else:
        own = stored(thing)
    if type(own) is dict:
        yield from own.items()
    if type(thing).__flags__ & _HEAP_TYPE:
        for name in slots(type(thing)):
            with contextlib.suppress(AttributeError):  # a slot without a value
                yield name, object.__getattribute__(thing, name)


def code_digest(code: types.CodeType) -> str:
    """What a code object does, without line numbers and file names."""
    digest = hashlib.blake2b(digest_size=8)
    shape = (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    digest.update(repr((code.co_code, shape, names)).encode("utf-8", "surrogatepass"))
    for constant in code.co_consts:
        known = code_digest(constant) if isinstance(constant, types.CodeType) else repr(constant)
        digest.update(f"{type(constant).__name__} {known};".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def memory_of(thing: Any, np: Any) -> tuple[Any, int]:
    """The object that owns an array's memory, and the address it starts at."""
    owner, root = thing, thing
    while True:
        if isinstance(root, np.ndarray):
            owner, base = root, root.base
        elif isinstance(root, memoryview):
            base = root.obj
        elif type(root).__name__ == "DummyArray":  # between as_strided() and what it looks at
            base = root.base
        else:
            base = None
        if base is None:
            return root, owner.__array_interface__["data"][0]
        root = base


def steady(item: Any) -> bool:
    """Hashed alike in every process: numbers, and tuples of them."""
    if type(item) is tuple:
        return all(map(steady, item))
    return type(item) in (int, float, complex, bool)


# ------------------------------------------------------------------ dispatch
def special(thing: Any, value: Encode, *, final: bool) -> Node | None:
    """The node of an object whose content neither attributes nor ``__reduce_ex__`` tell."""
    for describe in _DESCRIBERS:
        node = describe(thing, value)
        if node is not None:
            return node
    if isinstance(thing, io.IOBase):
        return _stream(thing, value, final)
    return None


def _suspended(thing: Any, value: Encode) -> Node | None:
    """Generators and coroutines: the code, where it stands, and its local variables."""
    for kind, prefix in _SUSPENDED:
        if isinstance(thing, kind):
            code, frame = getattr(thing, f"{prefix}_code"), getattr(thing, f"{prefix}_frame")
            node: Node = {"t": "generator", "code": code_digest(code)}
            if frame is None:  # ran to its end
                return {**node, "v": [None]}
            local = [[name, value(item)] for name, item in sorted(dict(frame.f_locals).items())]
            # What a loop inside goes through is no variable: for _ in [7, 7, 7]: yield 7
            through = [item for item in gc.get_referents(thing) if hasattr(type(item), "__next__")]
            return {**node, "v": [frame.f_lasti, *map(value, through)], "a": local}
    return None


_SUSPENDED = (
    (types.GeneratorType, "gi"),
    (types.CoroutineType, "cr"),
    (types.AsyncGeneratorType, "ag"),
)


def _cached(thing: Any, value: Encode) -> Node | None:
    """``functools.lru_cache``: how often it was asked, and how much it holds."""
    functools: Any = sys.modules.get("functools")
    if functools is None or not isinstance(thing, functools._lru_cache_wrapper):
        return None
    wrapped = getattr(thing, "__wrapped__", None)
    return {"t": "cache", "v": [value(item) for item in (*thing.cache_info(), wrapped)]}


def _reference(thing: Any, value: Encode) -> Node | None:
    if isinstance(thing, weakref.ReferenceType):
        return {"t": "reference", "v": [value(thing())]}
    return None


def _view(thing: Any, value: Encode) -> Node | None:
    """Windows on other objects: their content, in order."""
    if isinstance(thing, memoryview):
        form = f"{thing.format} {thing.shape} {thing.readonly}"
        return {"t": "reference", "x": form, "v": [value(thing.tobytes()), value(thing.obj)]}
    if isinstance(thing, types.MappingProxyType):
        return {"t": "reference", "v": [value(dict(thing))]}
    if isinstance(thing, _DICT_VIEWS):
        return {"t": "reference", "v": [value(list(thing))]}
    if isinstance(thing, types.CellType):
        try:
            return {"t": "cell", "v": [value(thing.cell_contents)]}
        except ValueError:  # not yet assigned
            return {"t": "cell", "v": []}
    if isinstance(thing, types.CodeType):
        return {"t": "reference", "x": code_digest(thing)}
    return None


_DICT_VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))


def _threading(thing: Any, value: Encode) -> Node | None:
    """Locks (held or not), and what thread-locals and context variables are in this thread."""
    thread: Any = sys.modules["_thread"]
    if isinstance(thing, thread.LockType):
        return {"t": "lock", "v": [thing.locked()]}
    if isinstance(thing, thread._local):
        return {"t": "object", "a": [[name, value(item)] for name, item in vars(thing).items()]}
    context: Any = sys.modules.get("_contextvars")
    if context is not None and isinstance(thing, context.ContextVar):
        missing = object()
        current = thing.get(missing)
        known = [] if current is missing else [value(current)]
        return {"t": "reference", "x": thing.name, "v": known}
    return None


def _hash(thing: Any, value: Encode) -> Node | None:
    kind = type(thing)
    names = ("_hashlib", "_sha1", "_sha2", "_sha256", "_sha512", "_sha3", "_md5", "_blake2")
    if kind.__module__ not in names or not hasattr(kind, "hexdigest"):
        return None
    digest = thing.hexdigest() if thing.digest_size else thing.hexdigest(HEADROOM)
    return {"t": "hash", "x": thing.name, "v": [digest]}


def _draws(thing: Any, value: Encode) -> Node | None:
    """Random generators: what they will draw next, and how they will seed others."""
    python: Any = sys.modules.get("random")
    if python is not None and isinstance(thing, python.Random):
        if isinstance(thing, python.SystemRandom):
            return {"t": "random"}
        return {"t": "random", "v": [value(thing.getstate())]}
    drawn = getattr(sys.modules.get("numpy"), "random", None)
    if drawn is None:
        return None
    if isinstance(thing, drawn.RandomState):
        return {"t": "random", "v": [value(thing.get_state(legacy=False))]}
    bits = thing.bit_generator if isinstance(thing, drawn.Generator) else thing
    if not isinstance(bits, drawn.BitGenerator):
        return None
    # rng.spawn() draws nothing, and gives other children the next time.
    seed = getattr(bits, "seed_seq", None)
    spawned = getattr(seed, "n_children_spawned", None)
    return {"t": "random", "v": [value(bits.state), value(spawned)]}


def _typed(thing: Any, value: Encode) -> Node | None:
    """numba's own lists and dictionaries."""
    kind = type(thing)
    if kind.__module__.startswith("numba.typed"):
        if kind.__name__ == "List":
            return {"t": "list", "v": [value(item) for item in thing], "a": []}
        if kind.__name__ == "Dict":
            return {"t": "dict", "v": [[value(k), value(thing[k])] for k in thing], "a": []}
    return None


_DESCRIBERS: tuple[Callable[[Any, Encode], Node | None], ...] = (
    _suspended,
    _cached,
    _reference,
    _view,
    _threading,
    _hash,
    _draws,
    _typed,
)


# ------------------------------------------------------------------- streams
def _stream(thing: Any, value: Encode, final: bool) -> Node:
    """An open file: where it stands and, if it is written to, what is in it."""
    head = [getattr(thing, "mode", None), thing.closed]
    if thing.closed:
        return {"t": "file", "v": [value(item) for item in head]}
    if isinstance(thing, io.StringIO | io.BytesIO):
        parts = [*head, thing.tell(), thing.getvalue()]
        return {"t": "file", "v": [value(item) for item in parts]}
    parts = [*head, _position(thing, final)]
    if final:
        parts.append(_content(thing))
    return {"t": "file", "v": [value(item) for item in parts]}


def _position(thing: Any, final: bool) -> list[Any]:
    """How far a stream was read or written, as well as it can be told without an effect."""
    raw = getattr(thing, "buffer", thing)
    try:
        if not raw.seekable():
            return ["pipe"]
        if thing.writable():
            if final or _private(thing):
                thing.flush()
            return ["written", raw.tell()]
        if not final:
            # Within ``for line in stream`` only where the chunk that it was read in ends.
            with contextlib.suppress(OSError):
                return ["read", thing.tell()]
            return ["read on", raw.tell()]
        # ``for line in stream`` reads ahead and disables tell(): what comes next says it.
        ahead = thing.read(AHEAD)
        data = ahead.encode("utf-8", "surrogatepass") if isinstance(ahead, str) else bytes(ahead)
        return ["read", hashlib.blake2b(data, digest_size=16).hexdigest(), raw.tell()]
    except (OSError, ValueError):
        return ["unknown"]


def _private(thing: Any) -> bool:
    """True if nobody sees what is written: see the module ``private``."""
    import os

    try:
        return os.readlink(f"/proc/self/fd/{thing.fileno()}").startswith("/memfd:")  # noqa: PTH115
    except (OSError, ValueError):
        return False


def _content(thing: Any) -> str | None:
    """Digest of a regular file that is open for writing; None for others and for large ones."""
    import os
    import stat

    try:
        if not thing.writable():
            return None
        status = os.fstat(thing.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > CONTENT_LIMIT:
            return None
        # Open for writing only: read through a descriptor of its own.
        with open(f"/proc/self/fd/{thing.fileno()}", "rb") as again:  # noqa: PTH123
            return hashlib.blake2b(again.read(), digest_size=16).hexdigest()
    except (OSError, ValueError):
        return None

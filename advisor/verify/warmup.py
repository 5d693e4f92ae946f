"""One call before the timed one, in a process whose state is then put back.

Compilers and caches need a first call; the state must be pristine for the second. All mutable
containers that the state reaches are copied shallowly, the first call runs on shuffled data, and
then every container gets its old content back, in place: objects stay the same objects. A
fingerprint of everything reachable says whether that worked.

`returned_again` tells of results that are remembered: two calls of ``def words(text)`` return two
lists, and who changes one does not change the other.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import sys
import time
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from typing import Any

from ..observe.instances import class_attribute, stored
from . import capture, surroundings, warmup_frames

NODE_LIMIT = 300_000
"""A warm-up is only tried on states of at most this many objects,"""
BYTE_LIMIT = 512 << 20
"""and at most this many array bytes."""
ANOTHER_CALL = 0.5
"""Seconds that a first call may have taken for a second one to follow."""
_HEAP_TYPE = 1 << 9
_NUMBERS = (int, float, complex, bool)
_SIMPLE = frozenset({type(None), bool, int, float, complex, str, bytes})
_LEAVES = (
    *(type(None), bool, int, float, complex, str, bytes),
    *(type, types.ModuleType, types.BuiltinFunctionType, types.CodeType),
)


Space = tuple[dict[str, Any], frozenset[str]]
"""A module's namespace, and the names in it that the candidate added."""


def warm_up(
    roots: Callable[[], Mapping[str, Any]],
    spaces: Iterable[Space],
    data: Any,
    invoke: Callable[[], Any],
    other: Callable[[], Any] | None = None,
    *,
    one: bool = False,
) -> str | Snapshot:
    """Call once on shuffled data. Returns why that is not possible, or the state before.

    ``other``: the same call with other numbers as arguments. ``invoke`` follows where that took
    little, or raised: what is remembered by the numbers shows in the one, and what is remembered by
    the objects that hold the data in the other. ``one``: only one of them is called, as they take
    long: that with other numbers where there are no other data.

    ``roots`` gives what the state reaches, ``spaces`` are the user's modules; ``data`` is what to
    shuffle: the arguments, or the namespace of a module-level loop. What the candidate itself
    added is not put back: compiled code shall stay, and so shall results that it remembers, which
    then show.
    """
    try:
        before = fingerprint(roots())
        snapshot = Snapshot(roots(), spaces)
    except capture.TooLarge:
        return "the state is too large for a warm-up"
    settings = surroundings.snapshot()
    moved = shuffle(data)
    _first_calls(invoke, None if one and moved else other)
    snapshot.restore()
    # np.seterr() or os.chdir(): the second call would find them done.
    if fingerprint(roots()) != before or surroundings.changed_since(settings):
        return "the state cannot be put back after a first call"
    gc.collect()
    return snapshot


def _first_calls(invoke: Callable[[], Any], other: Callable[[], Any] | None) -> None:
    start = time.perf_counter()
    for call in (other, invoke):
        if call is None:
            continue
        with contextlib.suppress(BaseException):  # shuffled data may well make the code raise
            call()
            if time.perf_counter() - start > ANOTHER_CALL:
                return


def returned_again(result: Any, before: Snapshot, invoke: Callable[[], Any]) -> bool:
    """Whether a call on the same state returns an object that the last call made.

    ``result``: what that call returned; ``before``: the state before it, which is put back.
    After the call that counts, as one that remembers results would be quick otherwise.
    """
    try:
        made = _mutable(result).keys() - before.seen.keys()
        if not made:
            return False
        before.restore()
        return not made.isdisjoint(_mutable(invoke()))
    except BaseException:  # the user's code: what it raises, the call that counted has told
        return False


def _mutable(result: Any) -> dict[int, Any]:
    """Arrays and containers that a result holds, by identity; a view counts as what it looks at."""
    np = sys.modules.get("numpy")
    kinds: tuple[type, ...] = (list, dict, set, deque, bytearray)
    kinds += () if np is None else (np.ndarray,)
    found = Snapshot({"result": result}).seen
    return {key: thing for key, thing in found.items() if isinstance(thing, kinds)}


def fingerprint(roots: Mapping[str, Any]) -> bytes:
    """Digest of everything reachable; the program is as quick afterwards as before."""
    digest = hashlib.blake2b(digest_size=16)
    capture.write(roots, digest.update, node_limit=NODE_LIMIT, ordered=False)
    return digest.digest()


class Snapshot:
    """Shallow copies of all mutable containers below some roots, and of the modules' names."""

    def __init__(self, roots: Mapping[str, Any], spaces: Iterable[Space] = ()) -> None:
        self._undo: list[Callable[[], None]] = []
        self._bytes = 0
        self._numpy: Any = sys.modules.get("numpy")
        self.seen: dict[int, Any] = {}
        """All that was found, by identity."""
        seen = self.seen
        pending: list[Any] = list(roots.values())
        while pending:
            thing = pending.pop()
            if isinstance(thing, _LEAVES) or id(thing) in seen:
                continue
            # What a compiler has learnt in the first call is the purpose of it.
            if type(thing).__module__.partition(".")[0] in capture.MACHINERY:
                continue
            if len(seen) >= NODE_LIMIT:
                raise capture.TooLarge
            seen[id(thing)] = thing
            pending.extend(self._save(thing))
        for space, added in spaces:
            self._namespace(space, added)
            for cls in space.values():
                if isinstance(cls, type) and cls.__module__ == space.get("__name__"):
                    self._class(cls)
        self._save_draws()

    def _namespace(self, space: dict[str, Any], added: frozenset[str]) -> None:
        saved = {name: value for name, value in space.items() if name not in added}

        def undo() -> None:
            for name in space.keys() - saved.keys() - added:
                del space[name]
            space.update(saved)

        self._undo.append(undo)

    def _class(self, cls: type) -> None:
        saved = {k: v for k, v in vars(cls).items() if not k.startswith("__")}

        def undo() -> None:
            for key, value in saved.items():
                if vars(cls).get(key) is not value:
                    setattr(cls, key, value)

        self._undo.append(undo)

    def _save(self, thing: Any) -> list[Any]:
        """Remember how to put one object back; returns what it holds."""
        np = self._numpy
        held: list[Any] = []
        if isinstance(thing, dict):
            held += self._dict(thing)
        elif isinstance(thing, list | deque | bytearray | set):
            held += self._container(thing)
        elif isinstance(thing, tuple | frozenset):
            held += _not_leaves(thing)
        elif np is not None and isinstance(thing, np.ndarray):
            self._array(thing)
            held += [thing.base] if isinstance(thing.base, np.ndarray) else []
        elif isinstance(thing, types.MethodType):
            held.append(thing.__self__)
        elif isinstance(thing, types.FunctionType):
            held += thing.__defaults__ or ()
        own = stored(thing)
        if own is not None:
            held += self._attributes(thing, dict(own))
        frame = warmup_frames.saved(thing)
        if frame is not None:
            held += frame[0]
            self._undo.append(frame[1])
        if type(thing).__flags__ & _HEAP_TYPE:
            held += self._slots(thing)
        self._generator(thing)
        return held

    def _dict(self, thing: dict[Any, Any]) -> list[Any]:
        saved = dict(thing)

        def undo() -> None:
            if list(thing) != list(saved) or any(thing[k] is not saved[k] for k in saved):
                thing.clear()
                thing.update(saved)

        self._undo.append(undo)
        return [*saved.values(), *saved.keys()]

    def _attributes(self, thing: Any, saved: dict[str, Any]) -> list[Any]:
        """One by one: with a ``__dict__`` made, the timed call would be slower than the user's."""

        def undo() -> None:
            now, absent = stored(thing) or {}, object()
            for name in now.keys() - saved.keys():
                del thing.__dict__[name]
            for name, value in saved.items():
                if now.get(name, absent) is value:
                    continue
                if name in now and not class_attribute(type(thing), name):
                    object.__setattr__(thing, name, value)
                else:
                    thing.__dict__[name] = value

        self._undo.append(undo)
        return [*saved.values(), *saved.keys()]

    def _container(self, thing: Any) -> list[Any]:
        saved = list(thing)
        if isinstance(thing, set):

            def undo_set() -> None:
                thing.clear()
                thing.update(saved)

            self._undo.append(undo_set)
            return saved

        def undo() -> None:
            thing.clear()
            thing.extend(saved)

        self._undo.append(undo)
        return [] if isinstance(thing, bytearray) else _not_leaves(saved)

    def _array(self, thing: Any) -> None:
        self._bytes += thing.nbytes
        if self._bytes > BYTE_LIMIT:
            raise capture.TooLarge
        if not thing.flags.writeable:
            return
        saved = thing.copy(order="K")

        def undo() -> None:
            thing[...] = saved

        self._undo.append(undo)

    def _slots(self, thing: Any) -> list[Any]:
        held = []
        for name in capture.slots(type(thing)):
            value = getattr(thing, name, None)
            held.append(value)

            def undo(name: str = name, value: Any = value) -> None:
                with contextlib.suppress(AttributeError):
                    object.__setattr__(thing, name, value)

            self._undo.append(undo)
        return held

    def _generator(self, thing: Any) -> None:
        """Random generators that are the program's own objects."""
        python, drawn = sys.modules.get("random"), getattr(self._numpy, "random", None)
        if python is not None and isinstance(thing, python.Random):
            saved = thing.getstate()
            self._undo.append(lambda: thing.setstate(saved))
        elif drawn is not None and isinstance(thing, drawn.Generator):
            bits = thing.bit_generator.state

            def undo() -> None:
                thing.bit_generator.state = bits

            self._undo.append(undo)
        elif drawn is not None and isinstance(thing, drawn.RandomState):
            legacy = thing.get_state()
            self._undo.append(lambda: thing.set_state(legacy))

    def _save_draws(self) -> None:
        python, drawn = sys.modules.get("random"), sys.modules.get("numpy.random")
        if python is not None:
            saved = python.getstate()
            self._undo.append(lambda: python.setstate(saved))
        if drawn is not None:
            legacy = drawn.get_state()
            self._undo.append(lambda: drawn.set_state(legacy))

    def restore(self) -> None:
        """Put every object's content back."""
        for undo in self._undo:
            undo()


def _not_leaves(items: Collection[Any]) -> list[Any]:
    """What may change, of the elements of a container: no numbers, and no tuples of them."""
    kinds = set(map(type, items))
    if kinds <= _SIMPLE or (kinds == {tuple} and _SIMPLE.issuperset(_kinds_below(items))):
        return []
    return list(items)


def _kinds_below(items: Iterable[Collection[Any]]) -> set[type]:
    return set(map(type, chain.from_iterable(items)))


def shuffle(data: Any) -> bool:
    """Move the elements of arrays, lists of numbers and columns on by one, in place.

    A candidate that remembers results by content, or the first one it ever had, then gains nothing
    by the warm-up and gives itself away in the call that counts. Returns whether they differ now.
    """
    seen: set[int] = set()
    values = data.values() if isinstance(data, dict) else data
    moved = [_shuffle(value, seen, 3) for value in list(values)]
    return any(moved)


def other_number(value: Any) -> Any:
    """Another argument of the same type: a result that is remembered without them shows."""
    if type(value) is int and value > 2:
        return value - 1
    if type(value) in (str, bytes, tuple):
        return value[::-1]
    return value * 1.37 + 0.11 if type(value) is float else value


def _shuffle(value: Any, seen: set[int], depth: int) -> bool:
    if depth == 0 or id(value) in seen or isinstance(value, _LEAVES):
        return False
    seen.add(id(value))
    np = sys.modules.get("numpy")
    if np is not None and isinstance(value, np.ndarray):
        if value.size < 2 or not value.flags.writeable or value.dtype.kind not in "biufc":
            return False
        value[...] = np.roll(value, 1)
        return bool((value != value.flat[0]).any())
    below: Iterable[Any] = ()
    if type(value) is list:
        if len(value) > 1 and all(type(item) in _NUMBERS for item in value):
            value.insert(0, value.pop())
            return value.count(value[0]) < len(value)
        below = value if len(value) <= 10_000 else ()
    elif type(value) is dict and len(value) <= 1000:
        below = list(value.values())
    elif warmup_frames.move_on(value):
        return True
    else:
        below = list((stored(value) or {}).values())
    moved = [_shuffle(item, seen, depth - 1) for item in below]
    return any(moved)

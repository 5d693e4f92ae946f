"""The attributes that an instance stores, read without making its ``__dict__``.

Attributes lie in the object itself until somebody asks for ``__dict__``. Then the interpreter makes
one and keeps it, and from there on every ``body.x`` of the program takes a slow path: a run whose
sixty objects were looked at once took 2.5 times as long (Python 3.11 and 3.12; 3.13: 1.6 times). So
the values are fetched one by one, under the names that the code of the class uses, and the garbage
collector tells whether that was all. ``__dict__`` is asked for only where it was not.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Mapping
from typing import Any

MAX_NAMES = 200
"""Names that are tried for one class."""
MAX_CLASSES = 1000
"""Classes whose layout is remembered."""

Reader = Callable[[Any], Mapping[str, Any] | None]

_HEAP_TYPE = 1 << 9
_layouts: dict[int, tuple[str, ...]] = {}
"""Names that instances looked at before stored, by ``id`` of the class: the next one mostly has
the same. The class itself would be kept alive here, and its metaclass may define ``__hash__``. An
``id`` that another class got later does no harm: what is fetched is counted."""


def stored(value: Any) -> Mapping[str, Any] | None:
    """What ``value.__dict__`` holds, to be read only; None for an object without one.

    No property, no ``__getattr__`` and no other code of the user's is run.
    """
    return reader(type(value))(value)


def reader(kind: type) -> Reader:
    """``stored`` for many instances of one class."""
    written_in_python = type.__getattribute__(kind, "__flags__") & _HEAP_TYPE
    has_dict = type.__getattribute__(kind, "__dictoffset__") != 0
    return _Fetcher(kind).stored if written_in_python and has_dict else _own_dict


def slots(kind: type) -> dict[str, types.MemberDescriptorType]:
    """The slots of a class by name, those of its bases included."""
    return {
        name: member
        for owner in type.__getattribute__(kind, "__mro__")
        for name, member in type.__getattribute__(owner, "__dict__").items()
        if type(member) is types.MemberDescriptorType
    }


def class_attribute(kind: type, name: str) -> tuple[Any, ...]:
    """What the class has under a name: one value, or none."""
    for base in type.__getattribute__(kind, "__mro__"):
        members = type.__getattribute__(base, "__dict__")
        if name in members:
            return (members[name],)
    return ()


def own_attribute(value: Any, name: str) -> Any:
    """An attribute that the instance stores; None if it stores none of that name."""
    if class_attribute(type(value), name):
        return (stored(value) or {}).get(name)
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return None


def _own_dict(value: Any) -> dict[str, Any] | None:
    try:
        own = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):  # slots only
        return None
    return own if type(own) is dict else None


_ABSENT, _COMPUTED = object(), object()


class _Fetcher:
    """Reads instances of one class."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.slots = tuple(slots(kind).values())
        self.defaults: dict[str, object] = {}

    def stored(self, value: Any) -> Mapping[str, Any] | None:
        """All stored attributes, in one order for the whole class."""
        present = gc.get_referents(value)
        known = _layouts.get(id(self.kind), ())
        found = self._fetched(value, known, present) if known else None
        if found is not None:
            return found
        # A dictionary among them is probably the ``__dict__`` that somebody has asked for already.
        if not (known and any(type(item) is dict for item in present)):
            names = tuple(dict.fromkeys((*known, *_names_in_code(self.kind))))
            found = self._fetched(value, names, present) if len(names) <= MAX_NAMES else None
        if found is None:
            found = _own_dict(value)
        if found and len(_layouts) < MAX_CLASSES:
            _layouts[id(self.kind)] = tuple(dict.fromkeys((*known, *found)))
        return found

    def _fetched(
        self, value: Any, names: tuple[str, ...], present: list[Any]
    ) -> dict[str, Any] | None:
        """The attributes if they are all among ``names``; None if something else is there."""
        found: dict[str, Any] = {}
        doubtful: list[str] = []
        for name in names:
            default = self._default(name)
            if default is _COMPUTED:
                continue
            try:
                found[name] = item = object.__getattribute__(value, name)
            except AttributeError:
                continue
            if item is default:
                doubtful.append(name)
        others = [self.kind, *self._in_slots(value)]
        # A default of the class that an instance may store as well: ``self.parent = None``.
        if doubtful and len(found) + len(others) != len(present):
            for name in doubtful:
                del found[name]
        same = sorted(map(id, (*others, *found.values()))) == sorted(map(id, present))
        return found if same else None

    def _in_slots(self, value: Any) -> list[Any]:
        held = []
        for slot in self.slots:
            try:
                held.append(slot.__get__(value))
            except AttributeError:  # not assigned yet
                continue
        return held

    def _default(self, name: str) -> object:
        """What the class has under a name: ``_COMPUTED`` where fetching that calls something."""
        if name not in self.defaults:
            known = class_attribute(self.kind, name)
            computes = bool(known) and hasattr(type(known[0]), "__get__")
            self.defaults[name] = _COMPUTED if computes else known[0] if known else _ABSENT
        return self.defaults[name]


def _names_in_code(kind: type) -> tuple[str, ...]:
    """Names that the methods of a class use, attributes that they assign among them."""
    names: dict[str, None] = {}
    for base in type.__getattribute__(kind, "__mro__"):
        for member in type.__getattribute__(base, "__dict__").values():
            if type(member) is types.FunctionType:
                names.update(dict.fromkeys(member.__code__.co_names))
    return tuple(names)

"""What is seen inside of containers: attributes of objects of one class, places of tuples, dicts.

Attributes are read from the instance itself (what its ``__dict__`` or ``__slots__`` hold): no
property and no ``__getattr__`` of the user's is ever called.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..model import ValueInfo
from .instances import Reader, reader, slots

MAX_RECORDS = 50_000
"""Records up to which every member is looked at."""
MAX_MEMBERS = 40
Members = tuple[tuple[str, ValueInfo], ...]
Describe = Callable[[list[Any]], ValueInfo]


def attributes_of(records: list[Any], describe: Describe) -> Members:
    """The attributes that all records of one class have; ``describe`` tells of a list of values."""
    if not 0 < len(records) <= MAX_RECORDS:
        return ()
    kind = type(records[0])
    in_slots, read = slots(kind), reader(kind)
    tables = [_attributes(record, in_slots, read) for record in records]
    names = [n for n in tables[0] if all(n in table for table in tables)]
    if len(names) > MAX_MEMBERS:
        return ()
    return tuple((name, describe([table[name] for table in tables])) for name in names)


def places_of(rows: list[Any], describe: Describe) -> Members:
    """The columns of tuples or lists that are equally long."""
    if not 0 < len(rows) <= MAX_RECORDS or len(set(map(len, rows))) != 1:
        return ()
    width = len(rows[0])
    if not 0 < width <= MAX_MEMBERS:
        return ()
    return tuple((str(k), describe([row[k] for row in rows])) for k in range(width))


def entries_of(table: dict[Any, Any], describe: Describe) -> Members:
    """The keys and the values of a dictionary."""
    if not 0 < len(table) <= MAX_RECORDS:
        return ()
    return (("keys", describe(list(table))), ("values", describe(list(table.values()))))


def _attributes(
    record: Any, in_slots: dict[str, types.MemberDescriptorType], read: Reader
) -> dict[str, Any]:
    """Values of the instance's own attributes."""
    found: dict[str, Any] = {}
    for name, slot in in_slots.items():
        try:
            found[name] = slot.__get__(record)
        except AttributeError:  # not assigned yet
            continue
    return {**found, **(read(record) or {})}

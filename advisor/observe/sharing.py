"""Which arrays and lists share memory, so that a write to one shows in the other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, combinations
from typing import Any

from .values import MAX_DEPTH, numpy_of_program

MAX_ROWS = 200_000
"""Rows of nested lists whose identities are compared; beyond, sharing is taken for granted."""
MAX_WORK = 100_000
"""Effort ``numpy.shares_memory`` may spend on a pair of strided views before we say yes."""
QUICK = 6
"""Up to so many arrays their overlap is part of the cheap look."""


def _buffers(found: Mapping[str, Any]) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """Arrays (subclasses too), and lists and bytearrays, by name."""
    numpy = numpy_of_program()
    arrays: list[tuple[str, Any]] = []
    lists: list[tuple[str, Any]] = []
    for name, value in found.items():
        if type(value) is list or type(value) is tuple or type(value) is bytearray:
            lists.append((name, value))
        elif numpy is not None and issubclass(type(value), numpy.ndarray):
            arrays.append((name, value))
    return arrays, lists


def quick_aliases(found: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Pairs that may overlap, by address ranges and identity only: for noticing a change."""
    arrays, lists = _buffers(found)
    numpy = numpy_of_program()
    pairs: list[tuple[str, str]] = []
    if 1 < len(arrays) <= QUICK:
        pairs += [
            (a, b) for (a, x), (b, y) in combinations(arrays, 2) if numpy.may_share_memory(x, y)
        ]
    if 1 < len(lists) <= QUICK:
        pairs += [(a, b) for (a, x), (b, y) in combinations(lists, 2) if x is y]
    return tuple(pairs)


def aliases(found: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Pairs of names whose arrays overlap, or whose lists are one object or share rows."""
    arrays, lists = _buffers(found)
    pairs = {(a, b) for (a, x), (b, y) in combinations(arrays, 2) if x is y or _overlap(x, y)}
    parts = [(name, value, _containers(value)) for name, value in lists]
    for (a, x, inside_x), (b, y, inside_y) in combinations(parts, 2):
        if (type(x) is tuple and inside_x == set()) or (type(y) is tuple and inside_y == set()):
            continue  # nothing in a tuple of numbers can be written
        if (
            inside_x is None
            or inside_y is None
            or not ({id(x)} | inside_x).isdisjoint({id(y)} | inside_y)
        ):
            pairs.add((a, b))
    for name, _, inside in parts:
        pairs |= {(a, name) for a, x in arrays if inside is None or id(x) in inside}
    return pairs


def _overlap(x: Any, y: Any) -> bool:
    numpy = numpy_of_program()
    if not numpy.may_share_memory(x, y):
        return False
    try:
        return bool(numpy.shares_memory(x, y, max_work=MAX_WORK))
    except numpy.exceptions.TooHardError:
        return True


def _containers(value: Any) -> set[int] | None:
    """Identities of the lists and arrays inside a list, at all levels; None: too many to say.

    An array inside a list overlapping another array only in part is not found: lists of arrays
    are nothing that a rewrite touches.
    """
    numpy = numpy_of_program()
    inside: set[int] = set()
    # Gone through, never copied: the innermost level may hold ten million numbers.
    rows: list[Any] = [value] if type(value) is not bytearray else []
    for _ in range(MAX_DEPTH):
        count = sum(map(len, rows))
        if not count or count > 100 * MAX_ROWS:
            break
        kinds = set(map(type, chain.from_iterable(rows)))
        if numpy is not None and numpy.ndarray in kinds:
            level = chain.from_iterable(rows)
            inside.update(id(row) for row in level if type(row) is numpy.ndarray)
        if not kinds & {list, tuple, bytearray}:
            return inside
        level = chain.from_iterable(rows)
        nested = [row for row in level if type(row) in (list, tuple, bytearray)]
        rows = [row for row in nested if type(row) is not bytearray]
        if len(inside) + len(rows) > MAX_ROWS:
            return None
        inside.update(id(row) for row in nested if type(row) is not tuple)
    return inside if not any(map(len, rows)) else None

"""Many equal things in one: a list of 400 000 tuples of numbers as a few columns.

A capture numbers every object, so that sharing shows, and says of each what it holds. Of a list of
records that is slow, and says nothing more than this: all records are objects of their own, nobody
else refers to them, and here are their columns. Captures that are equal have equal columns. A few
may have been met before: ``for row in rows`` at module level leaves ``row``. Where columns differ,
or where something refers to a record afterwards, both captures are taken apart again (``apart``),
so that one description of a difference is enough.

The first half runs inside the user's process, and imports nothing that it has not.
"""

from __future__ import annotations

import array
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

Node = dict[str, Any]
Value = Any
Blob = Callable[[bytes], Node]
"""Writes raw data, and says where they are."""

PACK_FROM = 8
"""Lists of this many floats or ints are written as raw numbers."""
RECORDS_FROM = 128
"""Lists of this many records, and dictionaries with so many keys, are written as columns."""
WIDEST = 64
"""Elements of a record: longer ones are few, or raw numbers themselves."""
MET_BEFORE = 8
"""Records that may have a number of their own already."""
DEPTH = 3
"""Records within records; a list may hold itself."""
WEIGHT = 16
"""So many records take the time of one object that is described by itself."""
SHARED = "e"
"""Key of what stands for a packed record where something else refers to it: its serial number."""
PLAIN = frozenset({bool, int, float, str, type(None)})


def raw_numbers(items: Sequence[Any], kinds: Collection[type]) -> tuple[str, bytes] | None:
    """Type code and bytes of floats, or of ints of 64 bits; None of all else."""
    if kinds == {float}:
        return "d", array.array("d", items).tobytes()
    if kinds == {int}:
        try:
            return "q", array.array("q", items).tobytes()
        except OverflowError:
            return None
    return None


# --------------------------------------------------------------------- writing
_Made = tuple[Sequence[Any], list[list[int]]]
"""Records that can be changed; and of those that have a number: position and number."""


@dataclass
class Packer:
    """What one capture has packed so far."""

    blob: Blob
    known: Mapping[int, int]
    """``id`` of what has a number of its own in the capture."""
    serials: dict[int, int] = field(default_factory=dict)
    """Number of each packed record that can be changed, by ``id``."""
    numbered: list[int] = field(default_factory=list)
    """All that got one, those that have another number as well included."""
    records: int = 0

    def packed(self, items: Sequence[Any]) -> Node | None:
        """Columns of many things; None where they are to be described one by one."""
        found = self._packed([items])
        return None if found is None else found[0]

    def packed_pairs(self, keys: Collection[Any], values: Collection[Any]) -> list[Node] | None:
        """The same of a dictionary's keys and values."""
        return self._packed([[*keys], [*values]]) if len(keys) >= RECORDS_FROM else None

    def _packed(self, parts: Sequence[Sequence[Any]]) -> list[Node] | None:
        if len(parts[0]) < RECORDS_FROM:
            return None
        made: list[_Made] = []
        columns = self._columns(parts, made, DEPTH + 1)
        if columns is None or not self._own(made):
            return None
        return [*map(self._written, columns)]

    def _own(self, made: Sequence[_Made]) -> bool:
        """Number all records that can be changed; False unless they are different objects.

        Those that have a number of their own keep it.
        """
        ids = [id(record) for records, _ in made for record in records]
        mine = set(ids)
        if len(mine) < len(ids) or not mine.isdisjoint(self.serials):
            return False
        met = mine.intersection(self.known)
        if len(met) > MET_BEFORE:
            return False
        first = len(self.numbered)
        self.numbered += ids
        self.serials.update(zip(ids, range(first, first + len(ids)), strict=True))
        for records, own in made if met else ():
            own += ([at, self.known[k]] for at, k in enumerate(map(id, records)) if k in met)
        for key in met:
            del self.serials[key]
        return True

    def _column(self, items: Sequence[Any], made: list[_Made], depth: int) -> Node | None:
        kinds = set(map(type, items))
        raw = raw_numbers(items, kinds)
        if raw is not None:
            return {"p": raw[0], "data": raw[1]}
        if kinds <= PLAIN:
            return _text(items)
        if len(kinds) != 1 or depth == 0:
            return None
        (kind,) = kinds
        if kind is dict:
            return self._dictionaries(items, made, depth)
        if kind is tuple or kind is list:
            return self._sequences(items, kind, made, depth)
        return None

    def _sequences(
        self, items: Sequence[Any], kind: type, made: list[_Made], depth: int
    ) -> Node | None:
        widths = [*map(len, items)]
        if max(widths) > WIDEST:
            return None
        met: list[list[int]] = []
        if kind is list:
            made.append((items, met))
        if len(set(widths)) == 1:
            columns = self._columns(zip(*items, strict=True), made, depth)
            return None if columns is None else self._rows(kind, items, columns, met=met)
        flat = self._columns([[*chain.from_iterable(items)]], made, depth)
        if flat is None:
            return None
        lengths = {"p": "q", "data": array.array("q", widths).tobytes()}
        return self._rows(kind, items, flat, met=met, lengths=lengths)

    def _dictionaries(self, items: Sequence[Any], made: list[_Made], depth: int) -> Node | None:
        # {1: "a"} and {True: "a"} have equal keys, and those of classes their own idea of that.
        if not set(map(type, chain.from_iterable(items))) <= {str}:
            return None
        names, *others = set(map(tuple, items))
        if others or len(names) > WIDEST:
            return None
        met: list[list[int]] = []
        made.append((items, met))
        columns = self._columns(zip(*map(dict.values, items), strict=True), made, depth)
        if columns is None:
            return None
        return self._rows(dict, items, columns, met=met, names=list(names))

    def _columns(
        self, columns: Iterator[Any] | Sequence[Any], made: list[_Made], depth: int
    ) -> list[Node] | None:
        found: list[Node] = []
        for items in columns:
            column = self._column(items, made, depth - 1)
            if column is None:
                return None
            found.append(column)
        return found

    def _rows(self, kind: type, items: Sequence[Any], columns: list[Node], **more: Any) -> Node:
        return {"rows": kind.__name__, "n": len(items), "columns": columns, **more}

    def _written(self, column: Node) -> Node:
        """With raw data written, from the first column to the last."""
        if "data" in column:
            return {"p": column["p"], **self.blob(column["data"])}
        if "rows" not in column:
            return column
        self.records += column["n"]
        lengths = {"lengths": self._written(column["lengths"])} if "lengths" in column else {}
        return {**column, **lengths, "columns": [*map(self._written, column["columns"])]}


def _text(items: Sequence[Any]) -> Node | None:
    """Text, truth values, and numbers among them: equal where it is letter for letter."""
    try:
        text = json.dumps(items)
        # JSON writes two lone surrogates as it writes the character that they would stand for.
        if "\\ud" in text:
            "".join(item for item in items if type(item) is str).encode()
    except ValueError:  # an int of more digits than Python writes, or lone surrogates
        return None
    return {"text": text, "n": len(items), "floats": sum(type(item) is float for item in items)}


# --------------------------------------------------------------------- reading
@dataclass
class Equal:
    """What two equal columns hold."""

    records: int = 0
    numbers: int = 0
    floats: int = 0
    met: list[tuple[int, int]] = field(default_factory=list)
    """Nodes of both captures which have to be the same."""

    def __iadd__(self, other: Equal) -> Equal:
        self.met += other.met
        self.records += other.records
        self.numbers += other.numbers
        self.floats += other.floats
        return self


BytesOf = Callable[[Mapping[str, Any]], memoryview | None]
"""The raw data of a node; None if only its digest was kept."""


def equal(
    x: Mapping[str, Any], mine: BytesOf, y: Mapping[str, Any], other: BytesOf
) -> Equal | None:
    """What both columns hold, where it is the same to the last bit; else None."""
    if x.keys() != y.keys():
        return None
    if "size" in x:
        return _equal_numbers(x, mine, y, other)
    if "text" in x:
        same = x["text"] == y["text"]
        return Equal(numbers=x["n"], floats=x["floats"]) if same else None
    if any(x.get(key) != y.get(key) for key in ("rows", "n", "names")):
        return None
    if len(x["columns"]) != len(y["columns"]):
        return None
    if [at for at, _ in x["met"]] != [at for at, _ in y["met"]]:
        return None
    numbers = zip(x["met"], y["met"], strict=True)
    found = Equal(records=x["n"], met=[(one, twin) for (_, one), (_, twin) in numbers])
    for column, twin in zip(_columns_of(x), _columns_of(y), strict=True):
        below = equal(column, mine, twin, other)
        if below is None:
            return None
        found += below
    return found


def _columns_of(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*node["columns"], *([node["lengths"]] if "lengths" in node else ())]


def _equal_numbers(
    x: Mapping[str, Any], mine: BytesOf, y: Mapping[str, Any], other: BytesOf
) -> Equal | None:
    if (x["p"], x["size"], x.get("digest")) != (y["p"], y["size"], y.get("digest")):
        return None
    if "digest" not in x and mine(x) != other(y):
        return None
    count = x["size"] // 8
    return Equal(numbers=count, floats=count if x["p"] == "d" else 0)


class Digested(Exception):
    """Of some column only a digest was kept: it cannot be taken apart."""


class _Apart:
    """Describes packed things one by one."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]], bytes_of: BytesOf) -> None:
        self.nodes: list[Node] = [dict(node) for node in nodes]
        self.bytes_of = bytes_of
        self.serials: list[int] = []
        """Number of the node of each packed record that can be changed."""

    def run(self, shared: bool) -> tuple[Node, ...]:
        for node in self.nodes[:]:
            columns = node.pop("packed", None)
            if columns is None:
                continue
            values = [self.values(column) for column in columns]
            if node["t"] == "dict":
                node["v"] = [list(pair) for pair in zip(*values, strict=True)]
            else:
                node |= _sequence(values[0])
        return tuple(self.named(node) for node in self.nodes) if shared else tuple(self.nodes)

    def values(self, column: Mapping[str, Any]) -> list[Value]:
        if "digest" in column:
            raise Digested
        if "size" in column:
            return array.array(column["p"], bytes(self.bytes_of(column) or b"")).tolist()
        if "text" in column:
            return list(json.loads(column["text"]))
        first, count = len(self.nodes), column["n"]
        self.nodes += ({"t": column["rows"]} for _ in range(count))
        mine, numbers = self.nodes[first:], [*range(first, first + count)]
        for at, number in column["met"]:
            numbers[at] = number
        if column["rows"] != "tuple":
            self.serials += numbers
        columns = [self.values(part) for part in column["columns"]]
        rows = self.rows(column, columns)
        if "names" in column:
            for node, row in zip(mine, rows, strict=True):
                node["v"] = [list(pair) for pair in zip(column["names"], row, strict=True)]
        else:
            for node, row in zip(mine, rows, strict=True):
                node |= _sequence(list(row))
        return [["r", number] for number in numbers]

    def rows(
        self, column: Mapping[str, Any], columns: list[list[Value]]
    ) -> Iterator[Sequence[Value]]:
        if "lengths" in column:
            (flat,), at = columns, 0
            for length in self.values(column["lengths"]):
                yield flat[at : at + length]
                at += length
        elif columns:
            yield from zip(*columns, strict=True)
        else:
            yield from ((),) * column["n"]

    def named(self, value: Any) -> Any:
        """Records that something else refers to as well, by the numbers of their nodes."""
        if isinstance(value, dict):
            if SHARED in value:
                return ["r", self.serials[value[SHARED]]]
            return {key: self.named(item) for key, item in value.items()}
        return [*map(self.named, value)] if isinstance(value, list) else value


def _sequence(values: list[Value]) -> Node:
    """As a list is written that is not packed."""
    raw = raw_numbers(values, set(map(type, values))) if len(values) >= PACK_FROM else None
    return {"v": values} if raw is None else {"p": raw[0], "raw": raw[1], "size": len(raw[1])}


def apart(
    nodes: Sequence[Mapping[str, Any]], bytes_of: BytesOf, *, shared: bool
) -> tuple[Node, ...]:
    """The nodes of a capture with nothing packed. Raises Digested.

    ``shared``: something else refers to a packed record.
    """
    return _Apart(nodes, bytes_of).run(shared)

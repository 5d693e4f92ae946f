"""Cells that a loop over rows writes, one in each iteration: collected, and set as a column."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...model import Edit, Region
from ...names import free_name
from ...observe.lookup import dotted
from .calm import check_calm
from .rows import RowLoop
from .stop import Stop

_LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Raise, ast.Try, ast.TryStar, ast.Match)
_MOST_PATHS = 64
_KINDS = {
    "float64": "isinstance(value, float)",
    "int64": "type(value) is int and -(2**63) <= value < 2**63",
    "object": "type(value) is str",
    "str": "type(value) is str",
}
"""For each dtype that a column has before: values that it takes cell by cell as it does at once."""
_ELSEWHERE = frozenset(
    {
        *("BrokenPipeError", "EOFError", "FileExistsError", "FileNotFoundError", "IOError"),
        *("ImportError", "KeyboardInterrupt", "ModuleNotFoundError", "OSError", "PermissionError"),
    }
)
"""Errors that arithmetic and the look-up of columns do not raise."""
_TEXT, _WHOLE, _REAL = "type(value) is str", "type(value) is int", "isinstance(value, float)"


@dataclass(frozen=True)
class Filled:
    """A column of the frame that every iteration writes once, in its own row."""

    label: str
    stores: tuple[ast.Assign, ...]
    accessor: str
    """``at`` or ``loc``."""
    dtype: str | None
    """What the column holds before the loop; None where the loop makes it."""
    collected: str
    """The list that takes the values."""
    cell: str
    """A name for one of them."""

    def tests(self, frame: str) -> list[str]:
        """What must hold before the loop."""
        label = repr_of(self.label)
        if self.dtype is None:
            return [f"{label} not in {frame}.columns", f"not {frame}.empty"]
        return [f"{label} in {frame}.columns", f'{frame}[{label}].dtype == "{self.dtype}"']

    def targets(self) -> Iterator[ast.AST]:
        """All nodes of the cells as they are named in the stores."""
        return (node for store in self.stores for node in ast.walk(store.targets[0]))

    def edits(self, region: Region) -> Iterator[Edit]:
        """Append to the list in place of each store."""
        for store in self.stores:
            start, end = region.source.span(store)
            value, _ = region.source.span(store.value)
            yield Edit(start, value, f"{self.collected}.append(")
            yield Edit(end, end, ")")

    def lines(self, frame: str, index: str) -> list[str]:
        """Set the column at once, where that gives what the cells would have come to."""
        label, test = repr_of(self.label), self._test()
        values = self.collected
        if self.dtype is None and test == _WHOLE:
            values = f"list(map(float, {values}))"  # cells of a new column start as NaN
        target = f"{frame}[{label}]" if self.dtype is None else f"{frame}.loc[:, {label}]"
        return [
            f"if all({test.replace('value', self.cell)} for {self.cell} in {self.collected}):",
            f"    {target} = {values}",
            "else:",
            f"    for {index}, {self.cell} in zip({frame}.index, {self.collected}):",
            f"        {frame}.{self.accessor}[{index}, {label}] = {self.cell}",
        ]

    def _test(self) -> str:
        if self.dtype is not None:
            return _KINDS[self.dtype]
        values = [leaf for store in self.stores for leaf in _leaves(store.value)]
        if all(isinstance(v, ast.JoinedStr) or _constant(v) is str for v in values):
            return _TEXT
        return _WHOLE if all(_constant(v) is int for v in values) else _REAL


def cell_tests(frame: str, filled: Sequence[Filled]) -> list[str]:
    """What must hold of a frame before the loop, so that its columns may be set at once."""
    if not filled:
        return []
    # Of two rows with one label both are written, and the text "2024" names a year of dates.
    own_labels = [f'{frame}.index.dtype == "int64"', f"{frame}.index.is_unique"]
    return [*(test for one in filled for test in one.tests(frame)), *own_labels]


def repr_of(label: str) -> str:
    """The label as a literal with double quotes, where it has none in it."""
    return f'"{label}"' if label.isprintable() and not set(label) & set('"\\') else repr(label)


def find_filled(region: Region, rows: RowLoop, index: str | None) -> tuple[Filled, ...]:
    """The columns that the loop fills cell by cell; none where its stores have to stay.

    ``index``: the name that holds the row's label. Raises Stop where cells are written in another
    way, or something else could see the frame half filled.
    """
    stores = [(node, cell) for node in _nodes(rows.loop.body) if (cell := _cell(node, rows, index))]
    if not stores:
        return ()
    found: list[Filled] = []
    for label in dict.fromkeys(label for _, (_, label) in stores):
        mine = [(node, accessor) for node, (accessor, at) in stores if at == label]
        dtype = dict(rows.columns).get(label)
        if label in rows.labels:
            raise Stop(f"the loop writes {label!r} and reads it", mine[0][0].lineno)
        if dtype is not None and dtype not in _KINDS:
            raise Stop(f"cells of the dtype {dtype} are written", mine[0][0].lineno)
        taken = [one.collected for one in found]
        name = free_name(region.source, f"{identifier(label)}_column", taken)
        one = free_name(region.source, "value")
        found.append(Filled(label, tuple(node for node, _ in mine), mine[0][1], dtype, name, one))
    _check_paths(rows, found)
    targets = [node.targets[0] for node, _ in stores]
    check_calm(region, rows.frame, rows.loop.body, targets)
    _check_handlers(region)
    return tuple(found)


def _check_paths(rows: RowLoop, found: list[Filled]) -> None:
    """Every way through an iteration writes each cell once, and makes new columns in one order."""
    labels = {id(store): one.label for one in found for store in one.stores}
    once = sorted(one.label for one in found)
    line = found[0].stores[0].lineno
    paths = None if rows.loop.orelse else _paths(rows.loop.body, labels)
    if paths is None or any(sorted(path) != once for path in paths):
        names = " and ".join(map(repr_of, once))
        raise Stop(f"not every iteration writes {names}, each once", line)
    made = {one.label for one in found if one.dtype is None}
    if len({tuple(label for label in path if label in made) for path in paths}) > 1:
        raise Stop("it depends on the row which column is made first", line)


def _check_handlers(region: Region) -> None:
    """An error in a later row leaves the cells before it written, for whoever goes on."""
    for node in region.source.nodes:
        if isinstance(node, ast.ExceptHandler):
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if all(isinstance(kind, ast.Name) and kind.id in _ELSEWHERE for kind in kinds):
                continue
        elif not (isinstance(node, ast.Name | ast.Attribute) and _last(node) == "suppress"):
            continue
        raise Stop("an error on the way would leave the column half filled", node.lineno)


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _cell(node: ast.AST, rows: RowLoop, index: str | None) -> tuple[str, str] | None:
    """Accessor and label of ``df.at[i, "c"] = value``."""
    match node:
        case ast.Assign(
            targets=[
                ast.Subscript(
                    value=ast.Attribute(value=frame, attr="at" | "loc" as accessor),
                    slice=ast.Tuple(elts=[place, ast.Constant(value=str(label))]),
                )
            ]
        ) if dotted(frame) == rows.frame:
            if isinstance(place, ast.Name) and place.id == index:
                return accessor, label
            if any(place is read for read in rows.label_reads):
                return accessor, label
            raise Stop(f"the row of a cell of {rows.frame} is worked out", node.lineno)
    return None


def _nodes(block: list[ast.stmt]) -> Iterator[ast.Assign]:
    for statement in block:
        yield from (node for node in ast.walk(statement) if isinstance(node, ast.Assign))


def _paths(block: Sequence[ast.stmt], labels: Mapping[int, str]) -> set[tuple[str, ...]] | None:
    """The cells that each way through a block writes, in order; None where that is not known."""
    paths: set[tuple[str, ...]] = {()}
    for statement in block:
        steps: set[tuple[str, ...]] | None = {()}
        if id(statement) in labels:
            steps = {(labels[id(statement)],)}
        elif isinstance(statement, ast.If):
            yes, no = (_paths(part, labels) for part in (statement.body, statement.orelse))
            steps = None if yes is None or no is None else yes | no
        elif any(isinstance(n, _LEAVES) or id(n) in labels for n in ast.walk(statement)):
            steps = None
        if steps is None or len(paths) * len(steps) > _MOST_PATHS:
            return None
        paths = {(*path, *step) for path in paths for step in steps}
    return paths


def _leaves(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, ast.IfExp):
        yield from _leaves(value.body)
        yield from _leaves(value.orelse)
    else:
        yield value


def _constant(value: ast.expr) -> type | None:
    return type(value.value) if isinstance(value, ast.Constant) else None


def identifier(label: str) -> str:
    """A name after a column: ``"Unit price"`` -> ``unit_price``."""
    word = "".join(c if c.isalnum() and c.isascii() else "_" for c in label).strip("_").lower()
    return word if word and not word[0].isdigit() else f"column_{word}".rstrip("_")

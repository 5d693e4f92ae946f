"""Which columns a loop over the rows of a frame reads: ``for i, row in df.iterrows()``."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...model import Refusal, Region, Source
from ...observe.lookup import dotted
from .. import ast_tools as tools
from .stop import Stop

FRAME_TYPES = frozenset({"pandas.DataFrame", "pandas.core.frame.DataFrame"})
"""What pandas 3 and pandas 2 call the class."""
WHOLE_ROW = "read the columns that are needed, each by its name"


@dataclass(frozen=True)
class Read:
    """One place that reads a column of the row, ``row["price"]`` or ``row.price``."""

    node: ast.expr
    label: str
    attribute: bool = False


@dataclass(frozen=True)
class Handed:
    """The row as the argument of a function of the user's that reads columns of it by name."""

    node: ast.Name
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Rows:
    """What is read of the rows of a frame: nothing but columns known by name."""

    frame: str
    """The frame, as the text names it: ``"orders"``, ``"self.orders"``."""
    columns: tuple[tuple[str, str], ...]
    """All its columns with their dtypes."""
    row: str
    reads: tuple[Read, ...]
    label_reads: tuple[ast.expr, ...]
    """Where the row says its label: ``row.name``, and ``row.Index`` of a tuple."""
    handed: tuple[Handed, ...]
    tuples: bool
    """Whether rows are named tuples (``itertuples``) rather than series (``iterrows``)."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are read, in the order of the text."""
        handed = (label for one in self.handed for label in one.labels)
        return tuple(dict.fromkeys([*(read.label for read in self.reads), *handed]))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that are read as attributes."""
        return tuple(dict.fromkeys(read.label for read in self.reads if read.attribute))

    @property
    def dtypes(self) -> frozenset[str]:
        """The dtypes of all columns, read or not."""
        return frozenset(dtype for _, dtype in self.columns)


@dataclass(frozen=True)
class RowLoop(Rows):
    """A loop over the rows."""

    loop: ast.For
    index: ast.expr | None
    """What takes the row's label; None where nothing does."""


def find_rows(region: Region) -> RowLoop | None:
    """The loop over a frame's rows that the region is; None if it is none.

    Raises Stop where it is one, and more of a row is used than columns by name.
    """
    loop = region.loop
    match loop:
        case ast.For(
            iter=ast.Call(
                func=ast.Attribute(value=frame, attr="iterrows" | "itertuples" as method),
                args=args,
                keywords=keywords,
            )
        ):
            tuples = method == "itertuples"
        case _:
            return None
    known_frame = observed_frame(region, frame)
    if known_frame is None:
        return None
    name, columns = known_frame
    has_index = _has_index(args, keywords, tuples)
    index, row = _targets(loop, tuples)
    scope: tools.Scope = region.function or region.source.tree
    if seen := tools.deferred_uses(region.source, scope, row):
        raise Stop(f"code that may run at any moment can see {row}", getattr(seen, "lineno", None))
    reads, handed = row_uses(region, loop.body, row)
    if any(_names(loop.orelse, row)) or not (reads or handed):
        raise Stop(f"no column of {row} is read", loop.lineno)
    asks = {"Index" if tuples else "name"} if has_index else set()
    labels = tuple(read.node for read in reads if read.attribute and read.label in asks)
    reads = tuple(read for read in reads if read.node not in labels)
    known = RowLoop(name, columns, row, reads, labels, handed, tuples, loop, index)
    check_labels(known, loop.lineno)
    return known


def observed_frame(
    region: Region, frame: ast.expr
) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """The frame's name and its columns with their dtypes; None if it was none.

    Raises Stop where it has no name, or its columns are not known.
    """
    name = dotted(frame)
    if name is None:
        text = region.source.text(frame)
        raise Stop(f"the frame {text} has no name", None, "give it a name first")
    info = region.observation.values.get(name) if region.observation else None
    if info is None or info.type_name not in FRAME_TYPES:
        return None
    if not info.columns:
        raise Stop(f"{name} has other columns each time, or some without a name of their own")
    return name, info.columns


def _has_index(args: list[ast.expr], keywords: list[ast.keyword], tuples: bool) -> bool:
    """Whether a row comes with its label."""
    match args, keywords:
        case [], []:
            return True
        case ([], [ast.keyword(arg="index", value=ast.Constant(value=bool(wanted)))]) if tuples:
            return wanted
    raise Stop("the rows are asked for with arguments of their own")


def _targets(loop: ast.For, tuples: bool) -> tuple[ast.expr | None, str]:
    """What takes the label, and the name of the row."""
    match loop.target:
        case ast.Tuple(elts=[label, ast.Name(id=row)]) if not tuples:
            return label, row
        case ast.Name(id=row) if tuples:
            return None, row
    raise Stop("the row is taken apart in a way of its own", loop.lineno, WHOLE_ROW)


# --------------------------------------------------------------------- uses of a row
def row_uses(
    region: Region, block: Sequence[ast.AST], row: str
) -> tuple[tuple[Read, ...], tuple[Handed, ...]]:
    """The reads of columns, and the calls that are handed the row. Raises Stop at any other use."""
    reads: list[Read] = []
    handed: list[Handed] = []
    for use in sorted(_names(block, row), key=lambda n: (n.lineno, n.col_offset)):
        read = column_read(region.source, use)
        passed = None if read else _handed(region, use)
        if read is not None:
            reads.append(read)
        elif passed is not None:
            handed.append(passed)
        else:
            raise Stop(f"more of {row} is used than columns by name", use.lineno, WHOLE_ROW)
    return tuple(reads), tuple(handed)


def _names(block: Sequence[ast.AST], name: str) -> Iterator[ast.Name]:
    return (node for part in block for node in tools.names_in(part) if node.id == name)


def column_read(source: Source, use: ast.Name) -> Read | None:
    """The read of a column that this use of a row's name is part of, if it is one."""
    above = tools.parents(source)[use]
    match above:
        case ast.Subscript(value=value, slice=ast.Constant(value=str(label)), ctx=ast.Load()):
            return Read(above, label) if value is use else None
        case ast.Attribute(value=value, attr=label, ctx=ast.Load()) if not label.startswith("_"):
            return Read(above, label, attribute=True)
    return None


def _handed(region: Region, use: ast.Name) -> Handed | None:
    """``cost_of(row)``, where the function does nothing with the row but ``row["price"]``."""
    call = tools.parents(region.source)[use]
    match call:
        case ast.Call(func=ast.Name(id=function), args=args) if use in args:
            helper = region.functions.get(function)
            only_one = tools.bound_names(region.source).get(function) == 1
            if helper is None or not only_one or helper not in region.source.tree.body:
                return None
            labels = labels_of_parameter(region.source, helper, args.index(use))
            return None if labels is None else Handed(use, labels)
    return None


def labels_of_parameter(
    source: Source, function: ast.FunctionDef, place: int
) -> tuple[str, ...] | None:
    """The columns that a function reads of its parameter; None if it does more with it."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    if place >= len(parameters) or tools.deferred_uses(source, function, parameters[place].arg):
        return None
    labels = []
    uses = _names(function.body, parameters[place].arg)
    for use in sorted(uses, key=lambda n: (n.lineno, n.col_offset)):
        read = column_read(source, use)
        if read is None or read.attribute:
            return None
        labels.append(read.label)
    return tuple(dict.fromkeys(labels))


def check_labels(known: Rows, line: int) -> None:
    """Raise Stop where something is read that is no column of the frame."""
    there = dict(known.columns)
    for read in known.reads:
        plain = not known.tuples or (read.attribute and not keyword.iskeyword(read.label))
        if read.label not in there or not plain:
            # row.name is the row's label, row.size how many columns there are
            what = f"{known.row}.{read.label}" if read.attribute else repr(read.label)
            raise Stop(f"{what} is no column of {known.frame}", read.node.lineno, WHOLE_ROW)
    if known.tuples and known.handed:
        raise Stop("the row is handed on as a whole", known.handed[0].node.lineno, WHOLE_ROW)
    missing = [label for label in known.labels if label not in there]
    if missing:
        raise Stop(f"{missing[0]!r} is no column of {known.frame}", line)


def refusal(region: Region, stop: Stop) -> Refusal:
    """A Stop as the rule's answer."""
    return Refusal(stop.reason, stop.line or region.loop.lineno, stop.suggestion)

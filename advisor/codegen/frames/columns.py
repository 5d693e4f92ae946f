"""A loop over the rows of a frame, written as a loop over the columns that it reads."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace

from ...layout import LEVEL
from ...loopnest.liveness import live_after
from ...model import Basis, Condition, Edit, Match, Region, Source
from ...names import free_name
from ...patch import apply_edits, reindent, replace_statement
from .. import ast_tools as tools
from ..numpy_backend.layout import LIMIT
from .asked import condition_lines, frame_tests, guarded, pandas_name, row_tests
from .calm import check_calm
from .rows import RowLoop
from .stop import Stop
from .stores import Filled, cell_tests, find_filled, identifier, repr_of

_CELLS_AT_ONCE = (
    "an error in one row leaves no cells of the rows before it written",
    "pandas' warnings about single cells (a new column by .at, a copy of a slice) do not come",
)


@dataclass(frozen=True)
class Written:
    """The names of the new loop."""

    rows: str
    """The array of all rows."""
    columns: Mapping[str, str]
    """Label of a column -> the loop variable that takes its values."""
    index: str | None
    """The text that takes the row's label; None where nobody asks for it."""
    label: str | None
    """The name of the row's label, where it has one."""
    gone: tuple[ast.Assign, ...]
    """``price = row["price"]`` at the head of the body: the loop itself binds the name."""


def columns_for_rows(region: Region, rows: RowLoop) -> Match:
    """The rewrite. Raises Stop where equality cannot be shown."""
    pandas = pandas_name(region)
    live = live_after(region.source, region.function, rows.loop)
    if live is None or rows.row in live:
        raise Stop(f"{rows.row} may be used after the loop", rows.loop.lineno)
    written = _names(region, rows)
    filled = find_filled(region, rows, written.label)
    if len(rows.dtypes) == 1 and not rows.tuples and not filled:
        # for i, row in df.iterrows(): prices[i] = 0.0    where prices is a view of df["price"]
        check_calm(region, rows.frame, rows.loop.body, ())
    written = replace(written, index=_index(region, rows, written, filled, live))
    tests = [
        *frame_tests(rows, pandas),
        *cell_tests(rows.frame, filled),
        *row_tests(rows, pandas),
    ]
    lines = [
        *condition_lines(list(dict.fromkeys(tests))),
        *("    " + line for line in _before(rows, written, filled)),
        _new_loop(region, rows, written, filled),
        *("    " + line for one in filled for line in one.lines(rows.frame, written.label or "i")),
        "else:",
        reindent(region.source, rows.loop, 1),
    ]
    first, last = region.lines
    return Match(
        edits=(replace_statement(region.source, rows.loop, lines),),
        why=_why(rows),
        change="read the columns once, and walk along them" + (_filled_words(filled)),
        ledger=(*guarded(dict.fromkeys(tests)), *_proved(rows, filled, f"lines {first}-{last}")),
        differences=_CELLS_AT_ONCE if filled else (),
    )


def _why(rows: RowLoop) -> str:
    if rows.tuples:
        return "every row is made into a named tuple, of all columns"
    return (
        "every row is made into a Series of its own, of all columns, and each read looks up a label"
    )


def _filled_words(filled: tuple[Filled, ...]) -> str:
    if not filled:
        return ""
    return f"; set {' and '.join(repr_of(one.label) for one in filled)} as a whole"


def _proved(rows: RowLoop, filled: tuple[Filled, ...], lines: str) -> Iterator[Condition]:
    text = f"of {rows.row} only columns known by name are read"
    yield Condition(text, Basis.PROVED, lines)
    yield Condition(f"{rows.row} is not used after the loop", Basis.PROVED, lines)
    if filled:
        names = " and ".join(repr_of(one.label) for one in filled)
        text = f"every iteration writes {names} once, and nothing else sees {rows.frame}"
        yield Condition(text, Basis.PROVED, lines)
    elif len(rows.dtypes) == 1 and not rows.tuples:
        yield Condition(f"nothing in the loop changes {rows.frame}", Basis.PROVED, lines)


# ------------------------------------------------------------------------- names
def _names(region: Region, rows: RowLoop) -> Written:
    source, taken = region.source, {""}
    array = free_name(source, "rows")
    taken.add(array)
    columns: dict[str, str] = {}
    gone = _leading(source, rows)
    for statement, label in gone:
        columns[label] = ast.unparse(statement.targets[0])
    for label in rows.labels:
        if label not in columns:
            columns[label] = variable(source, rows.row, identifier(label), taken)
            taken.add(columns[label])
    columns = {label: columns[label] for label in rows.labels}
    name = _label(region, rows, taken)
    return Written(array, columns, None, name, tuple(statement for statement, _ in gone))


def variable(source: Source, row: str, word: str, taken: set[str]) -> str:
    """The column's own name, where the file has no other use for it than as a label."""
    other = tools.bound_names(source).keys() | {name.id for name in tools.names_in(source.tree)}
    plain = not keyword.iskeyword(word) and not hasattr(builtins, word)
    if plain and word not in other | taken and "*" not in other:
        return word
    return free_name(source, f"{row}_{word}", taken)


def _leading(source: Source, rows: RowLoop) -> list[tuple[ast.Assign, str]]:
    """Statements at the head of the body that only give a column a name."""
    found: list[tuple[ast.Assign, str]] = []
    for statement in rows.loop.body[:-1]:
        read = next(
            (
                r
                for r in rows.reads
                if isinstance(statement, ast.Assign) and statement.value is r.node
            ),
            None,
        )
        if read is None or not isinstance(statement, ast.Assign):
            break
        target = statement.targets[0]
        once = (
            len(statement.targets) == 1
            and isinstance(target, ast.Name)
            and len(tools.stores(rows.loop, target.id)) == 1
            and target.id not in {ast.unparse(s.targets[0]) for s, _ in found}
            and read.label not in {label for _, label in found}
            and tools.stands_alone(source, statement)
        )
        if not once:
            break
        found.append((statement, read.label))
    return found


def _label(region: Region, rows: RowLoop, taken: set[str]) -> str | None:
    """A name for the row's label in the new loop; None where it has none, or several."""
    if rows.tuples:
        return free_name(region.source, "label", taken) if rows.label_reads else None
    target = rows.index
    if isinstance(target, ast.Name) and len(tools.stores(rows.loop, target.id)) == 1:
        return target.id
    if rows.label_reads:
        raise Stop(f"{rows.row}.name is read", rows.label_reads[0].lineno)
    return None


def _index(
    region: Region,
    rows: RowLoop,
    written: Written,
    filled: tuple[Filled, ...],
    live: Container[str],
) -> str | None:
    """The text that takes the row's label; None where nobody asks for it."""
    stored = {id(node) for one in filled for node in one.targets()}
    if rows.index is None or rows.tuples:
        return written.label if any(id(node) not in stored for node in rows.label_reads) else None
    bound = {name.id for name in tools.names_in(rows.index)}
    loads = [n for part in (*rows.loop.body, *rows.loop.orelse) for n in tools.names_in(part)]
    asked = any(name.id in bound and id(name) not in stored for name in loads)
    if asked or rows.label_reads or any(name in live for name in bound):
        return region.source.text(rows.index)
    return None


# -------------------------------------------------------------------- the new loop
def _before(rows: RowLoop, written: Written, filled: tuple[Filled, ...]) -> Iterator[str]:
    for one in filled:
        yield f"{one.collected} = []"
    if not rows.tuples and rows.labels:
        # Not column by column: an integer beside floats becomes one in a row.
        yield f"{written.rows} = {rows.frame}.to_numpy()  # of one type, as iterrows makes them"


def _new_loop(region: Region, rows: RowLoop, written: Written, filled: tuple[Filled, ...]) -> str:
    """The loop over columns, one level to the right."""
    source, loop = region.source, rows.loop
    edits = [*_head(source, rows, written)]
    for read in rows.reads:
        if not any(read.node is statement.value for statement in written.gone):
            edits.append(Edit(*source.span(read.node), written.columns[read.label]))
    stored = {id(node) for one in filled for node in one.targets()}
    for node in rows.label_reads:
        if id(node) not in stored:
            edits.append(Edit(*source.span(node), written.label or ""))
    for one in rows.handed:
        row = ", ".join(f"{repr_of(label)}: {written.columns[label]}" for label in one.labels)
        edits.append(Edit(*source.span(one.node), f"{{{row}}}"))
    for statement in written.gone:
        edits.append(_without(source, statement))
    for store in filled:
        edits += store.edits(region)
    new = Source(source.path, apply_edits(source, edits))
    found = [n for n in new.nodes if isinstance(n, ast.For) and n.lineno == loop.lineno]
    return reindent(new, found[0], 1)


def _head(source: Source, rows: RowLoop, written: Written) -> Iterator[Edit]:
    """``for quantity, price in zip(rows[:, 0], rows[:, 1])``"""
    frame = rows.frame
    names = [*([written.index] if written.index else []), *written.columns.values()]
    parts = [f"{frame}.index"] if written.index else []
    for label in map(repr_of, written.columns):
        column = f"{written.rows}[:, {frame}.columns.get_loc({label})]"
        parts.append(f"{frame}[{label}]" if rows.tuples else column)
    over = parts[0] if len(parts) == 1 else f"zip({', '.join(parts)})"
    indent = rows.loop.col_offset
    if len(parts) > 1 and indent + len(f"    for {', '.join(names)} in {over}:") > LIMIT:
        lines = [f"{' ' * indent}{LEVEL}{part}," for part in parts]
        over = "\n".join(["zip(", *lines, f"{' ' * indent})"])
    start, _ = source.span(rows.loop.target)
    _, end = source.span(rows.loop.iter)
    yield Edit(start, end, f"{', '.join(names)} in {over}")


def _without(source: Source, statement: ast.Assign) -> Edit:
    """Take out a statement's lines."""
    assert statement.end_lineno is not None
    start = source.line_starts[statement.lineno - 1]
    return Edit(start, source.line_starts[statement.end_lineno], "")

"""What must hold of a frame, and is asked of it before its columns stand in for its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...model import Basis, Condition, Region
from ...names import import_edit
from .rows import Rows
from .stop import Stop
from .stores import repr_of

WHOLE_NUMBERS = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
)
NUMBERS = WHOLE_NUMBERS | {"float16", "float32", "float64", "complex64", "complex128"}
_TEXTS = frozenset({"object", "str", "string", "category"})


def pandas_name(region: Region) -> str:
    """What the file calls pandas. Raises Stop where it does not import it."""
    above = region.loop.lineno if region.function is None else None
    name, edit = import_edit(region.source, "pandas", "pd", above=above)
    if edit is not None:
        raise Stop("this file does not import pandas", None, "import pandas at the top")
    return name


def frame_tests(rows: Rows, pandas: str) -> list[str]:
    """It is a frame, and the columns that are read are there."""
    frame = rows.frame
    labels = ", ".join(map(repr_of, dict.fromkeys([*rows.labels, *_anchor(rows)])))
    there = [f"{{{labels}}} <= set({frame}.columns)"] if labels else []
    return [f"type({frame}) is {pandas}.DataFrame", f"{frame}.columns.is_unique", *there]


def row_tests(rows: Rows, pandas: str) -> list[str]:
    """A Series of a row holds what the frame holds, throughout the loop."""
    if rows.tuples:
        return []
    tests = [f"not hasattr({pandas}.Series, {repr_of(label)})" for label in rows.attributes]
    tests += _same_values(rows)
    if len(rows.dtypes) > 1 and not _all_numbers(rows):
        # Columns of several dtypes are copied when rows are made of them: nobody changes those.
        tests.append(f"{rows.frame}.dtypes.nunique() > 1")
    return tests


def _all_numbers(rows: Rows) -> bool:
    return rows.dtypes <= NUMBERS


def _same_values(rows: Rows) -> list[str]:
    """Making a Series of a row leaves its values as they are.

    Rows of text and None become text and NaN (pandas 3), rows of dates and NaN dates and NaT; a
    whole number among the values prevents both.
    """
    frame = rows.frame
    if _all_numbers(rows):
        dtypes = ", ".join(f'"{dtype}"' for dtype in sorted(rows.dtypes))
        return [f"set(map(str, {frame}.dtypes)) == {{{dtypes}}}"]
    for label in _anchor(rows):
        column, dtype = f"{frame}[{repr_of(label)}]", dict(rows.columns)[label]
        missing = [] if dtype in WHOLE_NUMBERS else [f"{column}.notna().all()"]
        return [f'{column}.dtype == "{dtype}"', *missing]
    return [f"set(map(type, {frame}.to_numpy().flat)) <= {{str, float}}"]


def _anchor(rows: Rows) -> tuple[str, ...]:
    """The column whose numbers keep a row of several types from being converted, if one has to.

    Raises Stop where there is none, and the row is not of text and floats alone.
    """
    if rows.tuples or _all_numbers(rows):
        return ()
    whole = [label for label, dtype in rows.columns if dtype in WHOLE_NUMBERS]
    if whole:
        return (next((label for label in rows.labels if label in whole), whole[0]),)
    if rows.dtypes <= _TEXTS | NUMBERS:
        return ()
    real = [label for label, dtype in rows.columns if dtype == "float64"]
    if not real:
        dtypes = ", ".join(sorted(rows.dtypes))
        raise Stop(f"rows of {rows.frame} are converted as a whole ({dtypes})")
    return (real[0],)


def condition_lines(tests: list[str]) -> list[str]:
    """The head of an ``if``."""
    return ["if (", f"    {tests[0]}", *(f"    and {test}" for test in tests[1:]), "):"]


def guarded(tests: Iterable[str]) -> Iterator[Condition]:
    """The tests' entries in the ledger."""
    for test in tests:
        yield Condition(test, Basis.OBSERVED, guarded=True)

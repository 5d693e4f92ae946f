"""Arrays that the array code looks at in another form than the program has them in."""

from __future__ import annotations

from dataclasses import dataclass

from ...loopnest.ir import PY_INT, Allocation, ArrayInput, Const, Expr, Var


@dataclass(frozen=True)
class RowAtWork(Allocation):
    """Of a row that every iteration makes anew, which the new code makes in front of the loops."""


@dataclass(frozen=True)
class Turning(Allocation):
    """Of a copy, made in front of the loops, that has an array's columns as rows."""


_NO_ROW = Const(PY_INT, 0, 0)


@dataclass(frozen=True)
class Folded(ArrayInput):
    """An array of rows that the program keeps flat."""

    flat: ArrayInput | None = None
    """As the program has it."""
    row: Expr = _NO_ROW
    """How long a row is: a scalar input, or a number."""


def as_it_is(info: ArrayInput) -> ArrayInput:
    """The array as the program has it."""
    return info.flat if isinstance(info, Folded) and info.flat is not None else info


def row_text(info: Folded) -> str:
    """The length of a row in the program's words."""
    if isinstance(info.row, Const):
        return info.row.name or str(info.row.value)
    assert isinstance(info.row, Var)
    return info.row.name


def row_tests(info: Folded) -> list[str]:
    """That it is made of whole rows."""
    row, name = row_text(info), info.name
    found = []
    if isinstance(info.row, Var):
        found.append(f"type({row}) is int and {row} > 0")
    found.append(f"len({name}) % {row} == 0")
    if as_it_is(info).container == "ndarray":
        found.append(f"{name}.flags.c_contiguous")
    return found

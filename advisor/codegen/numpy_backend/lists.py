"""Lists as arrays inside the rewritten region, and back into the same list objects."""

from __future__ import annotations

import ast

from ...loopnest.affine import Affine, affine, constant, extent_symbol, variable
from ...loopnest.ir import PY_INT, Append, ArrayInput, Assign, Kind, Store, statements
from ...loopnest.text import STRINGS
from ..nb_lists import write_back
from ..text_edge import array_of
from .either_text import box_back
from .flat import Folded, as_it_is, row_text
from .folded import check_places
from .normal import NotVectorisable
from .provenance import proved_list
from .ranges import type_range
from .session import Session
from .values import dtype_text, natural_dtype

_FEW_ROWS = 4
"""Rows read behind a loop up to which these alone are made lists again."""


def convert_lists(session: Session) -> None:
    """Give every list of the nest an array of its values, and the lines that write it back."""
    check_places(session)
    written = {s.array for s in statements((session.root,)) if isinstance(s, Store | Append)}
    for name, info in session.nest.arrays.items():
        if isinstance(info, Folded):
            _rows(session, name, info, name in written)
            continue
        if info.container == "ndarray":
            continue
        if info.container == "bytearray":
            array = _named(session, name)
            session.prologue.append(f"{array} = {_bytes(session, name, name in written)}")
            if name in written:
                session.epilogue.append(f"{name}[:] = {array}.astype({session.np}.uint8).tobytes()")
            continue
        if info.container in STRINGS:
            _string(session, name, info)
            continue
        _refuse_objects(session, name, info)
        array = _named(session, name)
        dtype = session.narrow.get(name, natural_dtype(info.element))
        if name in session.tables:
            kind = dtype_text(session.np, dtype)
            session.prologue += session.tables[name].array(name, array, session.np, kind)
        else:
            session.prologue.append(f"{array} = {_array(session, name, info, dtype)}")
        if name in written and name not in session.dead:
            _write_back(session, name, array, info)


def asked_afterwards(session: Session) -> list[str]:
    """The last lines where new elements of a bytearray must be looked at before they count.

    Nothing that the loop changes may have been changed by then. Raises NotVectorisable.
    """
    if not session.in_bytes:
        return []
    nest, line = session.nest, session.root.line
    for name in sorted({s.array for s in statements((session.root,)) if isinstance(s, Store)}):
        if as_it_is(nest.arrays[name]).container == "ndarray":
            raise NotVectorisable(f"what is stored in {name} cannot be taken back", line)
    kept = {s.name for s in statements((session.root,)) if isinstance(s, Assign)} & nest.live_out
    if kept:
        raise NotVectorisable(f"the value of {min(kept)} cannot be taken back", line)
    session.stored = session.fresh("stored")
    arrays = [session.array_names[name] for name in sorted(session.in_bytes)]
    test = " and ".join(f"({array} >> 8 == 0).all()" for array in arrays)
    return [
        f"{session.stored} = {test}  # else the loop raises, as it did",
        f"if {session.stored}:",
        *(f"    {line}" for line in session.epilogue),
    ]


def _refuse_objects(session: Session, name: str, info: ArrayInput) -> None:
    """Raise NotVectorisable where the elements are no numbers that an array could hold."""
    if info.ndim > 2:
        raise NotVectorisable(
            f"{name} is a {info.container} of lists of lists, which has no array form here",
            suggestion="use a NumPy array",
        )
    if info.element.kind is Kind.COMPLEX or not info.element.is_python:
        raise NotVectorisable(f"{name} holds {info.element} objects")
    if info.element.kind is Kind.INT and not proved_list(info) and name not in session.tables:
        # Integers beyond 64 bits would not fit into the array.
        low, high = info.interval.low, info.interval.high
        if low is None or high is None or max(-low, high) >= 2**60:
            raise NotVectorisable(f"{name} may hold integers beyond 64 bits")
        session.ranges_used[name] = _room(session.narrow.get(name, "int64"), low, high)


def _room(dtype: str, low: float | int, high: float | int) -> tuple[int, int]:
    """What fits, unless a proof asks for less: later inputs need not be as those seen were."""
    if dtype != "int64":
        return type_range(dtype)
    bits = 31 if max(-low, high) <= 2**31 else 60
    return -(2**bits), 2**bits


def _named(session: Session, name: str, what: str = "array") -> str:
    array = session.fresh(f"{name}_{what}")
    session.array_names[name] = array
    return array


def _bytes(session: Session, name: str, written: bool) -> str:
    """An array of a bytearray's elements; a copy, for a view would forbid that it ever grows."""
    dtype = "int64" if written else session.narrow.get(name, "int64")
    text = f"{session.np}.frombuffer(bytes({name}), dtype={session.np}.uint8)"
    return text if dtype == "uint8" else f"{text}.astype({dtype_text(session.np, dtype)})"


def _rows(session: Session, name: str, info: Folded, written: bool) -> None:
    """An array that the program keeps flat, as rows."""
    flat, np = as_it_is(info), session.np
    dtype = session.narrow.get(name, natural_dtype(info.element))
    if flat.container == "list":
        _refuse_objects(session, name, flat)
    array = _named(session, name, "rows")
    match flat.container:
        case "bytearray":
            text = _bytes(session, name, written)
        case "list":
            text = f"{np}.array({name}, dtype={dtype_text(np, dtype)})"
        case _:
            text = name
    shape = f".reshape(-1, {row_text(info)})"
    cast = f".astype({dtype_text(np, dtype)})"
    narrowed = flat.container == "ndarray" and name in session.narrow
    session.prologue.append(f"{array} = {text}{shape}{cast if narrowed else ''}")
    if written and flat.container == "bytearray":
        session.epilogue.append(f"{name}[:] = {array}.astype({np}.uint8).tobytes()")
    elif written and flat.container == "list":
        session.epilogue.append(f"{name}[:] = {array}.ravel().tolist()")


def _array(session: Session, name: str, info: ArrayInput, dtype: str) -> str:
    """The array of a list's elements."""
    kind = dtype_text(session.np, dtype)
    made = info.allocation
    if proved_list(info) and made is not None:
        # all elements are the same: none needs to be looked at
        texts = [session.facts.text(size) for size in known_sizes(session, info)]
        texts = texts or [f"len({name}{'[0]' * axis})" for axis in range(info.ndim)]
        shape = f"({', '.join(texts)})" if info.ndim > 1 else texts[0]
        if made.fill in (0, False) and str(made.fill) != "-0.0":
            return f"{session.np}.zeros({shape}, dtype={kind})"
        return f"{session.np}.full({shape}, {made.fill!r}, dtype={kind})"
    if dtype == "uint8" and info.ndim == 2:
        # several times as fast as an array of a list of lists
        rows = f'b"".join(map(bytes, {name}))'
        return f"{session.np}.frombuffer({rows}, dtype={kind}).reshape(len({name}), -1)"
    return f"{session.np}.array({name}, dtype={kind})"


def known_sizes(session: Session, info: ArrayInput) -> list[Affine]:
    """The extents that the code proves, where it proves all of them and none is negative."""
    sizes = [None if extent is None else affine(extent) for extent in info.extents]
    found = [size for size in sizes if size is not None and session.facts.require(size)]
    return found if len(found) == info.ndim else []


def _string(session: Session, name: str, info: ArrayInput) -> None:
    """An array of code points, or of bytes; ints of the usual width, for arithmetic."""
    array = session.fresh(f"{name}_array")
    session.array_names[name] = array
    dtype = dtype_text(session.np, session.narrow.get(name, natural_dtype(info.element)))
    text = array_of(name, info.container, info.interval, session.np)
    session.prologue.append(f"{array} = {text}.astype({dtype})")


def _write_back(session: Session, name: str, array: str, info: ArrayInput) -> None:
    if info.container != "list":
        raise NotVectorisable(f"{name} is a {info.container}")
    if name in session.nest.either:
        session.epilogue += box_back(session, name, array)
        return
    rows = _rows_that_exist(session, name, info)
    if rows is None:
        session.epilogue += write_back(name, array, info.ndim, session.fresh, info.shape[-1] or 0)
        return
    for number, row in enumerate(rows):
        why = "  # nobody reads the other rows" if number == 0 else ""
        session.epilogue.append(f"{name}[{row}][:] = {array}[{row}].tolist(){why}")


def _rows_that_exist(session: Session, name: str, info: ArrayInput) -> list[str] | None:
    """The rows that are read behind the loop; None where one may not be there, or all are read."""
    read = session.rows_read.get(name)
    if read is None or len(read) > _FEW_ROWS:
        return None
    facts = session.facts
    sizes = known_sizes(session, info)
    size = sizes[0] if sizes else variable(extent_symbol(name, 0))
    for row in read:
        form = _form(session, row)
        if form is None:
            return None
        if form.is_const and form.const < 0:
            form = form + size
        if not (facts.require(form) and facts.require(size - form - 1)):
            return None
    return [ast.unparse(row) for row in read]


def _form(session: Session, row: ast.expr) -> Affine | None:
    """The number of a row; None for what no test in front can be about."""
    match row:
        case ast.Constant(value=int(value)) if type(value) is int:
            return constant(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return constant(-value)
        case ast.Name(id=name):
            scalar = session.nest.scalars.get(name)
            return variable(name) if scalar is not None and scalar.type == PY_INT else None
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
            known = session.nest.arrays.get(name)
            plain = known is not None and known.container in ("list", "tuple", *STRINGS)
            return variable(extent_symbol(name, 0)) if plain else None
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            one, other = _form(session, left), _form(session, right)
            if one is None or other is None:
                return None
            return one + other if isinstance(op, ast.Add) else one - other
    return None

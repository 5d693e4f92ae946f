"""Lists as arrays inside the rewritten region, and back into the same list objects."""

from __future__ import annotations

from ...loopnest.ir import Append, ArrayInput, Kind, Store, statements
from ...loopnest.text import STRINGS
from ..text_edge import array_of
from .normal import NotVectorisable
from .provenance import proved_list
from .ranges import outwards
from .session import Session
from .values import dtype_text, natural_dtype


def convert_lists(session: Session) -> None:
    """Give every list of the nest an array of its values, and the lines that write it back."""
    written = {s.array for s in statements((session.root,)) if isinstance(s, Store | Append)}
    for name, info in session.nest.arrays.items():
        if info.container == "ndarray":
            continue
        if info.container in STRINGS:
            _string(session, name, info)
            continue
        if info.container == "bytearray" or info.ndim > 2:
            inner = " of lists of lists" if info.ndim > 2 else ""
            raise NotVectorisable(
                f"{name} is a {info.container}{inner}, which has no array form here",
                suggestion="use a NumPy array",
            )
        if info.element.kind is Kind.COMPLEX or not info.element.is_python:
            raise NotVectorisable(f"{name} holds {info.element} objects")
        if info.element.kind is Kind.INT and not proved_list(info):
            # Integers beyond 64 bits would not fit into the array.
            low, high = info.interval.low, info.interval.high
            if low is None or high is None or max(-low, high) >= 2**60:
                raise NotVectorisable(f"{name} may hold integers beyond 64 bits")
            session.ranges_used[name] = outwards(int(low), int(high))
        array = session.fresh(f"{name}_array")
        session.array_names[name] = array
        dtype = natural_dtype(info.element)
        if name in session.narrow:
            dtype = session.narrow[name]
        session.prologue.append(
            f"{array} = {session.np}.array({name}, dtype={dtype_text(session.np, dtype)})"
        )
        if name in written:
            _write_back(session, name, array, info)


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
    if info.ndim == 1:
        session.epilogue.append(f"{name}[:] = {array}.tolist()")
        return
    row, values = session.fresh("row"), session.fresh("values")
    session.epilogue.append(f"for {row}, {values} in zip({name}, {array}.tolist()):")
    session.epilogue.append(f"    {row}[:] = {values}")

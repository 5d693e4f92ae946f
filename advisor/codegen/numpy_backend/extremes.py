"""``if x[k] > largest: largest = x[k]`` of arrays, as ``np.maximum`` in place.

The comparison passes over NaN, and of 0.0 and -0.0 it keeps the first: integers have neither, and
of the elements of an array it is asked that they are none.
"""

from __future__ import annotations

from ...loopnest.ir import Assign, Compare, Const, Expr, Kind, Load, Select, Store, statements
from .flat import as_it_is
from .session import Buffer, BufferRef, Session


def extreme_of(session: Session, name: str, buffer: Buffer, value: Expr) -> tuple[str, Expr] | None:
    """The function, and what the scalar is compared with; None where it is another update."""
    match value:
        case Select(
            test=Compare(op="<" | ">" as op, left=left, right=right),
            then=new,
            orelse=BufferRef(buffer=old) as kept,
        ) if old.name == buffer.name and {left, right} == {new, kept} and left != right:
            pass
        case _:
            return None
    if new.type.kind is not Kind.INT and not _are_plain(session, name, new):
        return None
    return ("minimum" if (op == "<") == (left == new) else "maximum"), new


def _are_plain(session: Session, name: str, new: Expr) -> bool:
    """Whether neither side is ever NaN or -0.0, by tests of the array if need be."""
    start = session.starts.get(name)
    sets = [s for s in statements((session.root,)) if isinstance(s, Assign) and s.name == name]
    if start is None or len(sets) != 2 or not isinstance(new, Load):
        return False
    tests = _tests(session, new)
    match start:
        case Const(value=value):
            plain = value == value and repr(value) != "-0.0"
        case Load(array=array):
            plain = array == new.array
        case _:
            plain = False
    if not plain or tests is None:
        return False
    session.domains += [test for test in tests if test not in session.domains]
    return True


def _tests(session: Session, element: Load) -> list[str] | None:
    """That no element is NaN or -0.0; None where that cannot be asked."""
    array, np = element.array, session.np
    stored = {s.array for s in statements((session.root,)) if isinstance(s, Store)}
    info = as_it_is(session.nest.arrays[array])
    double = element.type.kind is Kind.FLOAT and element.type.dtype in (None, "float64")
    if array in stored | session.made or not double:
        return None
    if info.container == "ndarray":
        zeros = f"{np}.signbit({array}) & ({array} == 0)"
        return [f"not ({np}.isnan({array}) | {zeros}).any()"]
    if info.container == "list" and info.ndim == 1:
        signs = f"'-0.0' not in map(repr, {array})"
        return [f"abs(sum({array})) < float('inf')", f"(0 not in {array} or {signs})"]
    return None

"""Places in the order of a few numbers, for all elements of arrays at once: medians of windows.

Neighbours are exchanged, smallest first, as often as the place needs: minima and maxima of whole
arrays, which take a fraction of the time of sorting along an axis.
"""

from __future__ import annotations

from ...loopnest.ir import Call, Const, Expr, Kind, Load, Store, statements
from .flat import as_it_is
from .normal import NotVectorisable
from .session import Session
from .values import ATOM, Value, cast, natural_dtype

_FUNCTION = '''\
def {name}(place, *parts):
    """What stands at a place where the numbers of all parts are sorted, element by element."""
    parts = {np}.broadcast_arrays(*parts)
    result = {np}.empty(parts[0].shape, dtype=parts[0].dtype)
    step = max(1, 2**15 // max(1, parts[0][:1].size))  # as many rows as stay in the cache
    for start in range(0, len(result), step):
        row = [part[start : start + step] for part in parts]
        for first in range(place + 1):
            for k in range(len(row) - 1, first, -1):
                low, high = row[k - 1], row[k]
                row[k - 1], row[k] = {np}.minimum(low, high), {np}.maximum(low, high)
        result[start : start + step] = row[place]
{zeros}    return result
'''
_ZEROS = """\
    zero = result == 0
    if zero.any():  # 0.0 and -0.0 stay in the order in which they came
        same = [part[zero] for part in parts]
        result[zero] = {np}.sort(same, axis=0, kind="stable")[place]
"""


def ordered(session: Session, expr: Call, values: list[Value]) -> Value:
    """``sorted((a, b, c))[1]`` over the axes. Raises NotVectorisable."""
    place, *items = expr.args
    assert isinstance(place, Const)
    values = values[1:]
    axes = frozenset().union(*(value.axes for value in values))
    natural = natural_dtype(expr.type)
    dtypes = {value.dtype for value in values}
    dtype = next(iter(dtypes)) if len(dtypes) == 1 else natural
    if not all(value.is_array for value in values):
        raise NotVectorisable("numbers that do not change are sorted among others", expr.line)
    floats = expr.type.kind is Kind.FLOAT
    if floats:
        _without_nan(session, items)
        if natural != "float64" or dtype != natural:
            raise NotVectorisable("numbers of another precision are sorted", expr.line)
    texts = [cast(value, dtype or natural, session.np).text for value in values]
    name = _function(session, floats)
    text = f"{name}({place.value}, {', '.join(texts)})"
    return Value(text, ATOM, expr.type, dtype, axes, True)


def _function(session: Session, floats: bool) -> str:
    """The name of the function, which stands above."""
    known = session.ordering.get(floats)
    if known is None:
        known = session.ordering[floats] = session.fresh("_in_order")
        zeros = _ZEROS.format(np=session.np) if floats else ""
        session.helpers.append(_FUNCTION.format(name=known, np=session.np, zeros=zeros))
    return known


def _without_nan(session: Session, items: list[Expr]) -> None:
    """No element is NaN, which has no place in an order: asked before. Raises NotVectorisable."""
    stored = {s.array for s in statements((session.root,)) if isinstance(s, Store)}
    for item in items:
        inner = item.args[0] if isinstance(item, Call) and item.function == "float" else item
        if not isinstance(inner, Load) or inner.array in stored or inner.array in session.made:
            raise NotVectorisable("a computed number may be NaN, which has no order", item.line)
        if inner.type.kind is not Kind.FLOAT:
            continue
        test = _is_number(session, inner.array, item.line)
        if test not in session.domains:
            session.domains.append(test)


def _is_number(session: Session, array: str, line: int) -> str:
    info = as_it_is(session.nest.arrays[array])
    if info.container == "ndarray":
        return f"not {session.np}.isnan({array}).any()"
    if info.ndim == 1:
        return f"abs(sum({array})) < float('inf')"
    if info.ndim == 2:
        return f"abs(sum(map(sum, {array}))) < float('inf')"
    raise NotVectorisable(f"{array} may hold NaN, which has no order", line)

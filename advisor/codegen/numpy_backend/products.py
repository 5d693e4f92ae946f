"""Sums over loops as products of matrices and vectors: ``@``, ``einsum``, ``sum``.

A term is split into factors, and these into two operands by the axes that they run over: what
both have in common is summed, what only one has stays. Scalars go to the smaller operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...loopnest.fold import reads, substitute
from ...loopnest.ir import (
    PY_INT,
    Binary,
    Expr,
    Kind,
    Load,
    Scalar,
    Sum,
    Unary,
    Var,
    walk,
)
from .indexing import span_of
from .merging import sort_key, swapped
from .normal import NotVectorisable
from .session import BufferRef, Context, Session, Span
from .values import ATOM, PRODUCT, SUM, UNARY, Value, binary, cast, natural_dtype
from .wedges import UNEVEN, Wedge, cut, require_finite, wedge_of, whole_rows

MOST_AXES = 2
"""Axes of a temporary that is made only to be added up."""
_LETTERS = "ijklmnopqrstuvwxyzabcdefgh"


@dataclass(frozen=True)
class _Operand:
    """Factors that are multiplied element by element."""

    expr: Expr
    axes: frozenset[str]
    wedges: tuple[Wedge, ...] = ()
    """The triangles outside which it is zero."""


@dataclass(frozen=True)
class _Frame:
    """Where a sum stands: the axes around it and those it adds up over."""

    session: Session
    context: Context
    spans: dict[str, Span]
    summed: tuple[str, ...]
    wedges: tuple[Wedge, ...]
    """Of the sums whose rows have different lengths."""

    @property
    def inside(self) -> frozenset[str]:
        """All axes that a term may run over."""
        return frozenset((*self.context.axes, *self.summed))

    def kept(self, axes: frozenset[str]) -> tuple[str, ...]:
        """Those of the axes that stay, in the order of the context."""
        return tuple(axis for axis in self.context.axes if axis in axes)

    def over(self, axes: Sequence[str]) -> Context:
        """A context of these axes, in this order."""
        full = dict(self.context.full)
        spans = tuple((axis, self.spans[axis]) for axis in axes)
        whole = tuple((axis, full.get(axis, self.spans[axis])) for axis in axes)
        return replace(self.context, spans=spans, full=whole, mask=None)


def sum_value(session: Session, expr: Sum, context: Context) -> Value:
    """The value of a sum over the axes of the context. Raises NotVectorisable."""
    frame = _frame(session, expr, context)
    result: Value | None = None
    terms = terms_of(expr.body)
    if _mirror_images(frame, terms):
        return _with_transpose(frame, expr, terms[0])
    for sign, term in terms:
        value = _term(frame, term)
        if result is None:
            minus = replace(value, text=f"-{value.at(UNARY)}", level=UNARY)
            result = value if sign == "+" else minus
        else:
            result = binary(sign, result, value, expr.type, value.dtype)
    assert result is not None
    if not result.axes and expr.type.is_python and not context.axes:
        return replace(result, text=f"float({result.text})", level=ATOM, dtype=None)
    return result


def _frame(session: Session, expr: Sum, context: Context) -> _Frame:
    spans = dict(context.spans)
    wedges: list[Wedge] = []
    for loop in expr.loops:
        if loop.index in spans:
            raise NotVectorisable(f"two loops over {loop.index}", expr.line)
        wedge = wedge_of(loop, context)
        if wedge is None:
            spans[loop.index] = span_of(loop)
        else:
            wedges.append(wedge)
            spans[loop.index] = whole_rows(session, loop, expr.body, context)
    summed = tuple(loop.index for loop in expr.loops)
    return _Frame(session, context, spans, summed, tuple(wedges))


# --------------------------------------------------------------------- terms
def terms_of(expr: Expr, sign: str = "+") -> list[tuple[str, Expr]]:
    """The summands of a term, each with its sign."""
    match expr:
        case Binary(op="+" | "-" as op, left=left, right=right) if _same_type(expr, left, right):
            other = sign if op == "+" else _opposite(sign)
            return [*terms_of(left, sign), *terms_of(right, other)]
        case Unary(op="-", operand=operand):
            return terms_of(operand, _opposite(sign))
    return [(sign, expr)]


def _mirror_images(frame: _Frame, terms: Sequence[tuple[str, Expr]]) -> bool:
    """``a[i, k] * b[j, k] + b[i, k] * a[j, k]``: the one is the transpose of the other."""
    axes = frame.context.axes
    if len(axes) != 2 or len(terms) != 2 or terms[0][0] != terms[1][0] or frame.wedges:
        return False
    if frame.spans[axes[0]] != frame.spans[axes[1]] or frame.context.mask is not None:
        return False
    one, two = (sorted((op, sort_key(e)) for op, e in factors_of(term)) for _, term in terms)
    turned = factors_of(swapped(terms[0][1], *axes))
    return one != two and sorted((op, sort_key(e)) for op, e in turned) == two


def _with_transpose(frame: _Frame, expr: Sum, first: tuple[str, Expr]) -> Value:
    """``product + product.T`` of a product with a name of its own."""
    session, (sign, term) = frame.session, first
    place = expr, frame.context.spans
    if place not in session.products:
        value = _term(frame, term)
        if value.axes != frozenset(frame.context.axes):
            raise NotVectorisable("a sum over a term that does not change", expr.line)
        name = session.fresh("product")
        session.line(f"{name} = {value.text}")
        session.products[place] = name
    name = session.products[place]
    text = f"{name} + {name}.T" if sign == "+" else f"-{name} - {name}.T"
    axes = frozenset(frame.context.axes)
    return Value(text, SUM, expr.type, natural_dtype(term.type), axes, True)


def _opposite(sign: str) -> str:
    return "-" if sign == "+" else "+"


def _same_type(whole: Expr, *parts: Expr) -> bool:
    """No part is rounded to another precision before it is added."""
    return all(
        part.type.kind is Kind.FLOAT and natural_dtype(part.type) == natural_dtype(whole.type)
        for part in parts
    )


def factors_of(expr: Expr, op: str = "*") -> list[tuple[str, Expr]]:
    """The factors of a product, the divisors with ``/``."""
    match expr:
        case Binary(op="*" as inner, left=left, right=right) if _is_float(expr) and op == "*":
            return [*factors_of(left), *factors_of(right, inner)]
        case Binary(op="/", left=left, right=right) if _is_float(expr) and op == "*":
            return [*factors_of(left), ("/", right)]
    return [(op, expr)]


def _is_float(expr: Expr) -> bool:
    return expr.type.kind is Kind.FLOAT


def _axes(frame: _Frame, expr: Expr) -> frozenset[str]:
    found = set(reads(expr))
    for part in walk(expr):
        if isinstance(part, BufferRef):
            found |= part.buffer.axes
    return frozenset(found) & frame.inside


def _term(frame: _Frame, term: Expr) -> Value:
    """The sum of one product of factors."""
    square = _scaled_square(frame, term)
    if square is not None:
        return square
    operands = _operands(frame, term)
    missing = set(frame.summed) - frozenset().union(*(o.axes for o in operands))
    if missing:
        raise NotVectorisable("a sum over a term that does not change", term.line)
    if frame.wedges:
        operands = _cut(frame, operands)
    if len(operands) == 1 or _twice(operands):
        return _added_up(frame, term, operands)
    if len(operands) == 2:
        value = _matrix_product(frame, term, operands[0], operands[1])
        if value is not None:
            return value
    return _einsum(frame, term, operands)


def _cut(frame: _Frame, operands: Sequence[_Operand]) -> list[_Operand]:
    """The operands, one of them zero where a row has no term. Raises NotVectorisable."""
    pairs = {name for wedge in frame.wedges for name in (wedge.index, wedge.axis)}
    whole = next((operand for operand in operands if pairs <= operand.axes), None)
    if whole is None or len(operands) > 2 or _twice(operands):
        raise NotVectorisable(UNEVEN, operands[0].expr.line)
    for operand in operands:
        if operand is not whole:
            require_finite(frame.session, operand.expr, frame.context)
    return [replace(o, wedges=frame.wedges) if o is whole else o for o in operands]


def _scaled_square(frame: _Frame, term: Expr) -> Value | None:
    """``alpha * (A @ A.T)`` for ``alpha * A[i, k] * A[j, k]``: BLAS computes one half of it.

    With the factor inside, ``(alpha * A) @ A.T`` are two matrices to it.
    """
    factors = [(op, e, _axes(frame, e)) for op, e in factors_of(term)]
    if frame.wedges:
        return None
    arrays = [_Operand(e, axes) for op, e, axes in factors if axes and op == "*"]
    scalars = [(op, e) for op, e, axes in factors if not axes]
    if not scalars or len(arrays) != 2 or len(arrays) + len(scalars) < len(factors):
        return None
    one, two = arrays
    own = [*(one.axes - set(frame.summed)), *(two.axes - set(frame.summed))]
    if len(own) != 2 or own[0] == own[1] or not all(isinstance(a.expr, Load) for a in arrays):
        return None
    put = {own[0]: Var(PY_INT, term.line, own[1])}
    if substitute(one.expr, put) != two.expr or frame.spans[own[0]] != frame.spans[own[1]]:
        return None
    product = _matrix_product(frame, term, one, two)
    if product is None:
        return None
    scale = scalars[0][1]
    if scalars[0][0] == "/":
        return None
    for op, more in scalars[1:]:
        scale = multiplied(op, scale, more)
    factor = _written(frame, _Operand(scale, frozenset()), (), natural_dtype(term.type))
    return binary("*", factor, product, term.type, product.dtype)


def _twice(operands: Sequence[_Operand]) -> bool:
    """``(x - y) * (x - y)``: the difference is computed once and squared."""
    return (
        len(operands) == 2
        and operands[0].expr == operands[1].expr
        and not (isinstance(operands[0].expr, Load | BufferRef))
    )


def _operands(frame: _Frame, term: Expr) -> list[_Operand]:
    """The factors of a term in groups that are multiplied element by element."""
    factors = [(op, e, _axes(frame, e)) for op, e in factors_of(term)]
    arrays = [_Operand(e, axes) for op, e, axes in factors if op == "*" and axes]
    if not arrays:
        raise NotVectorisable("a sum over a term that does not change", term.line)
    if len({a.axes for a in arrays}) == 1:
        groups = [*arrays[:1], *_one(arrays[1:])]  # x[k] * y[k]: two vectors
    else:
        kinds = dict.fromkeys(a.axes for a in arrays)
        groups = [*(_one([a for a in arrays if a.axes == kind])[0] for kind in kinds)]
    groups = _absorbed(groups)
    pairs = {name for wedge in frame.wedges for name in (wedge.index, wedge.axis)}
    for op, e, axes in reversed(factors):
        if op == "*" and axes:
            continue
        hosts = [g for g in groups if axes <= g.axes]
        if not hosts:
            raise NotVectorisable("a sum over a term that does not change", term.line)
        # zeros times a factor that is infinite would be NaN: it goes to where they are made
        host = min(hosts, key=lambda g: (not pairs <= g.axes, len(g.axes), groups.index(g)))
        first, second = (e, host.expr) if op == "*" else (host.expr, e)
        groups[groups.index(host)] = _Operand(multiplied(op, first, second), host.axes)
    return groups


def _one(operands: Sequence[_Operand]) -> list[_Operand]:
    """All of them multiplied; none of none."""
    if not operands:
        return []
    result = operands[0]
    for more in operands[1:]:
        result = _Operand(multiplied("*", result.expr, more.expr), result.axes | more.axes)
    return [result]


def _absorbed(groups: list[_Operand]) -> list[_Operand]:
    """At most two groups, where one of three runs over axes of another: ``A[i, k] * w[k]``."""
    while len(groups) > 2:
        by_size = sorted(groups, key=lambda g: len(g.axes))
        pairs = ((g, h) for g in by_size for h in by_size if g is not h and g.axes <= h.axes)
        inner, host = next(pairs, (None, None))
        if inner is None or host is None:
            return groups
        both = _one([host, inner])[0]
        groups = [both if g is host else g for g in groups if g is not inner]
    return groups


def multiplied(op: str, first: Expr, second: Expr) -> Binary:
    """``first op second`` with the type that NumPy's scalars give."""
    types = (first.type, second.type)
    floats = [t for t in types if t.kind is Kind.FLOAT]
    arrays = [t for t in floats if not t.is_python]
    wide = any(t.kind is Kind.INT and t.dtype in ("int64", "int32") for t in types)
    if not floats:
        type_ = next((t for t in types if not t.is_python), types[0])
    elif not arrays:
        type_ = floats[0]
    else:
        type_ = max(arrays, key=lambda t: t.dtype or "")
        if wide and type_.dtype == "float32":
            type_ = Scalar(Kind.FLOAT, "float64")
    return Binary(type_, second.line, op, first, second)


# ------------------------------------------------------------------- writing
def _written(frame: _Frame, operand: _Operand, axes: Sequence[str], dtype: str) -> Value:
    """An operand as an array with just these dimensions."""
    from .expressions import evaluate

    for part in walk(operand.expr):
        if isinstance(part, BufferRef):
            order = [axis for axis in axes if axis in part.buffer.dims]
            if order != list(part.buffer.dims):
                raise NotVectorisable("a computed array is needed in another layout", part.line)
    context = frame.over(axes)
    value = _stack(frame, operand.expr, axes, dtype)
    if value is not None:
        return value
    value = evaluate(frame.session, operand.expr, context)
    if value.axes != frozenset(axes):
        raise NotVectorisable("a sum over a term that does not change", operand.expr.line)
    value = cast(value, dtype, frame.session.np)
    return cut(frame.session, value, axes, operand.wedges, frame.spans)


def _stack(frame: _Frame, expr: Expr, axes: Sequence[str], dtype: str) -> Value | None:
    """The vectors of several outer products beside each other: ``np.stack((u, w), axis=1)``."""
    from .expressions import evaluate
    from .outer import stacked

    for at, axis in enumerate(axes):
        vectors = stacked(expr, axis)
        if vectors is None:
            continue
        np, along = frame.session.np, frame.over([other for other in axes if other != axis])
        found = [cast(evaluate(frame.session, v, along), dtype, np) for v in vectors]
        if len(axes) != 2 or any(value.axes != frozenset(along.axes) for value in found):
            raise NotVectorisable("a few terms gain nothing as a product", expr.line)
        which = f", axis={at}" if at else ""
        text = f"{np}.stack(({', '.join(value.text for value in found)}){which})"
        return Value(text, ATOM, expr.type, dtype, frozenset(axes), True)
    return None


def _placed(frame: _Frame, text: str, level: int, term: Expr, kept: tuple[str, ...]) -> Value:
    """A result over some axes of the context, broadcast against the others."""
    from .elements import align

    dtype = natural_dtype(term.type)
    if not kept:
        return Value(text, level, term.type, dtype)
    axes = frame.context.axes
    gaps = set(axes[axes.index(kept[0]) :]) - set(kept)
    if gaps:
        text = align(text if level == ATOM else f"({text})", list(kept), axes)
        level = ATOM
    return Value(text, level, term.type, dtype, frozenset(kept), True)


def _matrix_product(frame: _Frame, term: Expr, one: _Operand, two: _Operand) -> Value | None:
    """``one @ two``; None where the axes do not fit."""
    summed = tuple(axis for axis in frame.summed if axis in one.axes and axis in two.axes)
    if set(summed) != set(frame.summed):
        return None
    a, b = frame.kept(one.axes), frame.kept(two.axes)
    if set(a) & set(b):
        return None
    kept = frame.kept(one.axes | two.axes)
    if kept == (*b, *a) and b:
        one, two, a, b = two, one, b, a
    if kept != (*a, *b):
        return None
    dtype = natural_dtype(term.type)
    np = frame.session.np
    if a and not b and len(summed) == 1 and _natural(frame, one, a)[0] in summed:
        one, two, a, b = two, one, b, a  # x @ A rather than A.T @ x
    left = _written(frame, one, (*a, *summed), dtype)
    right = _written(frame, two, (*summed, *b), dtype)
    if len(summed) == 1 and len(b) <= 1:
        text = f"{left.at(PRODUCT)} @ {right.at(UNARY)}"
        return _placed(frame, text, PRODUCT, term, kept)
    if not kept:
        return _placed(frame, f"{np}.vdot({left.text}, {right.text})", ATOM, term, kept)
    count = len(summed)
    text = f"{np}.tensordot({left.text}, {right.text}, {count})"
    return _placed(frame, text, ATOM, term, kept)


def _added_up(frame: _Frame, term: Expr, operands: Sequence[_Operand]) -> Value:
    """Terms that are no product of two arrays: ``x.sum()``, ``((x - y)**2).sum(axis=1)``."""
    (operand, *more) = operands
    kept = frame.kept(operand.axes)
    if len(operand.axes) > MOST_AXES and not isinstance(operand.expr, Load):
        raise NotVectorisable("the terms of all sums together need too much memory", term.line)
    axes = _natural(frame, operand, kept)
    value = _written(frame, operand, axes, natural_dtype(term.type))
    # a power of 2 is a product, and goes into the memory of the difference where that is large
    text = f"({value.at(ATOM)}**2)" if more else value.at(ATOM)
    if not kept:
        return _placed(frame, f"{text}.sum()", ATOM, term, kept)
    at = [n for n, axis in enumerate(axes) if axis not in kept]
    which = str(at[0]) if len(at) == 1 else str(tuple(at))
    return _placed(frame, f"{text}.sum(axis={which})", ATOM, term, kept)


def _natural(frame: _Frame, operand: _Operand, kept: tuple[str, ...]) -> tuple[str, ...]:
    """The order of the axes in the first array that has them all, else those that stay first."""
    summed = tuple(axis for axis in frame.summed if axis in operand.axes)
    for part in walk(operand.expr):
        if isinstance(part, Load):
            order = [a for e in part.index for a in sorted(reads(e) & operand.axes)]
            whole = set(order) == operand.axes and len(order) == len(operand.axes)
            if whole and tuple(a for a in order if a in kept) == kept:
                return tuple(order)
    return (*kept, *summed)


def _einsum(frame: _Frame, term: Expr, operands: Sequence[_Operand]) -> Value:
    """Several operands with axes in common: the terms are never all in memory."""
    dtype = natural_dtype(term.type)
    kept = frame.kept(frozenset().union(*(o.axes for o in operands)))
    every = (*kept, *frame.summed)
    letter = {axis: _LETTERS[n] for n, axis in enumerate(every)}
    values, subscripts = [], []
    for operand in operands:
        axes = tuple(axis for axis in every if axis in operand.axes)
        values.append(_written(frame, operand, axes, dtype).text)
        subscripts.append("".join(letter[axis] for axis in axes))
    into = "".join(letter[axis] for axis in kept)
    text = f'{frame.session.np}.einsum("{",".join(subscripts)}->{into}", {", ".join(values)})'
    return _placed(frame, text, ATOM, term, kept)

"""Several outer products that are added up, as one product of two narrow matrices.

``A[i, j] += u[i] * v[j] + w[i] * z[j]`` is ``A += np.stack((u, w), axis=1) @ np.stack((v, z))``:
one temporary as large as ``A`` and one pass over it, whatever the number of terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...loopnest.fold import reads
from ...loopnest.ir import (
    PY_BOOL,
    PY_INT,
    Binary,
    Compare,
    Const,
    Expr,
    For,
    Kind,
    Load,
    Nest,
    Select,
    Stmt,
    Store,
    Sum,
    Var,
    walk,
)
from .products import factors_of, multiplied, terms_of
from .restructure import Variant
from .values import natural_dtype

FEWEST = 2
"""Outer products in one value from which on a product of matrices gains."""


def with_outer_products(variant: Variant, nest: Nest) -> Variant | None:
    """The nest with sums of outer products in its values; None where there is none."""
    moved = set(variant.moved)

    def rebuilt(loop: For, outer: tuple[For, ...]) -> For:
        body: list[Stmt] = []
        for statement in loop.body:
            if isinstance(statement, For):
                statement = rebuilt(statement, (*outer, loop))
            elif isinstance(statement, Store):
                value = _value(statement, nest, (*outer, loop))
                if value is not None:
                    statement = replace(statement, value=value)
                    moved.add(id(statement))
            body.append(statement)
        return replace(loop, body=tuple(body))

    root = rebuilt(variant.root, ())
    new = Variant(root, frozenset(moved))
    return None if len(moved) == len(variant.moved) else new


def _value(store: Store, nest: Nest, loops: tuple[For, ...]) -> Expr | None:
    """The stored value with one sum in place of its outer products."""
    match store.index:
        case (Var(name=row), Var(name=column)) if row != column:
            pass
        case _:
            return None
    element = nest.arrays[store.array].element
    around = {loop.index: loop for loop in loops}
    if not {row, column} <= around.keys() or element.kind is not Kind.FLOAT:
        return None
    if any(isinstance(part, Sum) for part in walk(store.value)):
        return None
    terms = terms_of(store.value)
    pairs = [_split(sign, term, row, column, natural_dtype(element)) for sign, term in terms]
    found = [pair for pair in pairs if pair is not None]
    rest = [term for term, pair in zip(terms, pairs, strict=True) if pair is None]
    if len(found) < FEWEST or not rest or rest[0][0] == "-":
        return None
    total = _sum(found, around[row], nest)
    (_, result), *others = rest
    for sign, term in (*others, ("+", total)):
        result = Binary(store.value.type, term.line, sign, result, term)
    return result


def _split(sign: str, term: Expr, row: str, column: str, dtype: str) -> tuple[Expr, Expr] | None:
    """``u[i]`` and ``v[j]`` of their product; numbers go to the first. None for other terms."""
    if sign != "+" or natural_dtype(term.type) != dtype:
        return None
    sides: tuple[list[Expr], list[Expr]] = ([], [])
    for op, factor in factors_of(term):
        used = reads(factor) & {row, column}
        if op != "*" or len(used) > 1:
            return None
        sides[used == {column}].append(factor)
    if not all(any(isinstance(f, Load) and reads(f) for f in side) for side in sides):
        return None
    if not any(row in reads(f) for f in sides[0]):
        return None
    left, right = (_product(side) for side in sides)
    same = natural_dtype(left.type) == natural_dtype(right.type) == dtype
    return (left, right) if same else None


def _product(factors: Sequence[Expr]) -> Expr:
    result = factors[0]
    for factor in factors[1:]:
        result = multiplied("*", result, factor)
    return result


def _sum(pairs: Sequence[tuple[Expr, Expr]], around: For, nest: Nest) -> Sum:
    """``Sum_t (u if t == 0 else w)[i] * (v if t == 0 else z)[j]``."""
    line = around.line
    name = "term"
    while name in nest.scalars or name in nest.arrays or name in nest.privates:
        name += "_"
    sides = [_chosen([pair[k] for pair in pairs], name, line) for k in (0, 1)]
    body = multiplied("*", *sides)
    start, stop = Const(PY_INT, line, 0), Const(PY_INT, line, len(pairs))
    loop = replace(around, index=name, start=start, stop=stop, step=1, body=(), values=None)
    return Sum(body.type, line, (loop,), body)


def _chosen(values: Sequence[Expr], name: str, line: int) -> Expr:
    result = values[-1]
    for number, value in reversed(list(enumerate(values[:-1]))):
        test = Compare(PY_BOOL, line, "==", Var(PY_INT, line, name), Const(PY_INT, line, number))
        result = Select(value.type, line, test, value, result)
    return result


def stacked(expr: Expr, name: str) -> list[Expr] | None:
    """The values that `with_outer_products` put under one index; None of other expressions."""
    values: list[Expr] = []
    while isinstance(expr, Select):
        if expr.test != Compare(
            PY_BOOL, 0, "==", Var(PY_INT, 0, name), Const(PY_INT, 0, len(values))
        ):
            return None
        values.append(expr.then)
        expr = expr.orelse
    return [*values, expr] if values else None

"""Bring a nest into the form the vectoriser works on.

Small constant loops are unrolled, ``continue`` becomes ``If``, windows such as
``range(i - 1, i + 2)`` get constant trip counts, constants are folded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...loopnest.affine import affine, make_affine, to_expr, variable
from ...loopnest.fold import COMPARE, fold, reads, substitute
from ...loopnest.ir import (
    PY_BOOL,
    PY_INT,
    Append,
    Assign,
    Binary,
    Bool,
    Break,
    Call,
    Compare,
    Const,
    Continue,
    Expr,
    For,
    If,
    Kind,
    Load,
    Scalar,
    Stmt,
    Store,
    Unary,
    UserCall,
    Var,
    While,
    expressions,
    statements,
    walk,
)

UNROLL_TRIPS = 16
"""Longest loop that is unrolled: a 4 x 4 window; longer ones stay loops."""
UNROLL_STATEMENTS = 300
"""Statements after unrolling beyond which the text would be no one's pleasure."""


class NotVectorisable(Exception):
    """The nest cannot become array statements; carries the reason for the report."""

    def __init__(self, reason: str, line: int | None = None, suggestion: str | None = None):
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.suggestion = suggestion


def normalise(root: For, live_out: frozenset[str]) -> For:
    """The root loop in normal form. Raises NotVectorisable."""
    for statement in statements((root,)):
        _check(statement)
    root = _named_bounds(root)
    body = normal_body(root.body, live_out, frozenset((root.index,)))
    if sum(1 for _ in statements(body)) > UNROLL_STATEMENTS:
        raise NotVectorisable("the loop body is too long to be written as array statements")
    return replace(root, body=body, start=fold(root.start), stop=fold(root.stop))


def _named_bounds(root: For) -> For:
    """Bounds such as ``h // 2`` of inputs that do not change become symbols of their own."""
    changing = {s.name for s in statements((root,)) if isinstance(s, Assign)}
    changing |= {s.index for s in statements((root,)) if isinstance(s, For)}

    def name(expr: Expr) -> Expr:
        if affine(expr) is not None or reads(expr) & changing:
            return expr
        text = _plain_text(expr)
        return expr if text is None else Var(PY_INT, expr.line, text)

    def visit(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for statement in body:
            match statement:
                case For(start=start, stop=stop, body=inner):
                    result.append(
                        replace(statement, start=name(start), stop=name(stop), body=visit(inner))
                    )
                case If(then=then, orelse=orelse):
                    result.append(replace(statement, then=visit(then), orelse=visit(orelse)))
                case _:
                    result.append(statement)
        return tuple(result)

    (result,) = visit((root,))
    assert isinstance(result, For)
    return result


def _plain_text(expr: Expr) -> str | None:
    """Source of an integer expression of scalars, in parentheses."""
    match expr:
        case Var(name=name):
            return name
        case Const(value=int() as value):
            return expr.name or str(value)
        case Binary(op="+" | "-" | "*" | "//" as op, left=left, right=right):
            a, b = _plain_text(left), _plain_text(right)
            return None if a is None or b is None else f"({a} {op} {b})"
    return None


def _check(statement: Stmt) -> None:
    line = statement.line
    match statement:
        case While():
            raise NotVectorisable(
                "a while loop runs a number of times that only its own values decide", line
            )
        case Break():
            raise NotVectorisable("break makes every iteration depend on the ones before it", line)
        case Append(array=array):
            raise NotVectorisable(f"the loop appends to {array}", line)
    for expr in expressions(statement):
        for part in walk(expr):
            if isinstance(part, UserCall):
                raise NotVectorisable(f"{part.function}() is called for single elements", part.line)


def normal_body(
    body: tuple[Stmt, ...], live_out: frozenset[str], indices: frozenset[str]
) -> tuple[Stmt, ...]:
    """Statements in normal form. Raises NotVectorisable."""
    result: list[Stmt] = []
    for position, statement in enumerate(body):
        match statement:
            case Continue():
                return tuple(result)
            case If() if _continues(statement):
                rest = body[position + 1 :]
                then = normal_body(
                    (*statement.then, *_unless_done(statement.then, rest)), live_out, indices
                )
                orelse = normal_body(
                    (*statement.orelse, *_unless_done(statement.orelse, rest)), live_out, indices
                )
                result += _if(statement, then, orelse)
                return tuple(result)
            case If():
                then = normal_body(statement.then, live_out, indices)
                orelse = normal_body(statement.orelse, live_out, indices)
                result += _if(statement, then, orelse)
            case For():
                result += _loop(statement, live_out, indices)
            case Assign(value=value):
                result.append(replace(statement, value=fold(value)))
            case Store(index=index, value=value):
                result.append(
                    replace(statement, index=tuple(fold(e) for e in index), value=fold(value))
                )
            case _:
                result.append(statement)
    return tuple(result)


def _unless_done(branch: tuple[Stmt, ...], rest: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return () if branch and isinstance(branch[-1], Continue) else rest


def _continues(statement: If) -> bool:
    """A ``continue`` of the loop around, not of one inside."""
    for branch in (statement.then, statement.orelse):
        for inner in branch:
            if isinstance(inner, Continue) or (isinstance(inner, If) and _continues(inner)):
                return True
    return False


def _if(statement: If, then: tuple[Stmt, ...], orelse: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    test = decided(statement.test)
    if isinstance(test, Const):
        return then if test.value else orelse
    if not then and not orelse:
        return (replace(statement, test=test, then=(), orelse=()),) if may_raise(test) else ()
    if not then:
        return (replace(statement, test=negate(test), then=orelse, orelse=()),)
    return (replace(statement, test=test, then=then, orelse=orelse),)


def decided(test: Expr) -> Expr:
    """The test with comparisons decided whose sides differ by a constant: ``i - 1 != i``."""
    match test:
        case Compare(op=op, left=left, right=right):
            a, b = affine(left), affine(right)
            if a is not None and b is not None and (a - b).is_const:
                return Const(PY_BOOL, test.line, bool(COMPARE[op]((a - b).const, 0)))
        case Bool(operands=operands):
            return fold(replace(test, operands=tuple(decided(o) for o in operands)))
    return fold(test)


_SAFE_CALLS = frozenset(("min", "max", "abs", "float", "bool"))


def may_raise(expr: Expr) -> bool:
    """Evaluating it may end in an exception: subscripts, divisors, domains of functions."""
    for part in walk(expr):
        match part:
            case Load() | UserCall():
                return True
            case Call(function=function) if function not in _SAFE_CALLS:
                return True
            case Binary(op="/" | "//" | "%", right=Const(value=value)) if value != 0:
                continue
            case Binary(op="/" | "//" | "%" | "**"):
                return True
    return False


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def negate(test: Expr) -> Expr:
    """``not test``, pushed inwards where NaN cannot tell (integers)."""
    match test:
        case Compare(op=op, left=left, right=right) if _exact(left) and _exact(right):
            return replace(test, op=_OPPOSITE[op])
        case Compare(op="==" | "!=" as op):
            return replace(test, op=_OPPOSITE[op])
        case Bool(op=op, operands=operands):
            other = "or" if op == "and" else "and"
            return replace(test, op=other, operands=tuple(negate(o) for o in operands))
        case Unary(op="not", operand=operand) if operand.type.kind is Kind.BOOL:
            return operand
        case Const(value=value):
            return Const(PY_BOOL, test.line, not value)
        case _:
            return Unary(PY_BOOL, test.line, "not", test)


def _exact(expr: Expr) -> bool:
    return expr.type.kind in (Kind.INT, Kind.BOOL)


# ------------------------------------------------------------------ unrolling
def _loop(loop: For, live_out: frozenset[str], indices: frozenset[str]) -> tuple[Stmt, ...]:
    loop = replace(loop, body=normal_body(loop.body, live_out, indices | {loop.index}))
    loop = replace(loop, start=fold(loop.start), stop=fold(loop.stop))
    trips = _trips(loop)
    if loop.values is not None:
        if trips is None or trips > UNROLL_TRIPS:
            raise NotVectorisable("a long loop over listed constants", loop.line)
        return _unroll(loop, trips, (), live_out, indices)
    if trips is not None and (trips == 0 or (trips <= UNROLL_TRIPS and _worth_unrolling(loop))):
        return _unroll(loop, trips, (), live_out, indices)
    return _clamped(loop, live_out, indices) or (shifted(loop, live_out, indices),)


def _trips(loop: For) -> int | None:
    start, stop = affine(loop.start), affine(loop.stop)
    if start is None or stop is None or not (stop - start).is_const:
        return None
    return len(range(0, (stop - start).const, loop.step))


def _worth_unrolling(loop: For) -> bool:
    """Small windows: their bounds move with an outer index, or the index decides something.

    Plain small axes (``for c in range(3): out[i, c] = ...``) are better array axes.
    """
    if any(isinstance(s, For) for s in statements(loop.body)):
        return False
    if not isinstance(loop.start, Const):
        return True
    assigned = {s.name for s in statements(loop.body) if isinstance(s, Assign)}
    if any(isinstance(s, If) for s in statements(loop.body)):
        return True
    return bool(exposed(loop.body) & assigned)


def exposed(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Scalars that a body may read before it assigns them."""
    found, _ = _exposed(body, frozenset())
    return found


def _exposed(body: tuple[Stmt, ...], done: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    found: frozenset[str] = frozenset()
    for statement in body:
        for expr in expressions(statement):
            found |= reads(expr) - done
        match statement:
            case Assign(name=name):
                done |= {name}
            case If(then=then, orelse=orelse):
                read_then, done_then = _exposed(then, done)
                read_else, done_else = _exposed(orelse, done)
                found |= read_then | read_else
                done = done_then & done_else
            case For(index=index, body=inner):
                found |= _exposed(inner, done | {index})[0]
    return found, done


def _unroll(
    loop: For,
    trips: int,
    bounds: tuple[Expr, ...],
    live_out: frozenset[str],
    indices: frozenset[str],
) -> tuple[Stmt, ...]:
    if any(isinstance(s, Assign) and s.name == loop.index for s in statements(loop.body)):
        raise NotVectorisable(f"the loop index {loop.index} is assigned in the loop", loop.line)
    result: list[Stmt] = []
    last: Expr | None = None
    for trip in range(trips):
        value = _position(loop, trip)
        last = value
        body = substituted(loop.body, {loop.index: value})
        tests = tuple(fold(substitute(b, {loop.index: value})) for b in bounds)
        for test in reversed(tests):
            if isinstance(test, Const):
                body = body if test.value else ()
            else:
                body = (If(loop.line, loop.node, test, body, ()),)
        result += normal_body(body, live_out, indices)
    if last is not None and loop.index in live_out:
        if bounds:
            raise NotVectorisable(f"{loop.index} is read after the loop", loop.line)
        result.append(Assign(loop.line, loop.node, loop.index, last))
    return tuple(result)


def _position(loop: For, trip: int) -> Expr:
    if loop.values is not None:
        value = loop.values[trip]
        return Const(Scalar(Kind(type(value).__name__)), loop.line, value)
    start = affine(loop.start)
    assert start is not None
    return to_expr(start + trip * loop.step, loop.line)


def _clamped(
    loop: For, live_out: frozenset[str], indices: frozenset[str]
) -> tuple[Stmt, ...] | None:
    """``range(max(0, i - 1), min(n, i + 2))``: three trips, each under its bounds as a test."""
    lows, highs = _bounds(loop.start, "max"), _bounds(loop.stop, "min")
    if loop.step != 1 or (len(lows), len(highs)) == (1, 1):
        return None
    for low in lows:
        for high in highs:
            a, b = affine(low), affine(high)
            if a is None or b is None or not (b - a).is_const or (b - a).const > UNROLL_TRIPS:
                continue
            index = Var(PY_INT, loop.line, loop.index)
            tests = [Compare(PY_BOOL, loop.line, ">=", index, o) for o in lows if o is not low]
            tests += [Compare(PY_BOOL, loop.line, "<", index, o) for o in highs if o is not high]
            window = replace(loop, start=low, stop=high)
            trips = max(0, (b - a).const)
            return _unroll(window, trips, tuple(tests), live_out, indices)
    return None


def shifted(loop: For, live_out: frozenset[str], indices: frozenset[str]) -> For:
    """``for k in range(i - h, i + h + 1)`` as ``for k in range(-h, h + 1)`` over ``i + k``.

    So the trip count no longer depends on the outer index.
    """
    start, stop = affine(loop.start), affine(loop.stop)
    if start is None or stop is None or loop.index in live_out:
        return loop
    common = {
        name: start.coefficient(name)
        for name in start.symbols & indices
        if start.coefficient(name) == stop.coefficient(name)
    }
    if not common or any(
        isinstance(s, Assign) and s.name == loop.index for s in statements(loop.body)
    ):
        return loop
    shift = make_affine(common)
    new = to_expr(variable(loop.index) + shift, loop.line)
    return replace(
        loop,
        start=to_expr(start - shift, loop.line),
        stop=to_expr(stop - shift, loop.line),
        body=substituted(loop.body, {loop.index: new}),
    )


def _bounds(expr: Expr, function: str) -> tuple[Expr, ...]:
    match expr:
        case Call(function=name, args=args) if name == function:
            return args
        case Binary(op="+" | "-" as op, left=Call(function=name, args=args), right=right) if (
            name == function and isinstance(right, Const)
        ):
            return tuple(fold(Binary(PY_INT, a.line, op, a, right)) for a in args)
        case _:
            return (expr,)


def substituted(body: tuple[Stmt, ...], values: Mapping[str, Expr]) -> tuple[Stmt, ...]:
    """A body with scalars replaced by expressions."""
    return tuple(_substituted(statement, values) for statement in body)


def _substituted(statement: Stmt, values: Mapping[str, Expr]) -> Stmt:
    match statement:
        case Assign(value=value):
            return replace(statement, value=substitute(value, values))
        case Store(index=index, value=value):
            return replace(
                statement,
                index=tuple(substitute(e, values) for e in index),
                value=substitute(value, values),
            )
        case If(test=test, then=then, orelse=orelse):
            return replace(
                statement,
                test=substitute(test, values),
                then=substituted(then, values),
                orelse=substituted(orelse, values),
            )
        case For(start=start, stop=stop, body=body):
            return replace(
                statement,
                start=substitute(start, values),
                stop=substitute(stop, values),
                body=substituted(body, values),
            )
        case _:
            return statement

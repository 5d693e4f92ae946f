"""Run-time tests in front of the array code, and the ledger of what it rests on."""

from __future__ import annotations

from ...loopnest.affine import Affine, constant, extent_of, extent_symbol, variable
from ...loopnest.ir import (
    ArrayInput,
    Binary,
    Compare,
    Const,
    Dim,
    Expr,
    For,
    Load,
    Store,
    Var,
    expressions,
    statements,
    walk,
)
from ...model import Basis, Condition
from .known import Facts, extent_text, form_text
from .normal import NotVectorisable
from .provenance import made_like, proved_list, proved_type
from .session import Session
from .values import dtype_text


def guards(session: Session) -> tuple[list[str], list[Condition]]:
    """The tests, cheapest and most basic first, and one ledger entry for each fact."""
    tests: list[str] = []
    ledger: list[Condition] = []
    entries = session.nest.entries
    evidence = "seen once" if entries == 1 else f"seen {entries} times"

    def add(test: str) -> None:
        if test not in tests:
            tests.append(test)
            ledger.append(Condition(test, Basis.OBSERVED, evidence, guarded=True))

    for name, info in session.nest.arrays.items():
        for test in _array_tests(session, name, info):
            add(test)
    for test in _scalar_tests(session):
        add(test)
    for condition in session.nest.relies_on:
        add(_relied(session, condition))
    for symbol, form in session.facts.equal_required:
        pair = extent_of(symbol)
        left = symbol if pair is None else extent_text(session.nest, *pair)
        right = session.facts.constant_name(form) or form_text(
            form, {s: _plain_text(session, s) for s in form.symbols}
        )
        add(f"{left} == {right}")
    for form in _needed(session.facts):
        add(_inequality(session.facts, form))
    for test in _alias_tests(session, ledger):
        add(test)
    for test in (*_range_tests(session), *session.domains):
        add(test)
    return tests, ledger


def _relied(session: Session, expr: Expr) -> str:
    """A condition on extents and bounds that the lowering took from the observation."""
    match expr:
        case Compare(op=op, left=left, right=right) | Binary(op=op, left=left, right=right):
            return f"{_relied(session, left)} {op} {_relied(session, right)}"
        case Dim(array=array, axis=axis):
            return extent_text(session.nest, array, axis)
        case Const(value=value, name=name):
            return name or repr(value)
        case Var(name=name):
            return name
    raise NotVectorisable("a condition that cannot be asked before the loop", expr.line)


def _plain_text(session: Session, symbol: str) -> str:
    """A symbol as such: after the test it may be spelled by what it equals."""
    pair = extent_of(symbol)
    return symbol if pair is None else extent_text(session.nest, *pair)


def _needed(facts: Facts) -> list[Affine]:
    """Requirements that the others do not imply."""
    forms = list(dict.fromkeys(facts.canonical(f) for f in facts.required))
    kept = list(forms)
    for form in sorted(forms, key=lambda f: (-len(f.pairs), -f.const)):
        others = [f for f in kept if f != form]
        facts.required = others
        if facts.proved(form):
            kept = others
    facts.required = kept
    return kept


def _inequality(facts: Facts, form: Affine) -> str:
    """``form >= 0`` with the negative terms on the other side."""
    left = constant(0)
    right = constant(0)
    for symbol, factor in form.pairs:
        if factor > 0:
            left = left + variable(symbol).scale(factor)
        else:
            right = right + variable(symbol).scale(-factor)
    op = ">="
    if form.const == -1:
        op = ">"
    elif form.const < 0:
        right = right + (-form.const)
    else:
        left = left + form.const
    return f"{facts.text(left)} {op} {facts.text(right)}"


# --------------------------------------------------------------------- types
def _array_tests(session: Session, name: str, info: ArrayInput) -> list[str]:
    np = session.np
    if info.container == "ndarray":
        if proved_type(info) or made_like(session, info) is not None:
            return []
        dtype = dtype_text(np, info.element.dtype or "float64")
        return [
            f"type({name}) is {np}.ndarray",
            f"{name}.dtype == {dtype}",
            f"{name}.ndim == {info.ndim}",
        ]
    kind = info.element.kind.value
    if proved_list(info):
        return []
    tests = [f"type({name}) is {info.container}"]
    if info.ndim == 1:
        return [*tests, f"set(map(type, {name})) == {{{kind}}}"]
    tests += [
        f"set(map(type, {name})) == {{list}}",
        f"len(set(map(len, {name}))) == 1",
        f"all(set(map(type, row)) == {{{kind}}} for row in {name})",
    ]
    if info.written:
        tests.append(f"len(set(map(id, {name}))) == len({name})")
    return tests


def _scalar_tests(session: Session) -> list[str]:
    """Types of scalars that take part in the arithmetic (bounds are integers or they raise)."""
    tests = []
    used = _arithmetic_scalars(session.root)
    for name, scalar in session.nest.scalars.items():
        if name not in used or scalar.literal is not None or scalar.equals:
            continue
        if name in session.nest.privates and name not in session.reductions:
            continue  # assigned before it is read
        kind = scalar.type
        if kind.dtype is not None:
            tests.append(f"isinstance({name}, {session.np}.{kind.dtype.rstrip('_')})")
        else:
            # Not isinstance: True is an int, but x + (not True) is not what x + (not 1) is; and
            # np.float64(0.1) is a float, but makes the items of a list np.float64.
            tests.append(f"type({name}) is {kind.kind.value}")
    return tests


def _arithmetic_scalars(root: For) -> set[str]:
    found: set[str] = set()
    for statement in statements((root,)):
        if isinstance(statement, For):
            continue
        for expr in expressions(statement):
            inside_index = {
                id(part)
                for load in walk(expr)
                if isinstance(load, Load)
                for index in load.index
                for part in walk(index)
            }
            if isinstance(statement, Store) and expr in statement.index:
                continue
            found |= {
                part.name
                for part in walk(expr)
                if isinstance(part, Var) and id(part) not in inside_index
            }
    return found


# ------------------------------------------------------------------- aliases
def _alias_tests(session: Session, ledger: list[Condition]) -> list[str]:
    tests = []
    arrays = session.nest.arrays
    written = sorted({s.array for s in statements((session.root,)) if isinstance(s, Store)})
    for position, name in enumerate(written):
        for other in sorted(arrays):
            if other == name or other in written[:position]:
                continue
            a, b = arrays[name], arrays[other]
            if other in a.aliases:
                continue  # the dependence test took them for one array
            if a.allocation is not None or b.allocation is not None:
                made = a.allocation or b.allocation
                assert made is not None
                which = name if a.allocation is not None else other
                ledger.append(
                    Condition(
                        f"{name} and {other} do not share memory: {which} is made here",
                        Basis.PROVED,
                        f"line {made.line}",
                    )
                )
                continue
            tests += _apart(session, name, other, a, b)
    return tests


def _apart(session: Session, name: str, other: str, a: ArrayInput, b: ArrayInput) -> list[str]:
    if a.container == b.container == "ndarray":
        first, second = sorted((name, other))
        return [f"not {session.np}.shares_memory({first}, {second})"]
    if a.container != b.container:
        return []
    tests = [f"{name} is not {other}"]
    if a.ndim == b.ndim == 2:
        tests.append(f"not set(map(id, {name})) & set(map(id, {other}))")
    elif max(a.ndim, b.ndim) == 2:
        outer, row = (name, other) if a.ndim == 2 else (other, name)
        tests.append(f"all(row is not {row} for row in {outer})")
    return tests


# -------------------------------------------------------------------- ranges
def _range_tests(session: Session) -> list[str]:
    tests = [f"{name} > 0" for name in sorted(session.positive)]
    for name, (low, high) in session.ranges_used.items():
        info = session.nest.arrays.get(name)
        if info is None:
            tests.append(f"{low} <= {name} <= {high}")
            continue
        if info.container == "ndarray":
            tests += _array_range(session, name, info, low, high)
        elif info.ndim == 1:
            tests += [f"min({name}) >= {low}", f"max({name}) <= {high}"]
        else:
            tests += [f"min(map(min, {name})) >= {low}", f"max(map(max, {name})) <= {high}"]
    return tests


def _array_range(
    session: Session, name: str, info: ArrayInput, low: object, high: object
) -> list[str]:
    if (info.element.dtype or "").startswith(("bool",)):
        return []
    tests = [] if _not_empty(session, name, info) else [f"{name}.size > 0"]
    if not ((info.element.dtype or "").startswith("uint") and low == 0):
        tests.append(f"{name}.min() >= {low}")
    return [*tests, f"{name}.max() <= {high}"]


def _not_empty(session: Session, name: str, info: ArrayInput) -> bool:
    return all(session.facts.proved(variable(extent_symbol(name, k)) - 1) for k in range(info.ndim))

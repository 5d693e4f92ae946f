"""Run-time tests in front of the array code, and the ledger of what it rests on."""

from __future__ import annotations

import ast

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
from ...loopnest.text import STRINGS
from ...model import Basis, Condition
from ..text_edge import short_test, string_test
from .either_text import both_types
from .flat import Folded, RowAtWork, as_it_is, row_tests
from .known import Facts, extent_text, form_text
from .lists import known_sizes
from .normal import NotVectorisable, exposed
from .provenance import made_like, proved_list, proved_type
from .ranges import GIVEN
from .session import Session
from .tables import AT_START
from .values import dtype_text

FEW = 8
"""How many values are listed. To look for others takes a fourth of least and greatest of rows."""


def guards(
    session: Session, made: frozenset[str] = frozenset()
) -> tuple[list[str], list[Condition]]:
    """The tests, cheapest and most basic first, and one ledger entry for each fact.

    ``made``: arrays that the new code makes itself, behind the tests.
    """
    tests: list[str] = []
    ledger: list[Condition] = []

    def add(test: str) -> None:
        if test not in tests:
            tests.append(test)
            ledger.append(Condition(test, Basis.OBSERVED, guarded=True))

    shapes = _whole_shapes(session)
    for name, info in session.nest.arrays.items():
        if name not in made:
            for test in _array_tests(session, name, info):
                if name not in shapes or test != f"{name}.ndim == {info.ndim}":
                    add(test)
    for test in _scalar_tests(session):
        add(test)
    for test in shapes.values():
        add(test)
    for condition in session.nest.relies_on:
        add(_relied(session, condition))
    for symbol, form in session.facts.equal_required:
        pair = extent_of(symbol)
        if pair is None or pair[0] not in shapes or form != _wanted(session)[pair[0]][pair[1]]:
            left = symbol if pair is None else extent_text(session.nest, *pair)
            add(f"{left} == {_form_text(session, form)}")
    for shift in session.facts.shifts.values():
        add(f"{shift.least} >= 0")
    for form in _needed(session.facts):
        add(_inequality(session.facts, form))
    for test in _alias_tests(session, ledger):
        add(test)
    if session.sized:
        text = "no integer that the array code computes leaves 64 bits"
        ledger.append(Condition(text, Basis.PROVED, "ranges of all expressions", given=GIVEN))
    for name in made:
        session.ranges_used.pop(name, None)  # what a generator gives lies in its range
    implied = (_not_implied(session, test) for test in session.domains)
    for test in (*_range_tests(session), *implied, *session.last_tests):
        for divisor in _divisors(session, test):
            add(f"{divisor} != 0")
        add(test)
    return tests, ledger


def _divisors(session: Session, test: str) -> list[str]:
    """Numbers that a test divides arrays by.

    Where ``hi == lo``, ``(x - lo) / (hi - lo)`` warns, and the loop may not come to divide at all.
    """
    nodes = ast.walk(ast.parse(test.strip(), mode="eval")) if " / " in test else ()
    rights = [n.right for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)]
    return [ast.unparse(right) for right in rights if _is_scalar(session, right)]


def _is_scalar(session: Session, expr: ast.expr) -> bool:
    """Arithmetic of the loop's numbers, and not of constants alone."""
    parts = [node for node in ast.walk(expr) if isinstance(node, ast.expr)]
    names = {ast.unparse(node) for node in parts if isinstance(node, ast.Name)}
    plain = all(isinstance(n, ast.Name | ast.Constant | ast.BinOp | ast.UnaryOp) for n in parts)
    return plain and bool(names) and names <= session.nest.scalars.keys()


def _wanted(session: Session) -> dict[str, dict[int, Affine]]:
    """What extents of arrays must equal, of scalars alone; another length is asked by itself."""
    wanted: dict[str, dict[int, Affine]] = {}
    for symbol, form in session.facts.equal_required:
        pair = extent_of(symbol)
        if pair is not None and not any(extent_of(s) for s in form.symbols):
            wanted.setdefault(pair[0], {}).setdefault(pair[1], form)
    return wanted


def _whole_shapes(session: Session) -> dict[str, str]:
    """Arrays whose every extent must equal some scalar: one test of the shape for all of them."""
    found = {}
    for array, forms in _wanted(session).items():
        info = session.nest.arrays[array]
        strided = info.written and not info.c_contiguous  # its strides are looked at before
        rows = isinstance(info, Folded)
        if info.container == "ndarray" and len(forms) == info.ndim and not (strided or rows):
            extents = ", ".join(_form_text(session, forms[axis]) for axis in range(info.ndim))
            found[array] = f"{array}.shape == ({extents}{',' if info.ndim == 1 else ''})"
    return found


def _form_text(session: Session, form: Affine) -> str:
    return session.facts.constant_name(form) or form_text(
        form, {s: _plain_text(session, s) for s in form.symbols}
    )


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
    lengths = {facts.canonical(form) for symbol, form in facts.equal_required if extent_of(symbol)}
    forms = list(dict.fromkeys(facts.canonical(f) for f in facts.required))
    forms = [form for form in forms if form not in lengths]  # no length is negative
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
    if isinstance(info, Folded):
        return [*_array_tests(session, name, as_it_is(info)), *row_tests(info)]
    if info.container == "ndarray":
        if proved_type(info) or made_like(session, info) is not None:
            return []
        dtype = dtype_text(np, info.element.dtype or "float64")
        return [
            f"type({name}) is {np}.ndarray",
            f"{name}.dtype == {dtype}",
            f"{name}.ndim == {info.ndim}",
            *(_storage(name, info) if info.written and info.allocation is None else ()),
        ]
    kind = info.element.kind.value
    if info.container in STRINGS:
        return [string_test(name, info.container, info.interval)]
    if proved_list(info):
        # its rows are measured by the first one
        return [f"len({name}) > 0"] if info.ndim > 1 and not known_sizes(session, info) else []
    if name in session.nest.either:
        return both_types(name, info)
    if name in session.tables:
        return session.tables[name].plain_tests(name, kind, AT_START.bit_length() - 1)
    tests = [f"type({name}) is {info.container}"]
    if info.container == "bytearray":
        return tests
    if info.ndim == 1:
        return [*tests, f"set(map(type, {name})) == {{{kind}}}"]
    rows = "== {list}" if info.written else "<= {list, tuple}"
    tests += [
        f"set(map(type, {name})) {rows}",
        f"len(set(map(len, {name}))) == 1",
        f"all([*map(type, row)].count({kind}) == len(row) > 0 for row in {name})",
    ]
    if info.written:
        tests.append(f"len(set(map(id, {name}))) == len({name})")
    return tests


def _storage(name: str, info: ArrayInput) -> tuple[str, ...]:
    """Writeable, and no two elements in one place (``as_strided``, ``sliding_window_view``).

    Storing nothing into a read-only array is no error for the loop, but one for ``copyto``.
    """
    if info.c_contiguous:
        return (f"{name}.flags.carray",)  # writeable, aligned and contiguous
    strides, shape = f"{name}.strides", f"{name}.shape"
    if info.ndim == 1:
        return (f"{name}.flags.writeable", f"{strides}[0] != 0")
    rows = [
        f"{strides}[{k}] >= {shape}[{k + 1}] * {strides}[{k + 1}]" for k in range(info.ndim - 1)
    ]
    rows.append(f"{strides}[{info.ndim - 1}] > 0")
    apart = f"({name}.flags.forc or {' and '.join(rows)})"
    return (f"{name}.flags.writeable", apart)


def _scalar_tests(session: Session) -> list[str]:
    """Types of the scalars that are read."""
    tests = []
    used = _read_scalars(session)
    # c = c + 0.5 in a loop that stays one: the first value may be an int
    first = exposed((session.root,))
    for name, scalar in session.nest.scalars.items():
        if name not in used or scalar.literal is not None or scalar.equals:
            continue
        if name in session.nest.privates and name not in {*session.reductions, *first}:
            continue  # assigned before it is read
        kind = scalar.type
        if name in session.nest.text:
            tests.append(short_test(name, scalar.interval))
        elif kind.dtype is not None:
            tests.append(f"isinstance({name}, {session.np}.{kind.dtype.rstrip('_')})")
        else:
            # Not isinstance: True is an int, but x + (not True) is not what x + (not 1) is; and
            # np.float64(0.1) is a float, but makes the items of a list np.float64.
            tests.append(f"type({name}) is {kind.kind.value}")
    return tests


def _read_scalars(session: Session) -> set[str]:
    """Scalars whose type matters: all that are read, bounds of loops too.

    ``range(n)`` raises for n = 5.0 and ``np.arange(n)`` does not; but where ``np.zeros(n)`` was
    made before, n is an integer, and as a bound or in a subscript any integer will do. Sizes that
    were replaced by the number seen are read as well: np.uint8(1) == 1, but i - np.uint8(1) wraps.
    """
    bounds: set[str] = set()
    others: set[str] = set()
    for statement in statements((session.root,)):
        subscripts = statement.index if isinstance(statement, Store) else ()
        for expr in expressions(statement):
            inside = isinstance(statement, For) or expr in subscripts
            loads = [part for part in walk(expr) if isinstance(part, Load)]
            hidden = {id(p) for load in loads for index in load.index for p in walk(index)}
            for part in walk(expr):
                if isinstance(part, Var):
                    (bounds if inside or id(part) in hidden else others).add(part.name)
    integral = {
        part.name
        for info in session.nest.arrays.values()
        if not isinstance(info.allocation, RowAtWork)  # nothing was made with that number before
        for extent in info.extents
        if extent is not None
        for part in walk(extent)
        if isinstance(part, Var)
    }
    asked = (part for test in session.nest.relies_on for part in walk(test))
    replaced = {part.name for part in asked if isinstance(part, Var)}
    return others | replaced | (bounds - integral)


# ------------------------------------------------------------------- aliases
def _alias_tests(session: Session, ledger: list[Condition]) -> list[str]:
    tests = []
    copies = session.turned  # what shares memory is what they are copies of
    arrays = {name: info for name, info in session.nest.arrays.items() if name not in copies}
    stored = {s.array for s in statements((session.root,)) if isinstance(s, Store)}
    written = sorted({copies.get(name, name) for name in stored})
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
            tests += apart(session, name, other, a, b)
    return tests


def apart(session: Session, name: str, other: str, a: ArrayInput, b: ArrayInput) -> list[str]:
    """Tests that two arrays or lists, of which one is written, share nothing."""
    a, b = as_it_is(a), as_it_is(b)
    if a.container == b.container == "ndarray":
        first, second = sorted((name, other))
        # of arrays in one piece the ends tell, which is asked faster; columns of a table interlace
        function = "may_share_memory" if a.c_contiguous and b.c_contiguous else "shares_memory"
        return [f"not {session.np}.{function}({first}, {second})"]
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
    for symbol, size in sorted(session.sizes_used.items()):
        pair = extent_of(symbol)
        what = f"abs({symbol})" if pair is None else extent_text(session.nest, *pair)
        tests.append(f"{what} < 2**{size.bit_length() - 1}")
    for used, (low, high) in session.ranges_used.items():
        name = session.turned.get(used, used)
        info = session.nest.arrays.get(name)
        if info is None:
            tests.append(f"{number_text(low)} <= {name} <= {number_text(high)}")
            continue
        if info.container == "ndarray":
            tests += _array_range(session, name, info, low, high)
        elif as_it_is(info).ndim == 1:
            least, most = number_text(low), number_text(high)
            tests += [f"min({name}) >= {least}", f"max({name}) <= {most}"]
        elif low == 0 and isinstance(high, int) and high < 256:
            few = ", ".join(map(str, range(high + 1)))
            known = f"{{{few}}}" if high < FEW else f"set(range({high + 1}))"
            tests.append(f"set().union(*{name}) <= {known}")
        else:
            least, most = number_text(low), number_text(high)
            tests += [f"min(map(min, {name})) >= {least}", f"max(map(max, {name})) <= {most}"]
    return tests


def number_text(value: float | int | None) -> str:
    """``2**31`` rather than ten digits."""
    if isinstance(value, int) and abs(value) > 4096 and abs(value) & (abs(value) - 1) == 0:
        power = f"2**{abs(value).bit_length() - 1}"
        return power if value > 0 else f"-({power})"
    return str(value)


def _not_implied(session: Session, test: str) -> str:
    """The part of ``a.min() >= -n and a.max() < n`` that the range of ``a`` leaves to be asked."""
    lower, _, upper = test.partition(" and ")
    for name, (low, _) in session.ranges_used.items():
        above = lower.startswith((f"{name}.min() >= -", f"min({name}) >= -"))
        if upper and above and low is not None and low >= 0:
            return upper
    return test


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

"""Who reads and writes what in a loop body: array accesses, and the role of each scalar."""

from __future__ import annotations

from dataclasses import dataclass, field

from .fold import loads, reads
from .ir import (
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
    Load,
    Nest,
    Select,
    Stmt,
    Store,
    Var,
    While,
    expressions,
    statements,
    walk,
)
from .printing import text

_OPERATORS = {"+": "+", "-": "+", "*": "*", "&": "&", "|": "|", "^": "^"}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Access:
    """One place in the text that reads or writes an element."""

    array: str
    index: tuple[Expr, ...]
    writes: bool
    statement: Stmt
    line: int
    accumulates: str | None = None
    """Operator, where the access is the old or new value of ``a[f] = a[f] op e``."""

    @property
    def text(self) -> str:
        """``u[i - 1, j]``."""
        return f"{self.array}[{', '.join(text(i) for i in self.index)}]"


@dataclass(frozen=True)
class Accumulator:
    """A scalar, or an array's elements, into which all iterations are combined."""

    name: str
    operator: str
    """``+ * & | ^ min max and or``; ``argmin``/``argmax`` for a companion of min/max."""
    line: int
    index: tuple[Expr, ...] = ()
    """Of an element; empty for a scalar."""
    scatter: bool = False
    """The element varies with the iteration in ways that may repeat: a histogram."""

    @property
    def target(self) -> str:
        """``total`` or ``hist[k]``."""
        if not self.index:
            return self.name
        return f"{self.name}[{', '.join(text(i) for i in self.index)}]"


@dataclass(frozen=True)
class Roles:
    """What each scalar assigned in a loop body is."""

    private: frozenset[str]
    last_value: frozenset[str]
    accumulators: tuple[Accumulator, ...]
    recurrence: tuple[str, int] | None
    """The first scalar that carries a value between iterations otherwise, and a line."""
    leaves: int | None
    """Line of a ``break`` out of this loop."""


# ---------------------------------------------------------------- arrays
def accesses_in(nest: Nest, body: tuple[Stmt, ...]) -> list[Access]:
    """All element accesses of the statements, nested ones included, in source order."""
    found: list[Access] = []
    for statement in statements(body):
        operator, old = accumulation(statement)
        for top in expressions(statement):
            for load in loads(top):
                own = operator if load is old else None
                found.append(Access(load.array, load.index, False, statement, load.line, own))
        match statement:
            case Store(array=array, index=index, line=line):
                found.append(Access(array, index, True, statement, line, operator))
            case Append(array=array, line=line):
                found.append(Access(array, (), True, statement, line))
    return found


def accumulation(statement: Stmt) -> tuple[str | None, Load | None]:
    """Operator and the read of the old value of ``a[f] = a[f] op e``; (None, None) otherwise."""
    match statement:
        case Store(array=array, index=index, value=Binary(op=op, left=left, right=right)):
            operator = _OPERATORS.get(op)
            if operator is None:
                return None, None
            sides = [(left, right)] if op == "-" else [(left, right), (right, left)]
            for old, rest in sides:
                if (
                    isinstance(old, Load)
                    and old.array == array
                    and old.index == index
                    and not _reads_element(rest, old)
                    and array not in {x.array for i in index for x in loads(i)}
                ):
                    return operator, old
        case Store(array=array, index=index, value=Call(function="min" | "max" as op, args=args)):
            if len(args) == 2:
                for old, rest in (args, args[::-1]):
                    same = isinstance(old, Load) and old.array == array and old.index == index
                    if same and isinstance(old, Load) and not _reads_element(rest, old):
                        return op, old
    return None, None


def _reads_element(expr: Expr, old: Load) -> bool:
    return any(x.array == old.array and x.index == old.index for x in loads(expr))


# --------------------------------------------------------------- scalars
def scalar_writes(statement: Stmt) -> frozenset[str]:
    """Scalars a statement assigns, loop indices inside it included."""
    found: set[str] = set()
    for inner in statements((statement,)):
        match inner:
            case Assign(name=name) | For(index=name):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def scalar_reads(statement: Stmt) -> frozenset[str]:
    """Scalars a statement reads, statements inside it included."""
    return frozenset(
        name
        for inner in statements((statement,))
        for top in expressions(inner)
        for name in reads(top)
    )


@dataclass
class Exposure:
    """Forward walk of a loop body: which scalars may be read before they are assigned."""

    exposed: dict[str, int] = field(default_factory=dict)

    def read(self, expr: Expr, defined: frozenset[str] | None) -> None:
        """Look at an expression; None: it is never reached."""
        if defined is None:
            return
        for inner in walk(expr):
            if isinstance(inner, Var) and inner.name not in defined:
                self.exposed.setdefault(inner.name, inner.line)

    def block(
        self, body: tuple[Stmt, ...], defined: frozenset[str] | None
    ) -> frozenset[str] | None:
        """Names assigned for certain after the block; None where its end is not reached."""
        for statement in body:
            defined = self.statement(statement, defined)
        return defined

    def statement(self, node: Stmt, defined: frozenset[str] | None) -> frozenset[str] | None:
        """Names assigned for certain after the statement; None where its end is not reached."""
        for expr in expressions(node):
            self.read(expr, defined)
        match node:
            case Assign(name=name):
                return None if defined is None else defined | {name}
            case If(then=then, orelse=orelse):
                return _meet(self.block(then, defined), self.block(orelse, defined))
            case For(index=index, body=body):
                inside = None if defined is None else defined | {index}
                after = self.block(body, inside)
                if _runs(node) and not any(
                    isinstance(s, Break | Continue) for s in statements(body)
                ):
                    return after
                return defined
            case While(body=body):
                self.block(body, defined)
                return defined
            case Break() | Continue():
                return None
        return defined


def _runs(loop: For) -> bool:
    if loop.values is not None:
        return bool(loop.values)
    match loop.start, loop.stop:
        case Const(value=int() as low), Const(value=int() as high):
            return len(range(low, high, loop.step)) > 0
    return False


def _meet(one: frozenset[str] | None, two: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or two is None:
        return two if one is None else one
    return one & two


def exposed_scalars(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Scalars that the statements may read before they assign them."""
    exposure = Exposure()
    exposure.block(body, frozenset())
    return frozenset(exposure.exposed)


def scalar_roles(nest: Nest, loop: For | While) -> Roles:
    """Classify the scalars assigned in a loop's body, the loop's own index left out."""
    written: dict[str, int] = {}
    for inner in statements(loop.body):
        match inner:
            case Assign(name=name, line=line) | For(index=name, line=line):
                written.setdefault(name, line)
            case _:
                pass
    exposure = Exposure()
    own = frozenset((loop.index,)) if isinstance(loop, For) else frozenset()
    if isinstance(loop, While):
        exposure.read(loop.test, frozenset())
    exposure.block(loop.body, own)
    updates = _updates(loop.body)
    accumulators: list[Accumulator] = []
    recurrence: tuple[str, int] | None = None
    private: set[str] = set()
    companions: dict[str, tuple[str, int]] = {}
    elsewhere = _written_outside(nest, loop)
    for name in written:
        # Invented names hold a value of one trip only, if they are not set up before the loop:
        # a helper's result is set on every path on which it is read.
        fresh = name in nest.invented and name not in elsewhere
        if name not in exposure.exposed or fresh:
            private.add(name)
            continue
        found = updates.get(name)
        if found is not None and found.covers(name, loop):
            accumulators.append(Accumulator(name, found.operator, found.line))
            for companion, line in found.companions.items():
                companions[companion] = (f"arg{found.operator}", line)
        elif recurrence is None:
            recurrence = (name, exposure.exposed[name])
    outside = _reads_outside(nest, loop)
    last = {n for n in private if n in nest.live_out or n in outside}
    for name, (operator, line) in companions.items():
        if name in private and name in last:
            accumulators.append(Accumulator(name, operator, line))
            private.discard(name)
            last.discard(name)
    return Roles(
        frozenset(private), frozenset(last), tuple(accumulators), recurrence, _leaves(loop.body)
    )


def _written_outside(nest: Nest, loop: For | While) -> frozenset[str]:
    inside = {id(s) for s in statements(loop.body)}
    return frozenset(
        s.name for s in statements((nest.root,)) if isinstance(s, Assign) and id(s) not in inside
    )


def _reads_outside(nest: Nest, loop: For | While) -> frozenset[str]:
    """Scalars read anywhere in the nest but not (only) inside this loop's body."""
    inside = {id(s) for s in statements(loop.body)}
    return frozenset(
        name
        for statement in statements((nest.root,))
        if id(statement) not in inside and statement is not loop
        for top in expressions(statement)
        for name in reads(top)
    )


def _leaves(body: tuple[Stmt, ...]) -> int | None:
    for statement in body:
        match statement:
            case Break(line=line):
                return line
            case If(then=then, orelse=orelse):
                found = _leaves(then) or _leaves(orelse)
                if found is not None:
                    return found
            case _:
                pass
    return None


@dataclass
class _Update:
    """All updates of one scalar by one operator in a loop body."""

    operator: str
    line: int
    reads: int = 0
    writes: int = 0
    companions: dict[str, int] = field(default_factory=dict)

    def covers(self, name: str, loop: For | While) -> bool:
        """Whether nothing else in the loop reads or assigns the scalar."""
        total = writes = 0
        body: tuple[Stmt, ...] = loop.body
        for statement in statements(body):
            writes += isinstance(statement, Assign) and statement.name == name
            writes += isinstance(statement, For) and statement.index == name
            total += sum(
                1
                for top in expressions(statement)
                for e in walk(top)
                if isinstance(e, Var) and e.name == name
            )
        if isinstance(loop, While) and name in reads(loop.test):
            return False
        return total == self.reads and writes == self.writes


def _updates(body: tuple[Stmt, ...]) -> dict[str, _Update]:
    """Scalars whose every update found is ``v = v op e`` with one operator."""
    found: dict[str, _Update] = {}
    spoilt: set[str] = set()
    for statement in statements(body):
        match statement:
            case Assign(name=name, value=value):
                operator = _operator(name, value)
                if operator is not None:
                    _note(found, spoilt, name, operator, statement.line, _count(value, name))
            case If():
                _conditional(statement, found, spoilt)
            case _:
                pass
    return {name: update for name, update in found.items() if name not in spoilt}


def _note(
    found: dict[str, _Update], spoilt: set[str], name: str, operator: str, line: int, count: int
) -> _Update:
    update = found.setdefault(name, _Update(operator, line))
    if update.operator != operator:
        spoilt.add(name)
    update.reads += count
    update.writes += 1
    return update


def _count(expr: Expr, name: str) -> int:
    return sum(1 for e in walk(expr) if isinstance(e, Var) and e.name == name)


def _operator(name: str, value: Expr) -> str | None:
    """The operator of ``name = name op e`` where ``e`` does not read ``name``."""
    match value:
        case Binary(op=op, left=Var(name=old), right=rest) if old == name and op in _OPERATORS:
            return _OPERATORS[op] if name not in reads(rest) else None
        case Binary(op=op, left=rest, right=Var(name=old)) if old == name and op in _OPERATORS:
            return _OPERATORS[op] if op != "-" and name not in reads(rest) else None
        case Call(function="min" | "max" as op, args=args):
            others = [a for a in args if not (isinstance(a, Var) and a.name == name)]
            single = len(others) == len(args) - 1
            return op if single and not any(name in reads(a) for a in others) else None
        case Bool(op=op, operands=operands):
            others = [a for a in operands if not (isinstance(a, Var) and a.name == name)]
            single = len(others) == len(operands) - 1
            return op if single and not any(name in reads(a) for a in others) else None
        case Select(test=Compare() as test, then=then, orelse=Var(name=old)) if old == name:
            return _extremum(test, name, then)
    return None


def _extremum(test: Compare, name: str, value: Expr) -> str | None:
    """``min`` for ``e < best`` before ``best = e``, ``max`` for ``e > best``."""
    op = test.op
    if isinstance(test.left, Var) and test.left.name == name:
        other, op = test.right, _TURNED.get(op, op)
    elif isinstance(test.right, Var) and test.right.name == name:
        other = test.left
    else:
        return None
    if other != value or name in reads(value):
        return None
    return {"<": "min", "<=": "min", ">": "max", ">=": "max"}.get(op)


def _conditional(statement: If, found: dict[str, _Update], spoilt: set[str]) -> None:
    """``if e < best: best = e; where = i``."""
    if statement.orelse or not isinstance(statement.test, Compare):
        return
    if not all(isinstance(s, Assign) for s in statement.then):
        return
    for inner in statement.then:
        assert isinstance(inner, Assign)
        operator = _extremum(statement.test, inner.name, inner.value)
        if operator is None:
            continue
        update = _note(found, spoilt, inner.name, operator, inner.line, 1)
        for other in statement.then:
            if isinstance(other, Assign) and other is not inner:
                if inner.name in reads(other.value):
                    spoilt.add(inner.name)
                update.companions[other.name] = other.line

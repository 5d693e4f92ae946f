"""The typed loop-nest intermediate representation.

``lower`` turns one Python loop statement and what was observed at its entry into a ``Nest``;
dependence analysis and the back ends read it. Everything is frozen; expressions compare by value,
except for their source line.

Every expression carries the *Python* type its value has in the original program: ``PY_INT`` is
unbounded, ``Scalar(INT, "int64")`` is a NumPy scalar that wraps, and so on. Back ends may compute
in another type only where ``interval`` (or a guard) shows that no one can tell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


# ------------------------------------------------------------------ types
class Kind(StrEnum):
    """Arithmetic kinds, in promotion order."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    COMPLEX = "complex"
    CHAR = "str"
    """Short text; a number in a finished nest, see ``text``."""


@dataclass(frozen=True)
class Scalar:
    """Type of one number: a Python number (``dtype is None``) or a NumPy scalar of that dtype."""

    kind: Kind
    dtype: str | None = None

    @property
    def is_python(self) -> bool:
        """A bool, int, float or complex of Python itself."""
        return self.dtype is None

    def __str__(self) -> str:
        return self.dtype or self.kind.value


PY_BOOL = Scalar(Kind.BOOL)
PY_INT = Scalar(Kind.INT)
PY_FLOAT = Scalar(Kind.FLOAT)
PY_COMPLEX = Scalar(Kind.COMPLEX)
CHAR = Scalar(Kind.CHAR)


@dataclass(frozen=True)
class Interval:
    """Closed range of a value; None is unbounded on that side. NaN is outside every interval."""

    low: float | int | None = None
    high: float | int | None = None


UNBOUNDED = Interval()


# ------------------------------------------------------------ expressions
@dataclass(frozen=True)
class Expr:
    """Base of all expressions."""

    type: Scalar
    line: int = field(compare=False)


@dataclass(frozen=True)
class Const(Expr):
    """A literal, or a name proved constant."""

    value: bool | int | float | complex
    name: str | None = field(default=None, compare=False)
    """The user's name for it (``N = 200`` at module level, never bound again): print that."""


@dataclass(frozen=True)
class Var(Expr):
    """A scalar: a loop index, a live-in scalar, or a private one assigned in the nest."""

    name: str
    """As the user wrote it; dotted for attributes (``"self.alpha"``)."""


@dataclass(frozen=True)
class Dim(Expr):
    """Extent of an array along an axis: ``len(a)``, ``a.shape[k]``, ``len(a[0])``. Type PY_INT."""

    array: str
    axis: int


@dataclass(frozen=True)
class Len(Expr):
    """Present length of a list of ``Nest.made`` or ``Nest.grown``, which may grow later."""

    array: str


@dataclass(frozen=True)
class Load(Expr):
    """One element of an array or (nested) list; one index an axis."""

    array: str
    index: tuple[Expr, ...]


@dataclass(frozen=True)
class Unary(Expr):
    """``-x``, ``+x``, ``~x``, ``not x``; op as written."""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """``+ - * / // % ** & | ^ << >>``; op as written."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Compare(Expr):
    """One comparison ``< <= > >= == !=``; chains are ``Bool("and", ..)`` of these."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Bool(Expr):
    """Short-circuit ``and`` / ``or`` of truth values (operands are tested, not returned)."""

    op: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Select(Expr):
    """``a if test else b``."""

    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True)
class Call(Expr):
    """A pure call with a canonical name.

    ``math.*``, ``numpy.*`` (scalar ufuncs), and the built-ins ``abs min max int float bool round
    complex pow``; ``numpy.float64`` and friends for casts; ``sorted`` for the element of its other
    arguments that stands at the place of the first one when they are sorted.
    """

    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Sum(Expr):
    """The terms of all iterations of ``loops``, added up in any order.

    Lowering never makes one: a back end that may reassociate puts it in the place of a loop. The
    loops have no body, and none of their bounds depends on the index of another one.
    """

    loops: tuple[For, ...]
    body: Expr

    @property
    def indices(self) -> frozenset[str]:
        """The names that have a value inside the sum only."""
        return frozenset(loop.index for loop in self.loops)


@dataclass(frozen=True)
class UserCall(Expr):
    """A call of a helper that was not inlined: numba can compile it along, NumPy cannot use it.

    ``inlined`` holds the equivalent expression where the helper is one expression.
    """

    function: str
    """The name at the call site."""
    args: tuple[Expr | str, ...]
    """Scalars as expressions, arrays by name."""


# ------------------------------------------------------------- statements
@dataclass(frozen=True)
class Stmt:
    """Base of all statements; ``node`` is the Python statement it came from."""

    line: int = field(compare=False)
    node: ast.stmt = field(compare=False, repr=False)


@dataclass(frozen=True)
class Assign(Stmt):
    """Give a scalar a value. ``s += e`` is ``Assign(s, Binary("+", Var(s), e))``."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Store(Stmt):
    """Write one element. ``a[i] += e`` is ``Store(a, (i,), Binary("+", Load(a, (i,)), e))``."""

    array: str
    index: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True)
class Append(Stmt):
    """``out.append(value)`` on a list that the nest only appends to."""

    array: str
    value: Expr


@dataclass(frozen=True)
class NewList(Stmt):
    """The name gets a fresh list: ``row = []``, ``row = [0] * m``, ``[[0] * m for _ in ..]``."""

    array: str
    extents: tuple[Expr, ...] = ()
    """One an axis, a negative one means none; empty for ``[]``."""
    fill: Expr | None = None


@dataclass(frozen=True)
class AppendRow(Stmt):
    """``rows.append(row)``: a list made in the nest, not used in it afterwards."""

    array: str
    row: str
    as_tuple: bool = False
    """The elements of the row as a tuple: ``points.append((x, y))``."""


@dataclass(frozen=True)
class If(Stmt):
    """Two-way branch; ``elif`` is an If alone in ``orelse``."""

    test: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True)
class For(Stmt):
    """``for index in range(start, stop, step)``.

    Loops over arrays, ``enumerate`` and ``zip`` are lowered to an index (a fresh name such as
    ``"i_"``, then in ``Nest.invented``) and a first statement that loads the element. Loops over
    a tuple of constants set ``values`` and leave start, stop and step as the positions.
    """

    index: str
    start: Expr
    stop: Expr
    step: int
    body: tuple[Stmt, ...]
    values: tuple[int | float, ...] | None = None


@dataclass(frozen=True)
class While(Stmt):
    """``while test``; back ends that vectorise refuse it unless it counts."""

    test: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Break(Stmt):
    """Leaves the innermost loop."""


@dataclass(frozen=True)
class Continue(Stmt):
    """Next iteration of the innermost loop."""


# -------------------------------------------------------------------- nest
@dataclass(frozen=True)
class ScalarInput:
    """A scalar the nest reads and someone else assigned before."""

    name: str
    type: Scalar
    interval: Interval
    """Observed over all entries."""
    constant: bool = False
    """The same value at every observed entry."""
    equals: tuple[tuple[str, int], ...] = ()
    """Extents ``(array, axis)`` it equals: proved by the code (``n, m = grid.shape``)."""
    seen_equal: tuple[tuple[str, int], ...] = ()
    """Extents it equalled at every observed entry, without a proof."""
    literal: bool | int | float | complex | None = None
    """Its value, where the code proves it: assigned once, from a literal, before the nest."""


@dataclass(frozen=True)
class Allocation:
    """The array was made in the same function before the nest and not touched in between."""

    function: str
    """``numpy.zeros``, ``numpy.empty``, ``numpy.zeros_like``, ``list`` (comprehension or
    ``[0] * n``) .."""
    line: int
    node: ast.stmt = field(compare=False, repr=False)
    fill: bool | int | float | None = None
    """The value every element has, None if unknown (``empty``)."""


@dataclass(frozen=True)
class ArrayInput:
    """An array or a regular (nested) list that the nest reads or writes."""

    name: str
    """As written; dotted for attributes."""
    container: str
    """``ndarray``, ``list``, ``tuple``, ``bytearray``; only read: ``bytes``, ``str``."""
    element: Scalar
    ndim: int
    shape: tuple[int | None, ...]
    """Observed extents, None where they differed between entries."""
    interval: Interval
    """Of all elements, over all observed entries."""
    has_nan: bool
    c_contiguous: bool
    read: bool
    written: bool
    allocation: Allocation | None = None
    aliases: tuple[str, ...] = ()
    """Other arrays of the nest with which it shared memory at some entry."""
    letters: bool = False
    """New code makes it of characters' numbers, just before the nest."""
    extents: tuple[Expr | None, ...] = ()
    """Extents proved by the code, one an axis (``np.zeros((n, m))`` gives ``n`` and ``m``), over
    scalars that still have the value they had then. Empty if nothing is proved."""


@dataclass(frozen=True)
class Nest:
    """One lowered loop statement."""

    root: For | While
    arrays: Mapping[str, ArrayInput]
    scalars: Mapping[str, ScalarInput]
    privates: Mapping[str, Scalar]
    """Scalars assigned inside (loop indices included), with the type they have there."""
    live_out: frozenset[str]
    """Privates (and loop indices) that someone may read after the nest."""
    helpers: tuple[str, ...] = ()
    """User functions called, by the name at the call site."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Local names of modules and functions used: ``{"np": "numpy", "sqrt": "math.sqrt"}``."""
    invented: frozenset[str] = frozenset()
    """Index names that are not in the user's text."""
    entries: int = 0
    """How many entries the observations rest on."""
    joined: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    """Privates whose type differs between paths, with all the types they take, the one at entry
    included (``s = 0.0`` before, ``s += a[i]`` inside: float, float64). ``privates`` holds the
    join. It is exact for every read in the nest, but a live-out keeps the type of its last
    assignment."""
    relies_on: tuple[Expr, ...] = ()
    """Conditions on extents at entry that the lowering took from the observation and the code
    does not prove (``zip`` of equally long arrays, rows of three): guard them."""
    made: frozenset[str] = frozenset()
    """Lists that the nest makes itself (``NewList``). They are in ``arrays`` too, without a value
    at entry; back ends that do not know of them must refuse the nest."""
    grown: frozenset[str] = frozenset()
    """Lists from before the nest that it appends rows to, or reads as well as appends to: their
    extent changes. Must be known or refused, as ``made``."""
    text: frozenset[str] = frozenset()
    """Scalars, and lists it appends to, whose numbers must be made text again outside."""
    strings: frozenset[str] = frozenset()
    """Those of ``text`` that are strings it adds characters to: ``arrays`` has them as lists."""
    replaced: frozenset[str] = frozenset()
    """Those of ``grown`` whose name stands for another list behind the nest (``row = new_row``);
    the nest has a loop that copies the elements. They must be handed back."""
    words: tuple[str, ...] = ()
    """Text of several characters that is written in the loop."""
    either: Mapping[str, tuple[tuple[Expr, Expr], ...]] = field(default_factory=dict)
    """Lists of ints and floats that count as lists of floats here, with the bounds of what the nest
    surely stores, a pair an axis; none where it only reads. Lowering never makes one."""
    calls: tuple[tuple[tuple[str, ...], ast.Call], ...] = field(default=(), repr=False)
    """Calls of user functions that stand here as statements: the privates that hold what they
    return, and the call."""


# -------------------------------------------------------------- traversal
def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions."""
    match expr:
        case Var() | Const():  # first: most are
            return ()
        case Load(index=index):
            return index
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case Bool(operands=operands):
            return operands
        case Select(test=test, then=then, orelse=orelse):
            return (test, then, orelse)
        case Call(args=args):
            return args
        case Sum(loops=loops, body=body):
            return (*(end for loop in loops for end in (loop.start, loop.stop)), body)
        case UserCall(args=args):
            return tuple(a for a in args if isinstance(a, Expr))
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything below it, outermost first."""
    pending = [expr]
    while pending:
        part = pending.pop()
        yield part
        pending.extend(reversed(children(part)))


def expressions(statement: Stmt) -> tuple[Expr, ...]:
    """The expressions a statement evaluates itself, not those of statements inside it."""
    match statement:
        case Assign(value=value) | Append(value=value):
            return (value,)
        case Store(index=index, value=value):
            return (*index, value)
        case If(test=test) | While(test=test):
            return (test,)
        case For(start=start, stop=stop):
            return (start, stop)
        case NewList(extents=extents, fill=fill):
            return extents if fill is None else (*extents, fill)
        case _:
            return ()


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """All statements of a body in source order, nested ones included."""
    for statement in body:
        yield statement
        match statement:
            case If(then=then, orelse=orelse):
                yield from statements(then)
                yield from statements(orelse)
            case For(body=inner) | While(body=inner):
                yield from statements(inner)
            case _:
                pass

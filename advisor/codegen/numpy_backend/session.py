"""The state of one attempt to write a nest as array statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...loopnest.affine import Affine
from ...loopnest.ir import Expr, For, Interval, Nest
from ...model import Source
from ...patch import free_name
from .known import Facts

if TYPE_CHECKING:
    from ..made_lists import MadeTable
    from .scan import Scan
    from .values import Value
    from .waves import Waves


@dataclass(frozen=True)
class Span:
    """The values an axis runs over: ``range(low, high, step)``, always upwards."""

    low: Affine
    high: Affine
    step: int = 1


@dataclass(frozen=True)
class Context:
    """Where array statements stand: the axes around them, outermost first, and their spans."""

    spans: tuple[tuple[str, Span], ...]
    full: tuple[tuple[str, Span], ...]
    """The spans before any ``if`` narrowed them."""
    mask: Expr | None = None
    """Condition on the elements, closed; only reductions need it."""
    future: frozenset[str] = frozenset()
    """Private scalars that may be read after the current statement."""
    kept: int = 0
    """Kept loops of this block around the statement."""
    branch: bool = False
    """Inside a condition on data: scalars are only bound, nothing is written yet."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(name for name, _ in self.spans)

    @property
    def narrowed(self) -> bool:
        """Inside an ``if`` on the indices, or under a mask."""
        return self.spans != self.full or self.mask is not None

    def span(self, axis: str) -> Span:
        """The span of an axis."""
        return dict(self.spans)[axis]


@dataclass(frozen=True)
class Buffer:
    """A private scalar expanded to an array under some name."""

    name: str
    private: str
    axes: frozenset[str]
    spans: tuple[tuple[str, Span], ...]
    dtype: str
    version: int
    dims: tuple[str, ...] = ()
    """The axes its dimensions stand for; extent 1 for those not in ``axes``."""
    origin: Expr | None = None
    """The closed expression it was computed from."""


@dataclass(frozen=True)
class BufferRef(Expr):
    """An expanded scalar inside an expression."""

    buffer: Buffer


@dataclass(frozen=True)
class Binding:
    """What a private scalar stands for at some point: a closed expression or a buffer."""

    expr: Expr
    spans: tuple[tuple[str, Span], ...]


Env = dict[str, Binding]


@dataclass
class Session:
    """Collects the text and what it rests on."""

    nest: Nest
    root: For
    source: Source
    np: str
    axes: frozenset[int]
    """``id`` of the loops that become axes."""
    uses: dict[str, int]
    """How often each private scalar is read in the text."""
    facts: Facts
    moved: frozenset[int] = frozenset()
    """``id`` of the statements that run in another order than in the program."""
    lines: list[str] = field(default_factory=list)
    prologue: list[str] = field(default_factory=list)
    """Before all loops: conversions and buffers."""
    epilogue: list[str] = field(default_factory=list)
    level: int = 0
    dead: frozenset[str] = frozenset()
    """Lists that the function makes itself and that nobody reads behind the loop."""
    rows_read: dict[str, tuple[ast.expr, ...]] = field(default_factory=dict)
    """Lists of lists of which only these rows are read behind the loop."""
    rebound: frozenset[str] = frozenset()
    """Arrays whose name may stand before ``+=``."""
    taken: set[str] = field(default_factory=set)
    ranges_used: dict[str, tuple[float | int | None, float | int | None]] = field(
        default_factory=dict
    )
    """Arrays and scalars whose observed range the text relies on."""
    roomy: bool = False
    """Scalars may be as large as `ranges.ROOM`, however small those seen were."""
    sized: bool = False
    """Some range rests on `ranges.LARGEST`."""
    sizes_used: dict[str, int] = field(default_factory=dict)
    """Extents and bounds of loops that must stay below a size: symbol -> size."""
    positive: set[str] = field(default_factory=set)
    """Scalars that must be above zero."""
    array_names: dict[str, str] = field(default_factory=dict)
    """Arrays that are read under another name in array statements (lists, narrowed copies)."""
    narrow: dict[str, str] = field(default_factory=dict)
    """Integer arrays read from narrower copies: array -> dtype of the copy."""
    halos: dict[str, object] = field(default_factory=dict)
    starts: dict[str, Expr] = field(default_factory=dict)
    """What the scalars that a kept loop updates begin with."""
    hidden: str = ""
    """How new names of a module begin, which outlive the loop."""
    exact_powers: bool = False
    """Powers of floats are the C library's, see `inexact.need_exact_powers`."""
    last_digit: bool = False
    """Some library function may round the last digit differently on arrays."""
    domains: list[str] = field(default_factory=list)
    """Tests on whole inputs, so that no element raises: ``(x != 0).all()``."""
    last_tests: list[str] = field(default_factory=list)
    """Tests that cost as much as the array code: they do its work."""
    loose: set[str] = field(default_factory=set)
    """Flat arrays as rows, see `folded`, whose slices must show that they stay in their row."""
    helpers: list[str] = field(default_factory=list)
    """Functions that the array code calls, to be defined above."""
    ordering: dict[bool, str] = field(default_factory=dict)
    """Names of those that sort a few numbers, see `ordered`: for floats, and for integers."""
    tests: list[Expr] = field(default_factory=list)
    """The conditions under which the expression being written is evaluated."""
    stored: str = ""
    """Name of the flag that says so."""
    in_bytes: set[str] = field(default_factory=set)
    """Bytearrays whose new elements are bytes if a test behind the array code says so."""
    made: frozenset[str] = frozenset()
    """Arrays that the new text itself makes for the loop, see `model.Around`."""
    trapped: int = 0
    """How many expressions rely on the flags of the processor, see `trapped`."""
    counting: tuple[Expr, ...] = ()
    """Where the division or power being written counts; it must raise nowhere else."""
    stops: bool = False
    """Some line leaves the array code where the loop raises, see `trapped.can_stop`."""
    final: set[int] = field(default_factory=set)
    """Numbers of lines that store into arrays which no other line touches, see `scatter`."""
    hushed: bool = False
    """Some line ignores these flags."""
    raises: bool = False
    """Some array statement may raise as the loop does, see `effects.may_raise`."""
    checked: set[str] = field(default_factory=set)
    """Divisors tested for zero by the present statement."""
    silent: bool = False
    """The next line computes elements that the original skips: their warnings are not its."""
    warns: bool = False
    """The statement under way computes elements the original never computes: no new warnings."""
    version: int = 0
    buffer_ranges: dict[int, Interval] = field(default_factory=dict)
    """What is known of expanded scalars, by version."""
    closed_ranges: set[str] = field(default_factory=set)
    """Written arrays whose values never leave their observed range."""
    single: frozenset[str] = frozenset()
    """Private scalars with one assignment in the whole nest."""
    masks: dict[tuple[Expr, tuple[tuple[str, Span], ...]], Expr] = field(default_factory=dict)
    """Tests of the present block on its indices alone, and the arrays that hold them."""
    products: dict[tuple[Expr, tuple[tuple[str, Span], ...]], str] = field(default_factory=dict)
    """Sums of the present statement that have a name of their own, by their axes' spans."""
    rectangles: list[For] = field(default_factory=list)
    """Loops made while writing: `axes` knows them by ``id``."""
    changed: set[str] = field(default_factory=set)
    """Arrays that the lines written so far store into."""
    scatters: frozenset[int] = frozenset()
    """``id`` of the stores that add to computed elements, see `scatter`."""
    scans: Mapping[int, Scan] = field(default_factory=dict)
    """``id`` of the stores that continue the element before, see `scan`."""
    axis_order: dict[str, int] = field(default_factory=dict)
    """Position of the axes of the present block."""
    kept_around: bool = False
    """The present block stands inside a kept loop."""
    reductions: dict[str, str] = field(default_factory=dict)
    """Scalars reduced over the present block: name -> how."""
    block_loops: tuple[For, ...] = ()
    """The axis loops of the present block."""
    waves: Waves | None = None
    """The loops over waves, where two loops were turned into these."""
    turned: Mapping[str, str] = field(default_factory=dict)
    """Copies that have columns as rows, and the arrays that they are copies of."""
    flats: dict[str, str] = field(default_factory=dict)
    """Arrays read along waves, and the names of their elements one after the other."""
    windows: dict[tuple[str, tuple[Expr, ...]], str] = field(default_factory=dict)
    """Elements of the present statement that have a name of their own, by their subscripts."""
    buffers: dict[tuple[str, int], str] = field(default_factory=dict)
    """Memory for what array statements in loops compute meanwhile, by its shape and number."""
    tables: Mapping[str, MadeTable] = field(default_factory=dict)
    """Lists of lists that the code makes just before, of one value but for their edges."""
    table_bounds: dict[str, int | None] = field(default_factory=dict)
    """Integers that no element of a written table exceeds, see `tables`."""
    named: dict[Expr, Value] = field(default_factory=dict)
    """Parts of the present statement that have a name of their own."""
    carried: set[str] = field(default_factory=set)
    """Expanded scalars that a kept loop of the block updates in place."""

    def line(self, text: str) -> None:
        """One more line at the present level."""
        if self.silent and not text.endswith(":"):
            self.silent = False
            self.hushed = True
            header = f'with {self.np}.errstate(divide="ignore", invalid="ignore"):'
            self.lines.append("    " * self.level + header)
            text = "    " + text
        self.lines.append("    " * self.level + text)

    @contextmanager
    def indented(self, header: str) -> Iterator[None]:
        """Lines below a header."""
        self.line(header)
        self.level += 1
        count = len(self.lines)
        yield
        if len(self.lines) == count:
            self.line("pass")
        self.level -= 1

    def fresh(self, wanted: str) -> str:
        """A name nothing in the module uses."""
        name = free_name(self.source, wanted.replace(".", "_"), self.taken)
        self.taken.add(name)
        return name

    def next_version(self) -> int:
        """Numbers buffers."""
        self.version += 1
        return self.version

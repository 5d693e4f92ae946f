"""The state of one attempt to compile a region: edits, assumptions, symbolic facts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from ..loopnest.affine import Affine, constant, extent_of, extent_symbol, variable
from ..loopnest.ir import Scalar
from ..loopnest.scope import Module
from ..loopnest.text import KnownText
from ..model import Region, Source
from .nb_values import STEPS, Num, Unsupported, Value

ARGUMENT = "!"
"""In front of an exponent's name among the globals and attributes that a helper is given."""
WHOLE = "whole_"
"""In front of ``int``, ``floor``, ..: the checked helper whose result fits 64 bits."""


@dataclass(frozen=True, order=True)
class TextEdit:
    """A byte edit inside the loop's text; ``order`` sorts insertions at one offset."""

    start: int
    order: int
    end: int
    text: str


@dataclass(frozen=True)
class Assumption:
    """What is taken for granted of inputs, to be tested before the compiled loops run."""

    int_bits: int = 31
    """Python ints at entry lie in ``[-2**bits, 2**bits]``."""
    arrays: frozenset[str] = frozenset()
    """Arrays only read, whose elements lie in the range observed, rounded outwards."""
    floats: frozenset[str] = frozenset()
    """Scalars whose value lies in the range observed, rounded outwards."""
    list_bits: int = 40
    """Elements of int lists lie in ``[-2**bits, 2**bits]`` at entry."""
    content: int = 2**40
    """Bound of the elements of int lists that the loop writes, at any time."""
    trips: bool = False
    """Every ``for`` loop runs at least once."""
    checked: int = 0
    """Python ints that are stored lie in ``[-2**bits, 2**bits]``; the loop looks. 0: unused."""
    roomy: bool = False
    """Variables may hold twice as much without a look; elements of lists may not."""


@dataclass
class Division:
    """Divisions whose divisor may be zero, by what the original does then."""

    python: list[ast.expr] = field(default_factory=list)
    """ZeroDivisionError."""
    numpy: list[tuple[ast.expr | None, ast.expr, ast.expr, str]] = field(default_factory=list)
    """inf, nan or 0 and a warning: (node, left, right, op); no node for ``x /= y``."""


@dataclass(frozen=True)
class Stored:
    """What one assignment does to the type of its variable."""

    types: frozenset[Scalar]
    """Types it may have then."""
    after: Mapping[Scalar, frozenset[Scalar]] = field(default_factory=dict)
    """The same, by the type the variable had before; empty where that was not asked."""


@dataclass(frozen=True)
class Product:
    """A multiplication, with the types it is compiled for: several in a helper called twice."""

    left: ast.expr
    right: ast.expr
    types: frozenset[str]


@dataclass(frozen=True)
class Remainder:
    """``k % n`` that wraps around once at most."""

    left: ast.expr
    right: ast.expr
    modulus: Affine


@dataclass
class State:
    """Everything one analysis collects. ``quiet`` > 0 while loops are iterated to a fix point."""

    region: Region
    source: Source
    module: Module
    assumption: Assumption
    equal: dict[str, str] = field(default_factory=dict)
    """Union-find over symbols proved equal."""
    fixed: dict[str, int] = field(default_factory=dict)
    """Extents the code proves to be a number."""
    seen_equal: frozenset[frozenset[str]] = frozenset()
    """Pairs of symbols equal at every observed entry."""
    intervals: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    """Numeric ranges of scalar symbols."""
    quiet: int = 0
    edits: set[TextEdit] = field(default_factory=set)
    read: dict[str, None] = field(default_factory=dict)
    """Inputs used, in order."""
    written: set[str] = field(default_factory=set)
    """Arrays stored to."""
    used_equal: set[frozenset[str]] = field(default_factory=set)
    stores: dict[str, dict[tuple[int, int], Stored]] = field(default_factory=dict)
    """Assignments of a variable in the loop, by the place of the target."""
    trips: dict[int, int] = field(default_factory=dict)
    """Most iterations of a ``for`` statement, by the numbers."""
    stored: dict[str, Num] = field(default_factory=dict)
    """Range of the Python ints stored to lists."""
    seen_sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Smallest and largest value of a size symbol over all observed entries."""
    used_sizes: set[Affine] = field(default_factory=set)
    """Forms that are asked to be at most 0 before the loops run."""
    used_ranges: set[str] = field(default_factory=set)
    division: Division = field(default_factory=Division)
    may_raise: bool = False
    unchecked: ast.expr | None = None
    """First index that could not be proved in bounds."""
    products: dict[ast.AST, Product] = field(default_factory=dict)
    """Multiplications, by the expression or the ``x *= y``."""
    remainders: dict[ast.expr, Remainder | None] = field(default_factory=dict)
    """``k % n`` of ints -> both sides if ``-n <= k < 2 * n`` is proved, else None."""
    exponents: dict[str, str] = field(default_factory=dict)
    """Argument name -> text of a constant exponent."""
    checked: dict[str, str] = field(default_factory=dict)
    """Checked helper -> the spelling of the function it wraps."""
    bounds: dict[tuple[int, int], ast.expr] = field(default_factory=dict)
    """Place -> target of ``x += e``, looked at afterwards because it may outgrow 64 bits."""
    called: dict[str, ast.FunctionDef] = field(default_factory=dict)
    """User functions compiled along, by the path they are called under."""
    attributes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Called method -> attribute paths it uses, which become its first arguments."""
    casts: bool = False
    """An edit spells ``np.`` something."""
    preamble: dict[str, ast.stmt] = field(default_factory=dict)
    """Constant tables whose defining statement is copied into the kernel."""
    trip_guards: dict[str, None] = field(default_factory=dict)
    kept: dict[str, None] = field(default_factory=dict)
    """Inputs that only the loop in Python needs, for when it does not run at all."""
    increments: dict[tuple[int, str], Num] = field(default_factory=dict)
    """What each ``x += e`` adds, by statement and name."""
    made: frozenset[str] = frozenset()
    """Lists that the loop makes."""
    native: frozenset[str] = frozenset()
    """Lists that it makes or appends to: the kernel has them as lists of its own."""
    grown: dict[str, None] = field(default_factory=dict)
    """Lists from before the loop that it appends to."""
    ranges: dict[str, tuple[tuple[Affine, ...], tuple[Affine, ...]]] = field(default_factory=dict)
    """Symbol -> symbolic inclusive lower and upper bounds."""
    facts: list[Affine] = field(default_factory=list)
    """Affine forms that are not negative here."""
    counter: int = 0

    @property
    def recording(self) -> bool:
        """The pass whose findings count."""
        return self.quiet == 0

    @cached_property
    def known_text(self) -> KnownText:
        """Names that always stand for one text."""
        region = self.region
        assert region.observation is not None
        return KnownText(region.source, region.function, region.loop, region.observation)

    def copied(self) -> State:
        """The same, in containers of its own."""
        new = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | set | list):
                setattr(new, name, value.copy())
        new.division = Division(self.division.python.copy(), self.division.numpy.copy())
        return new

    # ------------------------------------------------------------- text
    def wrap(self, node: ast.expr, before: str, after: str = ")") -> None:
        """Put text around an expression."""
        if not self.recording:
            return
        start, end = self.source.span(node)
        width = end - start
        self.edits.add(TextEdit(start, 10**9 - width, start, before))
        self.edits.add(TextEdit(end, width - 10**9, end, after))

    def replace(self, node: ast.expr | ast.keyword, text: str) -> None:
        """Put text in the place of an expression."""
        if self.recording:
            start, end = self.source.span(node)
            self.edits.add(TextEdit(start, 2 * 10**9, end, text))

    def as_function(self, node: ast.Call, owner: ast.expr, function: str) -> None:
        """``ch.lower()`` becomes ``function(ch)``."""
        if self.recording:
            start, end = self.source.span(node)
            behind = self.source.span(owner)[1]
            tail = self.source.data[behind:end]
            if b"#" in tail:
                raise Unsupported(f"`{ast.unparse(node)}` spans comments", node.lineno)
            dot = behind + tail.index(b".")
            self.edits.add(TextEdit(start, 10**9 - (end - start), start, f"{function}("))
            self.edits.add(TextEdit(dot, 10**9, end, ")"))

    def cast(self, node: ast.expr, dtype: str) -> None:
        """``np.float32(...)`` around an expression; ``np`` is filled in when names are known."""
        self.wrap(node, f"\0np.{dtype + '_' if dtype == 'bool' else dtype}(")
        if self.recording:
            self.casts = True

    def infix_call(
        self,
        node: ast.expr,
        left: ast.expr,
        right: ast.expr,
        function: str,
        drop: bool = False,
    ) -> None:
        """``a ** b`` becomes ``function(a, b)``; ``function(a)`` if the right side is dropped."""
        _, left_end = self.source.span(left)
        right_start, _ = self.source.span(right)
        _, end = self.source.span(node)
        between = self.source.data[left_end:right_start].decode("utf-8")
        # closing parentheses of the left side come before the operator, opening ones after it
        found = re.search(r"\s*(\*\*|\*|//|/|%)\s*", between)
        if found is None or "#" in between:
            raise Unsupported(f"`{ast.unparse(node)}` spans comments", node.lineno)
        at = left_end + len(between[: found.start()].encode())
        after = left_end + len(between[: found.end()].encode())
        self.wrap(node, f"{function}(")
        if drop:
            self.edits.add(TextEdit(at, 0, end, ""))
        else:
            self.edits.add(TextEdit(at, 0, after, ", "))

    def note_product(self, at: ast.AST, type_: str, left: ast.expr, right: ast.expr) -> None:
        """A multiplication: back ends that fuse it with an addition must not."""
        before = self.products[at].types if at in self.products else frozenset()
        self.products[at] = Product(left, right, before | {type_})

    def note_remainder(
        self,
        node: ast.expr,
        left: ast.expr,
        right: ast.expr,
        k: Affine | None,
        n: Affine | None,
    ) -> None:
        """A remainder: one that wraps around once at most needs no division."""
        if k is None or n is None or self.remainders.get(node, n) is None:
            self.remainders[node] = None
            return
        once = self.prove_without_guard(-k - n) and self.prove_without_guard(k - n.scale(2) + 1)
        self.remainders[node] = Remainder(left, right, n) if once else None

    # --------------------------------------------------------- symbols
    def fresh(self, name: str) -> str:
        """A symbol for one value a variable has."""
        self.counter += 1
        return f"{name}@{self.counter}"

    def bounded_symbol(
        self, name: str, lows: tuple[Affine, ...], highs: tuple[Affine, ...]
    ) -> Affine:
        """A fresh symbol with symbolic bounds."""
        symbol = self.fresh(name)
        self.ranges[symbol] = (lows, highs)
        return variable(symbol)

    def union(self, left: str, right: str) -> None:
        """The code proves two symbols equal."""
        left, right = self.find(left), self.find(right)
        if left != right:
            # extents are the better representatives: they are never negative
            if extent_of(left) is None:
                left, right = right, left
            self.equal[right] = left

    def find(self, symbol: str) -> str:
        """The representative of a symbol."""
        while symbol in self.equal:
            symbol = self.equal[symbol]
        return symbol

    def extent(self, array: str, axis: int) -> Affine:
        """The extent of an array as a form."""
        symbol = self.find(extent_symbol(array, axis))
        for other, value in self.fixed.items():
            if self.find(other) == symbol:
                return constant(value)
        return variable(self.find(extent_symbol(array, axis)))

    # ----------------------------------------------------------- proofs
    def prove_without_guard(self, form: Affine) -> bool:
        """Whether the code alone shows ``form <= 0`` in every iteration."""
        return self._nonpositive(form)

    def prove_nonpositive(self, form: Affine) -> bool:
        """Whether ``form <= 0`` in every iteration; may note a test of sizes seen to hold."""
        if self._nonpositive(form):
            return True
        for form_ in self._eliminated(form):
            if self._seen_nonpositive(form_):
                if self.recording:
                    self.used_sizes.add(form_)
                return True
        for form_ in self._eliminated(form):
            for pair in self._seen_pairs(form_):
                first, second = sorted(pair)
                if self._nonpositive(form_.substitute({first: variable(second)})):
                    if self.recording:
                        self.used_equal.add(pair)
                    return True
        return False

    def _seen_pairs(self, form: Affine) -> Iterator[frozenset[str]]:
        plus = [s for s, c in form.pairs if c > 0]
        minus = [s for s, c in form.pairs if c < 0]
        for a, b in product(plus, minus):
            pair = frozenset((a, b))
            if pair in self.seen_equal:
                yield pair

    def _seen_nonpositive(self, form: Affine) -> bool:
        total = form.const
        for symbol, factor in form.pairs:
            if symbol not in self.seen_sizes:
                return False
            low, high = self.seen_sizes[symbol]
            total += factor * (high if factor > 0 else low)
        return total <= 0

    def _nonpositive(self, form: Affine) -> bool:
        candidates = [form, *(form + fact for fact in self.facts)]
        return any(
            self._numeric_high(done)
            for candidate in candidates
            for done in self._eliminated(candidate)
        )

    def _eliminated(self, form: Affine, depth: int = 0) -> Iterator[Affine]:
        """Upper bounds of the form without symbols that have symbolic bounds."""
        inner = [s for s in form.symbols if s in self.ranges]
        if not inner or depth > 8:
            yield form
            return
        # the youngest symbol first: its bounds may speak of older ones
        symbol = max(inner, key=lambda s: int(s.rpartition("@")[2]))
        factor = form.coefficient(symbol)
        lows, highs = self.ranges[symbol]
        for bound in (highs if factor > 0 else lows)[:3]:
            yield from self._eliminated(form.substitute({symbol: bound}), depth + 1)

    def _numeric_high(self, form: Affine) -> bool:
        total = form.const
        for symbol, factor in form.pairs:
            if extent_of(symbol):
                low, high = 0, STEPS
            else:
                low_, high_ = self.intervals.get(symbol, (None, None))
                if (high_ if factor > 0 else low_) is None:
                    return False
                low, high = low_ or 0, high_ or 0
            total += factor * (high if factor > 0 else low)
        return total <= 0


def fail(state: State, reason: str, node: ast.AST, suggestion: str | None = None) -> None:
    """An obligation is not met: only the recorded pass decides."""
    if state.recording:
        raise Unsupported(reason, getattr(node, "lineno", None), suggestion)


Env = dict[str, Value]

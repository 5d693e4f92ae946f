"""Where the time of a run went, and what was seen at the entries of hot loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .programs import RunResult


@dataclass(frozen=True)
class FunctionTime:
    """Self time of one function, as sampled by scalene, as shares of the whole run."""

    file: Path
    qualname: str
    """``"<module>"`` for top-level code."""
    first_line: int
    last_line: int
    python_share: float
    native_share: float
    system_share: float = 0.0

    @property
    def share(self) -> float:
        """Python, native and waiting time together."""
        return self.python_share + self.native_share + self.system_share


@dataclass(frozen=True)
class LineTime:
    """One source line: sampled shares from scalene, exact hits and seconds from line_profiler."""

    file: Path
    line: int
    python_share: float = 0.0
    native_share: float = 0.0
    system_share: float = 0.0
    hits: int | None = None
    seconds: float | None = None
    """Seconds under line_profiler within its budget; meaningful as a share of its function only."""
    share: float = 0.0
    """Best estimate of the line's share of the bare run: scalene's function total, spread over
    the function's lines as line_profiler measured them."""


@dataclass(frozen=True)
class Profile:
    """What the profiled runs said."""

    bare: RunResult
    functions: tuple[FunctionTime, ...]
    lines: tuple[LineTime, ...]
    method: str
    """Which profilers the shares come from, in words for the report."""
    partial: bool = False
    notes: tuple[str, ...] = ()


# ----------------------------------------------------- observed values and sites
@dataclass(frozen=True)
class ValueInfo:
    """What was seen of one variable over all observed entries of a site, merged.

    A merged value whose type differed between entries has ``kind == "mixed"``.
    """

    kind: str
    """ndarray, list, tuple, bytearray, bytes, bool, int, float, complex, str, none, function,
    module, class, numpy_scalar, object, mixed."""
    type_name: str
    """Qualified type name: ``"numpy.ndarray"``, ``"builtins.float"``, ``"__main__.Grid"``."""
    dtype: str | None = None
    """NumPy dtype name of arrays and NumPy scalars."""
    ndim: int | None = None
    shape: tuple[int | None, ...] | None = None
    """Extents; None where they differed between entries. Also for regular nested lists."""
    min_shape: tuple[int, ...] | None = None
    max_shape: tuple[int, ...] | None = None
    c_contiguous: bool = False
    writeable: bool = True
    """Arrays; lists: neither they nor their rows are tuples."""
    minimum: float | int | None = None
    """Smallest value seen over all entries (elements of arrays and lists, NaN left out)."""
    maximum: float | int | None = None
    has_nan: bool = False
    constant: bool = False
    """The same scalar value at every entry (then minimum == maximum)."""
    element: ValueInfo | None = None
    """Lists and tuples: the merged info of the innermost elements of a regular nesting."""
    regular: bool = True
    """Lists of lists: every row has the same length and rows are distinct objects."""
    target: str | None = None
    """Functions, classes and modules: qualified name (``"math.sqrt"``, ``"numpy"``,
    ``"__main__.neighbours"``)."""
    target_file: Path | None = None
    """Functions: the file that defines them, when it is Python."""
    target_line: int | None = None
    """Functions: line of the ``def`` (or of its first decorator)."""
    columns: tuple[tuple[str, str], ...] = ()
    """Pandas frames: label and dtype of each column. Empty where labels are no text, or not each
    of its own, and where columns differed between entries."""
    members: tuple[tuple[str, ValueInfo], ...] = ()
    """Elements of lists that are no numbers: what was seen of the attributes that all of them
    have, or of each place of equally long tuples (``"0"``, ``"1"``), over the whole list."""


@dataclass(frozen=True)
class SiteObservation:
    """Everything seen at the entry of one loop statement (or function)."""

    entries: int
    observed: int
    """How many of the entries were looked at (the others only counted)."""
    values: Mapping[str, ValueInfo]
    """Locals and used globals by name, used attribute chains by dotted path (``"self.grid"``)."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Pairs of array or list names that shared memory (or were one object) at some entry."""
    signatures: tuple[SiteObservation, ...] = ()
    """Where types differed between entries: what was seen with each type signature, the one with
    most work first; this observation is all of them merged. Empty where types never differed."""
    others: int = 0
    """For one signature of several: entries that had other types. They keep the original loop."""
    kinds: int = 1
    """How many type signatures were seen in the run."""
    work: float = 0.0
    """Rough work of these entries: elements of arrays and lists, and integers, summed."""


@dataclass(frozen=True)
class Site:
    """A place in the program where we look: a loop statement, or the entry of a function."""

    file: Path
    line: int
    """First line of the statement (a loop), or of the ``def``."""
    qualname: str
    """The enclosing function; ``"<module>"`` at top level. For a function site: the function."""
    is_function: bool = False

    @property
    def key(self) -> str:
        """Stable text key, used between processes."""
        return f"{self.file}:{self.line}:{self.qualname}:{int(self.is_function)}"

"""Comparison of what whole runs wrote: text with parts that no run repeats, and files.

The original is run a second time under clocks that run differently. Whatever that run writes
differently (elapsed times, the date, addresses, unseeded draws) cannot be expected of a rewrite
either: those numbers, or lines, are masked, and the report says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

NUMBER = re.compile(
    r"0[xX][0-9a-fA-F]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b[-+]?(?:nan|inf)\b"
)
MASK = "\N{MIDDLE DOT}"

CLOCKS = '''\
"""Clocks that run faster than the real ones, to see which output depends on them."""
import sys
import time


def _skew(name, factor, shift):
    real = getattr(time, name, None)
    if real is None:
        return
    start = real()

    def clock():
        now = real()
        return now + type(now)((now - start) * factor) + type(now)(shift)

    clock.__name__ = clock.__qualname__ = name
    setattr(time, name, clock)


for _name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
    _skew(_name, 2.37, 4321.0)
    _skew(_name + "_ns", 2.37, 4321e9)
_folder = __file__.rpartition("/")[0]
sys.path[:] = [path for path in sys.path if path != _folder]
sys.path_importer_cache.pop(_folder, None)
_ours = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize
except ImportError:
    sys.modules["sitecustomize"] = type(sys)("sitecustomize")
'''
"""Text of a ``sitecustomize`` module; it hands over to the one it hides."""


@dataclass(frozen=True)
class Mask:
    """Parts of a text that two runs of the original wrote differently."""

    numbers: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Line -> positions of the numbers in it that differ."""
    lines: frozenset[int] = frozenset()
    """Lines that differ in more than numbers."""
    whole: bool = False
    """Not even the number of lines repeats: nothing can be compared."""

    def __bool__(self) -> bool:
        return bool(self.numbers or self.lines or self.whole)

    def words(self, name: str) -> str:
        """What is left out, for the report."""
        if self.whole:
            return f"{name} differs between two runs of the original and was not compared"
        count = len(self.numbers) + len(self.lines)
        lines = "1 line" if count == 1 else f"{count} lines"
        return f"what the original itself writes differently from run to run ({lines}) left out"


def lines_of(text: bytes) -> list[str]:
    """Lines as compared; the kind of line end counts."""
    return text.decode("utf-8", "backslashreplace").splitlines(keepends=True)


def skeleton(line: str) -> str:
    """A line without its numbers; columns padded to another width are the same."""
    return " ".join(NUMBER.sub("0", line).split())


def mask_between(first: bytes, second: bytes) -> Mask:
    """What differs between two runs of one program."""
    if first == second:
        return Mask()
    one, other = lines_of(first), lines_of(second)
    if len(one) != len(other):
        return Mask(whole=True)
    numbers: dict[int, frozenset[int]] = {}
    lines: set[int] = set()
    for index, (a, b) in enumerate(zip(one, other, strict=True)):
        if a == b:
            continue
        mine, theirs = NUMBER.findall(a), NUMBER.findall(b)
        if skeleton(a) == skeleton(b) and len(mine) == len(theirs):
            differing = (k for k in range(len(mine)) if mine[k] != theirs[k])
            numbers[index] = frozenset(differing)
        else:
            lines.add(index)
    return Mask(numbers, frozenset(lines))


def _masked(line: str, positions: frozenset[int]) -> str:
    count = iter(range(len(line) + 1))
    masked = NUMBER.sub(lambda m: MASK if next(count) in positions else m[0], line)
    return " ".join(masked.split())


def difference(original: bytes, candidate: bytes, mask: Mask, name: str) -> str | None:
    """The first difference that is not masked, in words; None if there is none."""
    if original == candidate or mask.whole:
        return None
    one, other = lines_of(original), lines_of(candidate)
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a == b or index in mask.lines:
            continue
        positions = mask.numbers.get(index)
        if positions is not None and _masked(a, positions) == _masked(b, positions):
            continue
        return _line_difference(a, b, index, name)
    if len(one) != len(other):
        return f"{name} has {len(other)} lines where the original's has {len(one)}"
    return None


def _line_difference(a: str, b: str, index: int, name: str) -> str:
    mine, theirs = NUMBER.findall(a), NUMBER.findall(b)
    if skeleton(a) == skeleton(b) and len(mine) == len(theirs):
        for was, now in zip(mine, theirs, strict=True):
            if was != now:
                return f"{name}, line {index + 1}: {now} where the original has {was}"
    return f"{name}, line {index + 1}: {_short(b)} where the original has {_short(a)}"


def _short(line: str) -> str:
    text = line.rstrip("\r\n")
    return repr(text if len(text) <= 60 else text[:57] + "...")


_PLACE = re.compile(rb'(File ".*?", line |[^\s:]+\.py:)\d+')


def comparable_errors(stderr: bytes) -> bytes:
    """Standard error without what any edit of the source changes.

    Line numbers move, and warnings quote the source line, indented, below themselves.
    """
    text = _PLACE.sub(rb"\g<1>0", stderr)
    return b"".join(k for k in text.splitlines(keepends=True) if not k.startswith(b"  "))


def close_numbers(original: str, candidate: str, relative: float) -> bool:
    """Texts equal but for numbers that differ by at most ``relative`` of the larger one."""
    mine, theirs = NUMBER.findall(original), NUMBER.findall(candidate)
    if skeleton(original) != skeleton(candidate) or len(mine) != len(theirs):
        return False
    for was, now in zip(mine, theirs, strict=True):
        if was == now:
            continue
        try:
            a, b = float(was), float(now)
        except ValueError:  # a hexadecimal address
            return False
        if not abs(a - b) <= relative * max(abs(a), abs(b)):
            return False
    return True

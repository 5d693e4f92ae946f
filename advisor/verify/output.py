"""Comparison of text that whole runs wrote, with parts that no run repeats.

The original is run a second time under clocks that run differently. Whatever that run writes
differently (elapsed times, the date, addresses, unseeded draws) cannot be expected of a rewrite
either. Those *words* are left out, never the line they are in: of ``took 1.3 s, sum 42`` the sum is
compared. Where only the order differs (sets of text), the rewrite may choose another order, too,
but of the same lines or words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import isfinite

NUMBER = re.compile(
    r"0[xX][0-9a-fA-F]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b[-+]?(?:nan|inf)\b"
)
_TOKEN = re.compile(rf"{NUMBER.pattern}|[^\W\d_]\w*|\w+?|[^\w\s]")
ALIGN_LIMIT = 3000
"""Lines or words that differ in number are aligned up to this many: it takes quadratic time."""
DIGITS = 10
"""Printed digits from which on a difference of one in the last is called rounding."""


@dataclass(frozen=True)
class Hole:
    """Words that differ between two runs of the original."""

    most: int
    """How many words may be there, at most."""
    least: int = 0
    number: bool = False
    finite: bool = False
    """A finite number in both runs: NaN in its place is no other time but a wrong result."""

    def admits(self, words: Sequence[str]) -> bool:
        """True if these may stand in its place."""
        if not self.least <= len(words) <= self.most:
            return False
        if not self.number:
            return True
        values = [_value(word) for word in words]
        return all(v is not None and (isfinite(v) or not self.finite) for v in values)


@dataclass(frozen=True)
class Line:
    """A line of the original as it may come back."""

    text: str
    pieces: tuple[str | Hole, ...] | None = None
    """None: exactly the text."""
    shuffled: bool = False
    """The same words in any order."""

    @property
    def exact(self) -> bool:
        """Nothing of it may differ."""
        return self.pieces is None and not self.shuffled

    @property
    def speaks(self) -> bool:
        """Something of it is compared."""
        words = self.pieces if self.pieces is not None else words_of(self.text)
        return any(isinstance(word, str) and any(map(str.isalnum, word)) for word in words)

    def matches(self, other: str, relative: float) -> bool:
        """True if ``other`` is this line, numbers within a relative tolerance."""
        if self.text == other:
            return True
        mine, theirs = words_of(self.text), words_of(other)
        if self.shuffled:
            return Counter(mine) == Counter(theirs)
        if self.pieces is None:
            same_blanks = NUMBER.sub("", self.text).split() == NUMBER.sub("", other).split()
            return relative > 0 and same_blanks and _all_alike(mine, theirs, relative)
        return _fits(self.pieces, theirs, relative)


@dataclass(frozen=True)
class Mask:
    """The original's text as it may come back, from what two runs of it wrote."""

    blocks: tuple[tuple[Line, ...], ...] = ()
    """Lines that follow one another."""
    gaps: tuple[frozenset[str], ...] = ()
    """Between two blocks: skeletons of the lines of which no two runs write as many."""
    any_order: bool = False
    """The same lines in any order."""
    left_out: int = 0
    """Lines of which not everything is compared."""
    whole: bool = False
    """Nothing is the same in both runs: nothing can be compared."""

    def __bool__(self) -> bool:
        return bool(self.blocks or self.any_order or self.whole)

    def words(self, name: str) -> str:
        """What is left out, for the report."""
        if self.whole:
            return f"{name} differs between two runs of the original and was not compared"
        if self.any_order or not self.left_out:
            return f"{name} compared without its order, which differs between runs of the original"
        lines = "1 line" if self.left_out == 1 else f"{self.left_out} lines"
        return f"what the original itself writes differently from run to run ({lines}) left out"


def lines_of(text: bytes) -> list[str]:
    """Lines as compared; the kind of line end counts."""
    return text.decode("utf-8", "backslashreplace").splitlines(keepends=True)


def words_of(line: str) -> list[str]:
    """Numbers, words and signs, without the blanks between them."""
    return _TOKEN.findall(line)


def skeleton(line: str) -> str:
    """A line without its numbers; columns padded to another width are the same."""
    return " ".join(NUMBER.sub("0", line).split())


def _value(word: str) -> float | None:
    if not NUMBER.fullmatch(word):
        return None
    return float(int(word, 16)) if word[:2] in ("0x", "0X") else float(word)


# ------------------------------------------------------------------- masking
def mask_between(first: bytes, second: bytes) -> Mask:
    """What differs between two runs of one program."""
    if first == second:
        return Mask()
    one, other = lines_of(first), lines_of(second)
    if sorted(one) == sorted(other):
        return Mask(any_order=True)
    blocks: list[list[Line]] = [[]]
    gaps: list[frozenset[str]] = []
    for mine, theirs in _aligned_lines(one, other):
        if len(mine) == len(theirs):
            blocks[-1] += map(_line_between, mine, theirs)
        else:
            gaps.append(frozenset(map(skeleton, (*mine, *theirs))))
            blocks.append([])
    lost = len(one) - sum(map(len, blocks))
    for position, gap in enumerate(gaps):
        lost += _widen(blocks[position], blocks[position + 1], gap)
    lines = [line for block in blocks for line in block]
    if not any(line.speaks for line in lines):
        return Mask(whole=True)
    holes = sum(1 for line in lines if line.pieces is not None)
    return Mask(tuple(map(tuple, blocks)), tuple(gaps), left_out=max(holes + lost, len(gaps)))


def _widen(before: list[Line], after: list[Line], gap: frozenset[str]) -> int:
    """Leave to a gap what only happens to have a partner: progress at 10 and 20 %, or at 15 %."""
    taken = 0
    while before and before[-1].pieces is not None and skeleton(before[-1].text) in gap:
        before.pop()
        taken += 1
    while after and after[0].pieces is not None and skeleton(after[0].text) in gap:
        after.pop(0)
        taken += 1
    return taken


def _aligned_lines(one: list[str], other: list[str]) -> list[tuple[list[str], list[str]]]:
    """Stretches of both texts that belong together; the same number of lines where possible."""
    mine, theirs = [skeleton(k) for k in one], [skeleton(k) for k in other]
    if mine == theirs or (len(one) == len(other) and len(one) > ALIGN_LIMIT):
        return [(one, other)]
    if max(len(one), len(other)) > ALIGN_LIMIT:
        # What both begin and end with; what is between them is too long to be aligned.
        head = next((k for k, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), 0)
        return [(one[:head], other[:head]), (one[head:], other[head:])]
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    return [(one[i:j], other[k:m]) for _, i, j, k, m in matcher.get_opcodes()]


def _line_between(one: str, other: str) -> Line:
    if one == other:
        return Line(one)
    mine, theirs = words_of(one), words_of(other)
    if Counter(mine) == Counter(theirs):
        return Line(one, shuffled=True)
    if len(mine) == len(theirs):
        pieces = tuple(a if a == b else _hole([a], [b]) for a, b in zip(mine, theirs, strict=True))
        return Line(one, pieces)
    if max(len(mine), len(theirs)) > ALIGN_LIMIT:
        return Line(one, (_hole(mine, theirs),))
    found: list[str | Hole] = []
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        found += mine[i:j] if tag == "equal" else [_hole(mine[i:j], theirs[k:m])]
    return Line(one, tuple(found))


def _hole(mine: Sequence[str], theirs: Sequence[str]) -> Hole:
    if len(mine) == len(theirs) == 1:
        values = _value(mine[0]), _value(theirs[0])
        number = None not in values
        finite = all(v is not None and isfinite(v) for v in values)
        return Hole(1, 1, number, finite)
    # 59.9 s  became  1 min 0.2 s
    return Hole(max(len(mine), len(theirs)) + 2)


# ------------------------------------------------------------------ comparing
def difference(
    original: bytes, candidate: bytes, mask: Mask, name: str, relative: float = 0.0
) -> str | None:
    """The first difference that is not masked, in words; None if there is none.

    ``relative``: numbers (not whole ones) may be so far apart, in parts of the larger one.
    """
    if original == candidate or mask.whole:
        return None
    one, other = lines_of(original), lines_of(candidate)
    if mask.any_order:
        return _other_lines(one, other, name)
    blocks = mask.blocks or (tuple(map(Line, one)),)
    at = 0
    for number, block in enumerate(blocks):
        places = [at]
        if number:
            places = _places(other, at, mask.gaps[number - 1])
            # What follows the last gap ends the text.
            end = len(other) - len(block)
            places = places if number + 1 < len(blocks) else [p for p in places if p == end]
        found = next((p for p in places if _mismatch(block, other, p, relative) is None), None)
        if found is None:
            return _where(block, other, places[-1] if places else at, name, relative)
        at = found + len(block)
    if at < len(other):
        return f"{name} has {len(other)} lines where the original's has {at}"
    return None


def _places(other: Sequence[str], at: int, gap: frozenset[str]) -> list[int]:
    """Where the next block may begin: before or after any line that belongs to the gap."""
    places = [at]
    while at < len(other) and skeleton(other[at]) in gap:
        at += 1
        places.append(at)
    return places


def _other_lines(one: list[str], other: list[str], name: str) -> str | None:
    if len(one) != len(other):
        return f"{name} has {len(other)} lines where the original's has {len(one)}"
    more = list((Counter(other) - Counter(one)).elements())
    return f"{name}: the original has no line {_short(more[0])}" if more else None


def _mismatch(block: Sequence[Line], other: Sequence[str], at: int, relative: float) -> int | None:
    """Position in the block of the first line that is not there; None if all are."""
    for offset, line in enumerate(block):
        if at + offset >= len(other) or not line.matches(other[at + offset], relative):
            return offset
    return None


def _where(block: Sequence[Line], other: Sequence[str], at: int, name: str, relative: float) -> str:
    offset = _mismatch(block, other, at, relative) or 0
    index = at + offset
    if index >= len(other) or offset >= len(block):
        return f"{name} has {len(other)} lines where the original's has {at + len(block)}"
    line, now = block[offset], other[index]
    if line.exact and skeleton(line.text) == skeleton(now):
        for a, b in zip(NUMBER.findall(line.text), NUMBER.findall(now), strict=False):
            if a != b and not _alike(a, b, relative):
                return f"{name}, line {index + 1}: {b} where the original has {a}"
    for a, b in zip(line.pieces or (), words_of(now), strict=False):
        if isinstance(a, str) and a != b:
            return f"{name}, line {index + 1}: {b} where the original has {a}"
    return f"{name}, line {index + 1}: {_short(now)} where the original has {_short(line.text)}"


def _fits(pieces: Sequence[str | Hole], words: Sequence[str], relative: float) -> bool:
    """True if the words are the pieces with something in each hole."""
    ends = {0}
    for piece in pieces:
        reached: set[int] = set()
        for at in ends:
            if isinstance(piece, str):
                if at < len(words) and _alike(piece, words[at], relative):
                    reached.add(at + 1)
                continue
            most = min(len(words), at + piece.most)
            reached.update(k for k in range(at, most + 1) if piece.admits(words[at:k]))
        ends = reached
        if not ends:
            return False
    return len(words) in ends


def _all_alike(mine: Sequence[str], theirs: Sequence[str], relative: float) -> bool:
    return len(mine) == len(theirs) and all(
        _alike(a, b, relative) for a, b in zip(mine, theirs, strict=True)
    )


def _alike(was: str, now: str, relative: float) -> bool:
    """The same word, or numbers with a fraction that differ by no more than rounding."""
    if was == now:
        return True
    if not relative or not (_fractional(was) and _fractional(now)):
        return False
    a, b = float(was), float(now)
    if not (isfinite(a) and isfinite(b)):
        return False
    apart = abs(a - b)
    if apart <= relative * max(abs(a), abs(b)):
        return True
    # 0.1234567890 became 0.1234567891: the next digits were rounded the other way.
    return apart <= 1.001 * max(_last_digit(was), _last_digit(now))


def _fractional(word: str) -> bool:
    return (
        bool(NUMBER.fullmatch(word)) and word[:2].lower() != "0x" and bool(set(".eE") & set(word))
    )


def _last_digit(word: str) -> float:
    """What one in the last printed digit is worth; 0 where too few are printed."""
    mantissa, _, exponent = word.lower().partition("e")
    digits = mantissa.lstrip("+-").replace(".", "").lstrip("0")
    if len(digits) < DIGITS:
        return 0.0
    return float(10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])))


def _short(line: str) -> str:
    text = line.rstrip("\r\n")
    return repr(text if len(text) <= 60 else text[:57] + "...")


_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_PLACE = re.compile(rb'(File ".*?", line |[^\s:]+\.py:)\d+')


def comparable_errors(stderr: bytes) -> bytes:
    """Standard error without what any edit of the source changes.

    Line numbers move, and warnings quote the source line, indented, below themselves.
    """
    text = _PLACE.sub(rb"\g<1>0", stderr)
    return b"".join(k for k in text.splitlines(keepends=True) if not k.startswith(b"  "))


def without_silenced(stderr: bytes, candidate: bytes, silenced: Iterable[str]) -> bytes:
    """Standard error of the original without warnings that a rewrite may make go away.

    Only lines that begin, after their place, as one of ``silenced`` says, and only as many as the
    candidate does not write: it may write fewer of them, never another one or one more.
    """
    beginnings = [re.compile(rb"\S.*?\.py:\d+: " + re.escape(text.encode())) for text in silenced]
    if not beginnings:
        return stderr
    still = Counter(candidate.splitlines(keepends=True))
    kept = []
    for line in stderr.splitlines(keepends=True):
        still[line] -= 1
        plain = _COLOUR.sub(b"", line)
        if still[line] >= 0 or not any(beginning.match(plain) for beginning in beginnings):
            kept.append(line)
    return b"".join(kept)

"""Files that a script writes: what is in them, compared as far as two runs of the original agree.

A file that two runs of the original write alike must come out the same from a rewrite, byte for
byte. Under ``--unsafe``, and only where a rewrite says that its last digits may differ, numbers in
``.npy`` and ``.npz`` files and in text may differ by rounding. Pickles are never loaded: that would
run code.

Of a file that no two runs write alike, what they have in common is compared: text word by word
(see ``output``), archives and images without the time stamps in them.
"""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..model import ErrorSize, Exactness
from .output import difference, mask_between, skeleton
from .tolerance import Tolerance, compare_numbers, larger

if TYPE_CHECKING:
    from ..observe.sandbox import Sandbox

SIZE_LIMIT = 16 << 20
"""Bytes of a file that is kept for comparison."""
TOTAL_LIMIT = 256 << 20
"""Bytes of all files of one run that are kept."""
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_NOTES = (b"tEXt", b"zTXt", b"iTXt", b"tIME")


@dataclass(frozen=True)
class Loose:
    """How far numbers may be apart under ``--unsafe``."""

    exactness: Exactness
    reduction_length: int
    relative: float
    """The same for printed numbers, in parts of the larger one."""


@dataclass(frozen=True)
class FileOutcome:
    """How one file compares."""

    problem: str | None = None
    note: str | None = None
    """What was not compared."""
    error: ErrorSize = field(default_factory=ErrorSize)
    compared: bool = True


@dataclass(frozen=True)
class WrittenFiles:
    """The files that one run wrote, by the path below the root; ``content`` of those kept."""

    marks: Mapping[str, str] = field(default_factory=dict)
    content: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def read(
        cls, box: Sandbox, marks: Mapping[str, str], unlike: WrittenFiles | None = None
    ) -> WrittenFiles:
        """Keep what the run that just ended wrote: what differs from ``unlike``, if given."""
        kept: dict[str, bytes] = {}
        left = TOTAL_LIMIT
        for name, mark in marks.items():
            place = box.path(Path("/") / name)
            if unlike is not None and unlike.marks.get(name) == mark:
                continue
            if place.is_symlink() or not place.is_file():
                continue
            size = place.stat().st_size
            if size <= min(SIZE_LIMIT, left):
                kept[name] = place.read_bytes()
                left -= size
        return cls(marks, kept)

    def renamed(self, names: Mapping[str, str]) -> WrittenFiles:
        """The same under other names."""
        return WrittenFiles(
            {names.get(name, name): mark for name, mark in self.marks.items()},
            {names.get(name, name): data for name, data in self.content.items()},
        )


def compare_file(
    name: str,
    original: WrittenFiles,
    rewritten: WrittenFiles,
    again: WrittenFiles,
    loose: Loose | None = None,
) -> FileOutcome:
    """One file that the rewrite did not write as the original did.

    ``again``: the files of a second run of the original. ``loose``: None unless numbers may differ
    by rounding.
    """
    mine, other = original.content.get(name), rewritten.content.get(name)
    second = again.content.get(name)
    if original.marks.get(name) == again.marks.get(name):
        if mine is not None and other is not None and loose is not None:
            size = _deviation(name, mine, other, loose)
            if size is not None:
                return FileOutcome(note=f"numbers in {name} differ by rounding", error=size)
        return FileOutcome(_changed(name, original, rewritten))
    if (name in original.marks) != (name in again.marks):
        note = f"file {name}, which the original does not write in every run, was not compared"
        return FileOutcome(note=note, compared=False)
    if name not in rewritten.marks:
        return FileOutcome(f"file {name} is not written")
    if mine is not None and other is not None and second is not None:
        outcome = _in_common(name, mine, other, second)
        if outcome is not None:
            return outcome
    note = f"file {name} differs between two runs of the original and was not compared"
    return FileOutcome(note=note, compared=False)


def _changed(name: str, original: WrittenFiles, rewritten: WrittenFiles) -> str:
    if name not in rewritten.marks:
        return f"file {name} is not written"
    if name not in original.marks:
        return f"file {name} is written in addition"
    mine, other = original.content.get(name), rewritten.content.get(name)
    if mine is not None and other is not None and _is_text(mine) and _is_text(other):
        return difference(mine, other, mask_between(b"", b""), f"file {name}") or (
            f"file {name} differs"
        )
    return f"file {name} differs"


def _in_common(name: str, mine: bytes, other: bytes, second: bytes) -> FileOutcome | None:
    """What two runs of the original have in common, in the rewrite's; None if that is unknown."""
    if all(map(_is_text, (mine, other, second))):
        mask = mask_between(mine, second)
        problem = difference(mine, other, mask, f"file {name}")
        words = mask.words(f"file {name}")
        note = words if words.startswith("file ") else f"in file {name}, {words}"
        return FileOutcome(problem, note, compared=not mask.whole)
    timeless = [_without_times(data) for data in (mine, other, second)]
    if timeless[0] is None or timeless[0] != timeless[2]:
        return None
    if timeless[0] != timeless[1]:
        return FileOutcome(f"file {name} differs, not only in its time stamps")
    return FileOutcome(note=f"time stamps and notes inside {name} left out")


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# --------------------------------------------------------------- time stamps
def _without_times(data: bytes) -> object:
    """The content of an archive or image without its time stamps; None for other files."""
    try:
        if data.startswith(b"PK\x03\x04"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
        if data.startswith(b"\x1f\x8b"):
            inside = gzip.decompress(data)
            return _tar_entries(inside) or inside
        if data.startswith(_PNG):
            return [chunk for chunk in _png_chunks(data) if chunk[0] not in _PNG_NOTES]
        return _tar_entries(data)
    except (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return None
    except (struct.error, NotImplementedError):
        return None


def _tar_entries(data: bytes) -> list[tuple[str, int, bytes]] | None:
    if data[257:262] != b"ustar":
        return None
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            files = [(entry, archive.extractfile(entry)) for entry in archive.getmembers()]
            return [(e.name, e.mode, stream.read() if stream else b"") for e, stream in files]
    except tarfile.TarError:
        return None


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_PNG)
    while at + 8 <= len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        yield kind, data[at + 8 : at + 8 + size]
        at += size + 12


# ------------------------------------------------------------------- numbers
def _deviation(name: str, mine: bytes, other: bytes, loose: Loose) -> ErrorSize | None:
    """How far the numbers of a file are apart; None if by more than allowed, or more differs."""
    tolerance = Tolerance(loose.exactness, loose.reduction_length)
    try:
        if name.endswith(".npy"):
            return _arrays_apart(_array(mine), _array(other), tolerance)
        if name.endswith(".npz"):
            return _archives_apart(mine, other, tolerance)
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile):
        return None
    if not (_is_text(mine) and _is_text(other)):
        return None
    nothing = mask_between(b"", b"")
    if difference(mine, other, nothing, name, loose.relative) is not None:
        return None
    return ErrorSize(relative=loose.relative)


def _archives_apart(mine: bytes, other: bytes, tolerance: Tolerance) -> ErrorSize | None:
    one = np.load(io.BytesIO(mine), allow_pickle=False)
    two = np.load(io.BytesIO(other), allow_pickle=False)
    if one.files != two.files:
        return None
    error = ErrorSize()
    for key in one.files:
        size = _arrays_apart(np.asarray(one[key]), np.asarray(two[key]), tolerance)
        if size is None:
            return None
        error = larger(error, size)
    return error


def _arrays_apart(
    mine: npt.NDArray[Any], other: npt.NDArray[Any], tolerance: Tolerance
) -> ErrorSize | None:
    if mine.dtype != other.dtype or mine.shape != other.shape:
        return None
    try:
        return compare_numbers(mine, other, tolerance, "")
    except ValueError:
        return None


def _array(content: bytes) -> npt.NDArray[Any]:
    return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))


# --------------------------------------------------------------------- names
def same_names(
    original: WrittenFiles, rewritten: WrittenFiles, again: WrittenFiles
) -> tuple[WrittenFiles, WrittenFiles]:
    """The rewrite's files and those of the second run, under the names of the first.

    ``result_093015.csv`` is another name in every run. Where each run writes as many files of new
    names that differ in numbers only, they belong together.
    """
    mine = sorted(original.marks.keys() - again.marks.keys())
    theirs = sorted(rewritten.marks.keys() - original.marks.keys() - again.marks.keys())
    later = sorted(again.marks.keys() - original.marks.keys())
    shapes = [[_shape(name) for name in names] for names in (mine, theirs, later)]
    if not mine or not shapes[0] == shapes[1] == shapes[2] or len(set(shapes[0])) < len(mine):
        return rewritten, again
    return (
        rewritten.renamed(dict(zip(theirs, mine, strict=True))),
        again.renamed(dict(zip(later, mine, strict=True))),
    )


def _shape(name: str) -> str:
    path = PurePath(name)
    # tempfile: eight characters of any kind.
    stem = "tmp" if path.stem.startswith("tmp") else skeleton(path.stem.replace("-", " "))
    return f"{path.parent}/{stem}{path.suffix}"

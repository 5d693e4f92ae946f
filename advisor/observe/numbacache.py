"""What numba compiled in runs of the scratch copy, read before the next run removes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

REMEMBERED = 8
"""Texts whose compiled code is kept in memory: the one that is offered ran among the last."""


@dataclass(frozen=True)
class CompiledFunction:
    """What numba keeps of one function: an index, and a file for each set of types."""

    source: Path
    """The user's file that holds the function."""
    index: str
    """Name of the index, such as ``life.step-12.py311.nbi``."""
    files: Mapping[str, bytes]
    """Name -> content, the index included."""
    stamp: tuple[float, int]
    """Time and size of the source in the scratch copy: some releases know it by them."""
    place: Path
    """The source in the scratch copy: exceptions that compiled code raises may name it."""

    @property
    def function(self) -> str:
        """The function's own name; that of an inner one stands behind ``life.make.locals.``."""
        qualified = self.index.removeprefix(f"{self.source.stem}.").rpartition("-")[0]
        return qualified.rpartition(".")[2]


class LastRuns:
    """Compiled code of the last run of each rewritten text."""

    def __init__(self) -> None:
        self._known: dict[frozenset[tuple[Path, bytes]], tuple[CompiledFunction, ...]] = {}

    def note(self, patched: Mapping[Path, bytes], place: Callable[[Path], Path]) -> None:
        """Read what a run left that has just ended. ``place``: where a user's file lies there."""
        if not patched:
            return
        key = frozenset(patched.items())
        self._known.pop(key, None)
        self._known[key] = tuple(
            function for source in patched for function in read(source, place(source))
        )
        while len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]

    def of(self, patched: Mapping[Path, bytes]) -> tuple[CompiledFunction, ...]:
        """What the last run of exactly these texts left; nothing where none was made."""
        return self._known.get(frozenset(patched.items()), ())


def read(source: Path, place: Path) -> tuple[CompiledFunction, ...]:
    """What numba keeps of one file, if it does so beside it; ``place``: its scratch copy."""
    folder = place.parent / "__pycache__"
    try:
        known = place.stat()
        names = sorted(entry.name for entry in folder.iterdir())
        indices = [n for n in names if n.startswith(f"{place.stem}.") and n.endswith(".nbi")]
        return tuple(
            CompiledFunction(
                source,
                index,
                {name: (folder / name).read_bytes() for name in _files_of(index, names)},
                (known.st_mtime, known.st_size),
                place,
            )
            for index in indices
        )
    except OSError:  # numba keeps it elsewhere, or the program removed it: as if nothing were kept
        return ()


def _files_of(index: str, names: list[str]) -> list[str]:
    base = index.removesuffix("nbi")
    return [n for n in names if n == index or (n.startswith(base) and n.endswith(".nbc"))]

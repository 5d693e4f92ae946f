"""What trial runs do outside the script's folder: what went to a place of its own, what was not
let through."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..model import Target
from . import launch, redirect
from .trees import mark, remove_tree, walk
from .userfiles import user_files

_HINTS = re.compile(
    rb"""["'](?:/|~|\.\./|\.\.["'])|expanduser|\bhome\(|environ|getenv|pardir|\.parent\b|chdir"""
)
"""Words of scripts that may write outside their folder: absolute paths, the home folder, ``..``"""

_WORDS = {
    "write": "it writes {what}, outside its folder{place}, which trial runs must not do",
    "network": "it talks to the network ({what}{place}), which trial runs must not repeat",
    "signal": "it sends a signal to process {what}{place}, which is none of its own",
}


@dataclass(frozen=True)
class Attempted:
    """One line of the guard's log."""

    kind: str
    """``write``, ``network``, ``signal``: refused. ``program``, ``shared memory`` (mapped),
    ``made in shared memory`` (a file or folder that was not there): only noted."""
    what: str
    """A path, an address, a process id, a program's name."""
    line: int | None = None
    file: Path | None = None

    @property
    def refused(self) -> bool:
        """Whether the trial run went another way than the real one."""
        return self.kind in _WORDS

    def words(self, script: Path) -> str:
        """One sentence about a refused one; ``script``: the file whose name need not be told."""
        place = "" if self.line is None else f" (line {self.line})"
        if self.line is not None and self.file is not None and self.file.name != script.name:
            place = f" (line {self.line} of {self.file.name})"
        if self.kind == "network":
            place = place.replace(" (", ", ").replace(")", "")
        return _WORDS[self.kind].format(what=self.what, place=place)


def read_attempts(log: Path) -> tuple[Attempted, ...]:
    """The log of one run, each thing once."""
    try:
        lines = log.read_bytes().splitlines()
    except OSError:
        return ()
    found: dict[tuple[str, str], Attempted] = {}
    for text in map(os.fsdecode, lines):
        kind, _, rest = text.partition("\t")
        place, _, what = rest.partition("\t")
        number, _, file = place.partition(":")
        attempt = Attempted(
            kind, what, int(number) if number.isdigit() else None, Path(file) if file else None
        )
        found.setdefault((kind, what), attempt)
    return tuple(found.values())


def may_write_elsewhere(target: Target) -> bool:
    """Whether text or arguments name places outside; only then ``open`` and the like are replaced.

    A script for which this is wrong is run once more with redirection when it was refused.
    """
    if any(arg.startswith(("/", "~", "..")) or "=/" in arg for arg in target.args):
        return True
    for path in user_files(target):
        try:
            if _HINTS.search(path.read_bytes()):
                return True
        except OSError:
            continue
    return False


def guard_text(
    folder: Path,
    writable: Iterable[Path],
    moved: tuple[tuple[str, str], ...],
    log: Path,
    elsewhere: Path | None,
) -> str:
    """Text of the ``sitecustomize.py`` of trial runs. ``elsewhere``: where to redirect to."""
    text = Path(launch.__file__).read_text(encoding="utf-8")
    places = tuple(map(str, writable))
    call = f"start({str(folder)!r}, {places!r}, {moved!r}, {str(log)!r})\n"
    if elsewhere is None:
        return f"{text}\n\n{call}"
    more = Path(redirect.__file__).read_text(encoding="utf-8")
    more = more.replace("from __future__ import annotations\n", "")
    overlay = f"Overlay(_guard, {str(elsewhere)!r}, {moved!r})"
    return f"{text}\n\n{more}\n\n_guard = {call}redirect({overlay})\n"


class Elsewhere:
    """The files that a run wrote outside its folder, below ``folder/there``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.there = folder / "there"
        self._gone = folder / "gone"
        folder.mkdir(mode=0o700)

    def clear(self) -> None:
        """Forget the last run."""
        for place in (self.there, self._gone):
            if place.exists():
                remove_tree(place)

    def file(self, original: Path) -> Path | None:
        """Where a file that was written elsewhere lies; None if it was not."""
        place = Path(f"{self.there}{original}")
        return place if original.is_absolute() and place.is_file() else None

    def changes(self) -> dict[str, str]:
        """Path without the leading slash -> content digest, or what else became of it."""
        found: dict[str, str] = {}
        for root, removed in ((self._gone, True), (self.there, False)):
            for entry in walk(root) if root.exists() else ():
                name = os.path.relpath(entry.path, root)
                now = mark(entry)
                if now.kind == "folder":
                    if not removed and not Path(f"/{name}").is_dir():
                        found[name] = "folder"
                    continue
                found[name] = "removed" if removed else digest(Path(entry.path), now.kind)
        return found


def digest(path: Path, kind: str) -> str:
    """What a file holds, in a word that can be compared."""
    if kind == "link":
        return f"link to {path.readlink()}"
    if kind == "other":
        return "special file"
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"

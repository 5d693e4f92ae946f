"""Folder trees as the mirror needs them: marks that tell changes, copies, removal."""

# tens of thousands of entries: strings are several times faster than paths
# ruff: noqa: PTH101, PTH102, PTH108, PTH112, PTH114, PTH115, PTH211
# ruff: noqa: PTH118, PTH120, PTH123

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

CACHE_SUFFIXES = (".pyc", ".nbi", ".nbc")
NUMBA_SUFFIXES = (".nbi", ".nbc")
FICLONE = 0x40049409
"""Linux ioctl that shares a file's blocks copy-on-write."""


@dataclass(frozen=True)
class Mark:
    """What tells whether an entry is still the one we made. ``ctime`` cannot be set by programs."""

    kind: str
    mode: int
    size: int = 0
    mtime: int = 0
    ctime: int = 0
    inode: int = 0
    target: str = ""


State = Mapping[str, Mark]
"""Path relative to the tree's root -> mark."""


def mark(path: Path | os.DirEntry[str]) -> Mark:
    """The mark of one entry. Raises OSError if it is gone."""
    known = path.stat(follow_symlinks=False)
    mode = stat.S_IMODE(known.st_mode)
    if stat.S_ISDIR(known.st_mode):
        return Mark("folder", mode)
    if stat.S_ISLNK(known.st_mode):
        return Mark("link", 0, target=os.readlink(path))
    kind = "file" if stat.S_ISREG(known.st_mode) else "other"
    times = (known.st_mtime_ns, known.st_ctime_ns)
    return Mark(kind, mode, known.st_size, *times, known.st_ino)


def scan(root: Path) -> dict[str, Mark]:
    """Marks of everything below ``root``, links not followed, caches left out."""
    found: dict[str, Mark] = {}
    start = len(os.path.join(root, ""))
    for entry in walk(root):
        name = entry.path[start:]
        with contextlib.suppress(FileNotFoundError):
            found[name] = mark(entry)
    return found


def walk(root: Path) -> Iterator[os.DirEntry[str]]:
    """Entries below ``root``, a folder before what is in it; links not followed, no caches."""
    pending = [str(root)]
    while pending:
        folder = pending.pop()
        if not os.access(folder, os.R_OK | os.X_OK):
            os.chmod(folder, 0o700)  # a program locked it
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name == "__pycache__" or entry.name.endswith(CACHE_SUFFIXES):
                    continue
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def drop_numba_caches(root: Path) -> None:
    """Remove what ``@njit(cache=True)`` kept."""
    for folder, folders, files in os.walk(root):
        for name in files:
            if name.endswith(NUMBA_SUFFIXES):
                os.unlink(os.path.join(folder, name))
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(folder, name))]


Moved = Callable[[str], str]
"""Where a link leads in a copy, by where it leads in what is copied."""


def copy_all(source: Path, target: Path, moved: Moved = str) -> None:
    """Copy a tree of ours; ``target`` must not exist."""
    target.mkdir()
    start = len(os.path.join(source, ""))
    for entry in walk(source):  # parents come before their entries
        place = os.path.join(target, entry.path[start:])
        if entry.is_symlink():  # most entries are, thousands where folders beside it are large
            os.symlink(moved(os.readlink(entry.path)), place)
            continue
        if entry.is_dir():
            os.mkdir(place)
        copy_entry(Path(entry.path), Path(place), moved)


def copy_entry(source: Path, place: Path, moved: Moved = str) -> None:
    """Copy a file or link, or set the mode of a folder that exists."""
    known = source.lstat()
    if stat.S_ISLNK(known.st_mode):
        place.symlink_to(moved(os.readlink(source)))
    elif stat.S_ISDIR(known.st_mode):
        os.chmod(place, stat.S_IMODE(known.st_mode))
    else:
        if known.st_size < (1 << 20) or not clone(str(source), place):
            shutil.copyfile(source, place)
        os.chmod(place, stat.S_IMODE(known.st_mode))
        os.utime(place, ns=(known.st_atime_ns, known.st_mtime_ns))


def clone(source: str, place: Path) -> bool:
    """Share the blocks copy-on-write; False where the file system cannot."""
    if sys.platform != "linux":
        return False
    with open(source, "rb") as old, place.open("wb") as new:
        try:
            fcntl.ioctl(new, FICLONE, old.fileno())
        except OSError:
            return False
    return True


def unlink(place: Path) -> None:
    """Remove whatever is there."""
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.is_dir():
        remove_tree(place)
    elif os.path.lexists(place):
        place.unlink()


def remove_tree(folder: Path) -> None:
    """Remove a folder of ours, locked sub-folders too."""

    def unlock(function: object, path: str, error: object) -> None:
        folder = os.path.isdir(path) and not os.path.islink(path)
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            if folder:
                os.chmod(path, 0o700)
        with contextlib.suppress(OSError):
            if folder:
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)

    if sys.version_info >= (3, 12):
        shutil.rmtree(folder, onexc=unlock)
    else:
        shutil.rmtree(folder, onerror=unlock)

"""Segments of shared memory that trial runs leave behind (Linux: files below ``/dev/shm``)."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Set
from pathlib import Path

PLACE = Path("/dev/shm")


class Segments:
    """What was there before a run. Made anew for each.

    Counter-example: ``SharedMemory(name="grid", create=True)`` in a run that is stopped; the next
    run would end with FileExistsError.
    """

    def __init__(self) -> None:
        self._before = _names()

    def remove(self, named: Iterable[str], mapped: Set[int]) -> None:
        """Remove what is new, not in use, and one of ``named`` (paths) or ``mapped`` (inodes).

        Nothing else, `remove_made` apart: people keep files of their own there, as on a fast disk.
        """
        names = set(named)
        new: dict[Path, int] = {}
        for name in _names() - self._before if names or mapped else ():
            place = PLACE / name
            with contextlib.suppress(OSError):
                inode = place.stat().st_ino
                if str(place) in names or inode in mapped:
                    new[place] = inode
        used = _in_use() if new else set()
        for place, inode in new.items():
            with contextlib.suppress(OSError):
                if inode not in used:
                    place.unlink()

    def remove_made(self, paths: Iterable[str]) -> None:
        """Remove files that the run made here by name, unless in use, and folders, if empty.

        Counter-example: results that are kept on this disk; the next run of the same program, or
        of a rewrite, would find them and be quicker than any run of the user's.
        """
        places = sorted(map(Path, paths), reverse=True)  # what is inside comes before its folder
        used = _in_use() if places else set()
        for place in places:
            with contextlib.suppress(OSError):
                found = place.lstat()
                if stat.S_ISDIR(found.st_mode):
                    place.rmdir()
                elif found.st_ino not in used:
                    place.unlink()


def _in_use() -> set[int]:
    return mapped_by(Path("/proc").glob("[0-9]*"))


def _names() -> set[str]:
    try:
        return set(os.listdir(PLACE))  # noqa: PTH208
    except OSError:
        return set()


def mapped_by(processes: Iterable[Path]) -> set[int]:
    """Inodes below the place that processes, given by their ``/proc`` folders, have mapped or open.

    Not names: a named semaphore is made under another one.
    """
    found: set[int] = set()
    for process in processes:
        with contextlib.suppress(OSError, ValueError):
            lines = (process / "maps").read_text(errors="replace").splitlines()
            found.update(int(line.split()[4]) for line in lines if f" {PLACE}/" in line)
        with contextlib.suppress(OSError):
            for entry in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if str(entry.readlink()).startswith(f"{PLACE}/"):
                        found.add(entry.stat().st_ino)
    return found

"""A private copy of the folders a program works in, that keeps their absolute paths.

``MIRROR/home/u/proj`` is a real copy of ``/home/u/proj``; what lies beside it and beside its
ancestors is linked to the original, so that ``../data`` resolves as it does for the user. There
are two such trees: ``pristine`` is filled once, before the program has run at all; ``run`` is
where programs run, always at the same path, and is reset from ``pristine``.
"""

# tens of thousands of entries: strings are several times faster than paths
# ruff: noqa: PTH100, PTH101, PTH110, PTH115, PTH116
# ruff: noqa: PTH117, PTH118, PTH120, PTH208, PTH211

from __future__ import annotations

import contextlib
import copy
import errno
import hashlib
import os
import re
import shutil
import stat
import time
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .trees import (
    Mark,
    Moved,
    State,
    clone,
    copy_all,
    copy_entry,
    drop_numba_caches,
    mark,
    scan,
    unlink,
)

PREFIX = "gpuadvise-"
"""How the names of all our scratch folders begin."""

LINKED_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".venv", "venv", ".tox", ".nox", "node_modules", "site-packages"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".cache", ".conda", ".npm", ".local"),
        *(".cargo", ".rustup", ".idea", ".vscode", ".ipynb_checkpoints", ".hypothesis", ".eggs"),
    }
)
"""Folders that programs do not write into: linked, not copied."""


@dataclass(frozen=True)
class Limits:
    """Bounds of a copy; what lies beyond is linked to the original."""

    file_bytes: int = 32 << 20
    total_bytes: int = 512 << 20
    files: int = 10_000
    seconds: float = 3.0
    links: int = 4_000
    """Entries of one ancestor that are linked."""
    link_hidden: bool = False
    """Folders whose name begins with a dot are linked."""


SMALL = Limits(total_bytes=64 << 20, files=2_000, seconds=0.8, link_hidden=True)
"""For folders that hold much else: the home folder, the folder for temporary files."""


def is_scratch(name: str) -> bool:
    """Whether a folder is called as the scratch folders of this tool are (and not "-main")."""
    return re.match(rf"{PREFIX}\d+-", name) is not None


class Tally:
    """What one copy has taken so far."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._files = self.bytes = 0
        self._deadline = time.monotonic() + limits.seconds

    def full(self) -> bool:
        """Whether nothing more can be taken."""
        limits = self._limits
        spent = self._files >= limits.files or self.bytes >= limits.total_bytes
        return spent or time.monotonic() > self._deadline

    def admit(self, size: int) -> bool:
        """Take a file of ``size`` bytes, if it fits."""
        over = size > self._limits.file_bytes or self.bytes + size > self._limits.total_bytes
        if over or self.full():
            return False
        self._files += 1
        self.bytes += size
        return True


class Mirror:
    """The two trees below ``base``."""

    def __init__(self, base: Path, folders: Sequence[Path], limits: Limits | None = None) -> None:
        self.base = base
        self.pristine = base / "pristine"
        self.run = base / "run"
        self.limits = limits or Limits()
        self.notes: list[str] = []
        self.roots: list[Path] = []
        self._copied: set[str] = set()
        self._expected: dict[str, Mark] = {}
        self._link_hidden = False
        self._linked_files = 0
        self._linked_folders = 0
        self.bytes = 0
        """What the copied files take, in one of the two trees."""
        self._moved: Moved = str
        self.pristine.mkdir()
        for folder in folders:
            self._add_root(Path(os.path.abspath(folder)))
        self._note_links()

    def twin(self, base: Path) -> Mirror:
        """One more tree to run in, below ``base``, from this snapshot, whatever has run since.

        Nothing may be patched there: the snapshot stays this one's.
        """
        other = copy.copy(self)
        other.base, other.run = base, base / "run"
        other.notes, other.roots = list(self.notes), list(self.roots)
        other._expected = {}
        ours, theirs = str(self.run) + os.sep, str(other.run) + os.sep
        other._moved = lambda text: theirs + text[len(ours) :] if text.startswith(ours) else text
        return other

    # ------------------------------------------------------------ paths
    def path(self, original: Path) -> Path:
        """Where an original path lies in the run tree."""
        absolute = os.path.abspath(original)
        if self._inside(absolute, str(self.run)):
            return Path(absolute)
        return Path(str(self.run) + absolute)

    def original(self, path: Path) -> Path:
        """The original of a path of the run tree; any other path is its own original."""
        absolute = os.path.abspath(path)
        if not self._inside(absolute, str(self.run)):
            return Path(path)
        return Path(absolute[len(str(self.run)) :] or "/")

    def moved(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a copied folder and its copy, the deepest first."""
        roots = sorted({str(root) for root in self.roots}, key=len, reverse=True)
        return tuple((root, str(self.run) + root) for root in roots if root != "/")

    @staticmethod
    def _inside(path: str, folder: str) -> bool:
        return path == folder or path.startswith(folder + os.sep)

    # ------------------------------------------------------------ snapshot
    def _add_root(self, folder: Path) -> None:
        real = Path(os.path.realpath(folder))
        self._open_ancestors(folder)
        for root in (folder, real):
            if root not in self.roots:
                self.roots.append(root)
        if str(real) in self._copied:
            return
        if real == Path("/"):
            self._open_folder(real)
            return
        self._open_ancestors(real)
        limits = SMALL if self._is_wide(real) else self.limits
        self._copy_tree(real, self._fitting(limits))

    def _fitting(self, limits: Limits) -> Limits:
        """No more than a quarter of the free disk: there are two copies, and runs write as well."""
        free = shutil.disk_usage(self.base).free
        return replace(limits, total_bytes=min(limits.total_bytes, free // 4))

    @staticmethod
    def _is_wide(folder: Path) -> bool:
        home = Path(os.path.realpath(Path.home()))
        temporary = Path(os.path.realpath(os.environ.get("TMPDIR") or "/tmp"))
        return folder in (home, temporary) or folder in home.parents

    def _place(self, original: str) -> Path:
        return Path(str(self.pristine) + original)

    def _open_ancestors(self, folder: Path) -> None:
        """Make every ancestor of ``folder`` a real folder of links; links on the way stay links."""
        for ancestor in reversed(folder.parents):
            if ancestor.is_symlink():
                self._link_within(ancestor)
                real = Path(os.path.realpath(ancestor))
                return self._open_ancestors(real / folder.relative_to(ancestor))
            self._open_folder(ancestor)
        if folder.is_symlink():
            self._link_within(folder)
        return None

    def _link_within(self, link: Path) -> None:
        """Mirror a link to a folder that is copied: it must lead to the copy."""
        place = self._place(str(link))
        unlink(place)
        place.symlink_to(str(self.run) + os.path.realpath(link))

    def _open_folder(self, folder: Path) -> None:
        place = self._place(str(folder))
        if place.is_dir() and not place.is_symlink():
            if folder != Path("/") or any(place.iterdir()):
                return
        else:
            unlink(place)
            place.mkdir()
        try:
            names = os.listdir(folder)
        except OSError:
            return  # may be passed through but not listed
        for name in names[: self.limits.links]:
            if not is_scratch(name):
                # One call each: there may be thousands.
                with contextlib.suppress(FileExistsError):
                    os.symlink(os.path.join(folder, name), os.path.join(place, name))

    def _link(self, original: str) -> None:
        place = self._place(original)
        if not os.path.lexists(place):
            place.symlink_to(original)

    def _copy_tree(self, root: Path, limits: Limits) -> None:
        """Breadth first, so that what is nearest to the program is copied if not all can be."""
        tally = Tally(limits)
        self._link_hidden = limits.link_hidden
        device = root.stat().st_dev
        queue = deque([str(root)])
        while queue:
            folder = queue.popleft()
            if folder in self._copied:
                continue
            if tally.full() or not os.access(folder, os.R_OK | os.X_OK):
                self._link(folder)
                self._linked_folders += 1
                continue
            self._clear_links(folder)
            place = self._place(folder)
            place.mkdir(exist_ok=True)
            self._copied.add(folder)
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        self._copy_link(entry.path, root)
                    elif entry.is_dir():
                        self._enter(entry, device, queue)
                    elif entry.is_file():
                        known = entry.stat()
                        fits = tally.admit(known.st_size)
                        self._copy_file(entry.path, known, clone_only=not fits)
            os.chmod(place, stat.S_IMODE(os.stat(folder).st_mode) | 0o700)
        self.bytes += tally.bytes

    def _enter(self, entry: os.DirEntry[str], device: int, queue: deque[str]) -> None:
        if entry.name == "__pycache__" or is_scratch(entry.name):
            return  # made anew; a scratch folder, perhaps this one
        foreign = entry.stat().st_dev != device  # a mount: /proc, a network drive
        venv = os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
        hidden = self._link_hidden and entry.name.startswith(".")
        if entry.name in LINKED_FOLDERS or foreign or venv or hidden:
            self._link(entry.path)
            return
        queue.append(entry.path)

    def _clear_links(self, folder: str) -> None:
        """Make room for copies in what was so far a link, or an ancestor filled with links."""
        place = self._place(folder)
        if place.is_symlink():
            place.unlink()
        elif place.is_dir() and folder not in self._copied:
            for entry in place.iterdir():
                if entry.is_symlink():
                    entry.unlink()

    def _copy_link(self, original: str, root: Path) -> None:
        target = os.readlink(original)
        full = os.path.normpath(os.path.join(os.path.dirname(original), target))
        if self._inside(full, str(root)):
            text = str(self.run) + full if os.path.isabs(target) else target
        else:
            text = full
        place = self._place(original)
        if not os.path.lexists(place):
            place.symlink_to(text)

    def _copy_file(self, original: str, known: os.stat_result, *, clone_only: bool) -> None:
        """Copy one file, or link it where it may not be copied or cannot be read."""
        place = self._place(original)
        unlink(place)
        try:
            if clone_only:
                if not clone(original, place):
                    place.unlink(missing_ok=True)
                    place.symlink_to(original)
                    self._linked_files += 1
                    return
            else:
                shutil.copyfile(original, place)
        except OSError:
            # Unreadable, or gone meanwhile: the program will see the original's error.
            place.unlink(missing_ok=True)
            place.symlink_to(original)
            return
        os.chmod(place, stat.S_IMODE(known.st_mode) | 0o600)
        os.utime(place, ns=(known.st_atime_ns, known.st_mtime_ns))

    def _note_links(self) -> None:
        counts = ((self._linked_files, "large file"), (self._linked_folders, "folder"))
        words = [f"{n} {word}{'s' if n > 1 else ''}" for n, word in counts if n]
        if words:
            self.notes.append(
                f"linked into the scratch copy, not copied: {' and '.join(words)}; trial runs read"
                " the originals and cannot write them"
            )

    # ------------------------------------------------------------ run tree
    def fresh(self, patched: Mapping[Path, bytes], *, keep_caches: bool = False) -> State:
        """Reset the run tree to the snapshot, write ``patched`` (original path -> bytes).

        Compiled ``.pyc`` files stay (a patched file's time stamp follows from its content, so none
        can be stale); numba's caches go unless ``keep_caches``. Returns the tree's state, against
        which ``changes`` compares.
        """
        for path in patched:
            self._adopt(path)
        if not self.run.exists():
            copy_all(self.pristine, self.run, self._moved)
            self._expected = dict(scan(self.run))
        else:
            self._restore()
        if not keep_caches:
            drop_numba_caches(self.run)
        state = dict(self._expected)
        for path, data in patched.items():
            place = self.path(path)
            if not self._inside(os.path.realpath(place.parent), str(self.run)):
                # Too much to copy there: the place is a link, and behind it is the user's file.
                raise PermissionError(errno.EACCES, "cannot be patched in the copy", str(path))
            unlink(place)
            place.write_bytes(data)
            stamp = 1_000_000_000 + zlib.crc32(data) % 500_000_000
            os.utime(place, (stamp, stamp))
            state[str(Path(os.path.realpath(place)).relative_to(self.run))] = mark(place)
        return state

    def _adopt(self, path: Path) -> None:
        """Copy the folder of a file that so far is linked only: never write through the link."""
        real = Path(os.path.realpath(self.original(path).parent))
        if str(real) in self._copied:
            return
        shutil.rmtree(self.run, ignore_errors=True)
        self._add_root(real)

    def _restore(self) -> None:
        current = scan(self.run)
        for name in sorted(current.keys() - self._expected.keys(), key=len, reverse=True):
            unlink(self.run / name)
        for name in sorted(self._expected):
            if current.get(name) == self._expected[name]:
                continue
            source, place = self.pristine / name, self.run / name
            if self._expected[name].kind != "folder":
                unlink(place)
            elif place.is_symlink() or not place.is_dir():
                unlink(place)
                place.mkdir()
            copy_entry(source, place, self._moved)
            self._expected[name] = mark(place)

    def changes(self, before: State) -> dict[str, str]:
        """Files that were made, changed or removed since ``before``, with digests.

        A file that was rewritten with the same content counts: a program that failed to write it
        would leave the same content behind.
        """
        after = scan(self.run)
        found: dict[str, str] = {}
        for name, old in before.items():
            if name not in after:
                found[name] = "removed"
            elif after[name] != old:
                found[name] = self._digest(name, after[name])
        for name in after.keys() - before.keys():
            found[name] = self._digest(name, after[name])
        return dict(sorted(found.items()))

    def _digest(self, name: str, now: Mark) -> str:
        if now.kind == "folder":
            return "folder"
        if now.kind == "link":
            return f"link to {now.target}"
        if now.kind == "other":
            return "special file"
        with contextlib.suppress(OSError), (self.run / name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
        return "unreadable"

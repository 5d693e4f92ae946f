"""A private copy of the folders a program works in, that keeps their absolute paths.

``MIRROR/home/u/proj`` is a real copy of ``/home/u/proj``; what lies beside it and beside its
ancestors is linked to the original, so that ``../data`` resolves as it does for the user. There
are two such trees: ``pristine`` is filled once, before the program has run at all; ``run`` is
where programs run, always at the same path, and is reset from ``pristine``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import sys
import time
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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

CACHE_SUFFIXES = (".pyc", ".nbi", ".nbc")
NUMBA_SUFFIXES = (".nbi", ".nbc")
FICLONE = 0x40049409
"""Linux ioctl that shares a file's blocks copy-on-write."""


@dataclass(frozen=True)
class Limits:
    """Bounds of a copy; what lies beyond is linked to the original."""

    file_bytes: int = 32 << 20
    total_bytes: int = 512 << 20
    files: int = 20_000
    seconds: float = 3.0
    links: int = 4_000
    """Entries of one ancestor that are linked."""


SMALL = Limits(total_bytes=64 << 20, files=2_000, seconds=0.8)
"""For folders that hold much else: the home folder, the folder for temporary files."""


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
        self._linked_files = 0
        self._linked_folders = 0
        self.pristine.mkdir()
        for folder in folders:
            self._add_root(Path(os.path.abspath(folder)))
        self._note_links()

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
        self._copy_tree(real, limits)

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
        _unlink(place)
        place.symlink_to(str(self.run) + os.path.realpath(link))

    def _open_folder(self, folder: Path) -> None:
        place = self._place(str(folder))
        if place.is_dir() and not place.is_symlink():
            if folder != Path("/") or any(place.iterdir()):
                return
        else:
            _unlink(place)
            place.mkdir()
        try:
            names = os.listdir(folder)
        except OSError:
            return  # may be passed through but not listed
        for name in names[: self.limits.links]:
            if not name.startswith(PREFIX):
                self._link(os.path.join(folder, name))

    def _link(self, original: str) -> None:
        place = self._place(original)
        if not os.path.lexists(place):
            place.symlink_to(original)

    def _copy_tree(self, root: Path, limits: Limits) -> None:
        """Breadth first, so that what is nearest to the program is copied if not all can be."""
        deadline = time.monotonic() + limits.seconds
        files = size = 0
        device = root.stat().st_dev
        _unlink(self._place(str(root)))
        queue = deque([str(root)])
        while queue:
            folder = queue.popleft()
            if folder in self._copied:
                continue
            place = self._place(folder)
            full = files >= limits.files or size >= limits.total_bytes
            if full or time.monotonic() > deadline or not os.access(folder, os.R_OK | os.X_OK):
                self._link(folder)
                self._linked_folders += 1
                continue
            place.mkdir(exist_ok=True)
            self._copied.add(folder)
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                        continue  # a scratch folder, perhaps this one
                    if entry.is_symlink():
                        self._copy_link(entry.path, root)
                    elif entry.is_dir():
                        self._enter(entry, device, queue)
                    elif entry.is_file():
                        known = entry.stat()
                        files += 1
                        over = (
                            known.st_size > limits.file_bytes
                            or size + known.st_size > limits.total_bytes
                            or files > limits.files
                            or time.monotonic() > deadline
                        )
                        if self._copy_file(entry.path, known, clone_only=over):
                            size += 0 if over else known.st_size
            os.chmod(place, stat.S_IMODE(os.stat(folder).st_mode) | 0o700)

    def _enter(self, entry: os.DirEntry[str], device: int, queue: deque[str]) -> None:
        if entry.name == "__pycache__":
            return
        place = self._place(entry.path)
        foreign = entry.stat().st_dev != device  # a mount: /proc, a network drive
        venv = os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
        if entry.name in LINKED_FOLDERS or foreign or venv:
            self._link(entry.path)
            return
        if not place.is_symlink() and place.is_dir() and entry.path not in self._copied:
            # An ancestor of an earlier root, so far filled with links.
            for link in place.iterdir():
                if link.is_symlink():
                    link.unlink()
        queue.append(entry.path)

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

    def _copy_file(self, original: str, known: os.stat_result, *, clone_only: bool) -> bool:
        """Copy one file, or link it. False if it was linked."""
        place = self._place(original)
        _unlink(place)
        try:
            if clone_only:
                if not _clone(original, place):
                    place.unlink(missing_ok=True)
                    place.symlink_to(original)
                    self._linked_files += 1
                    return False
            else:
                shutil.copyfile(original, place)
        except OSError:
            # Unreadable, or gone meanwhile: the program will see the original's error.
            place.unlink(missing_ok=True)
            place.symlink_to(original)
            return False
        os.chmod(place, stat.S_IMODE(known.st_mode) | 0o600)
        os.utime(place, ns=(known.st_atime_ns, known.st_mtime_ns))
        return True

    def _note_links(self) -> None:
        if self._linked_files or self._linked_folders:
            self.notes.append(
                f"{self._linked_files} large files and {self._linked_folders} folders are linked"
                " into the scratch copy, where they can be read but not written"
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
            _copy_all(self.pristine, self.run)
            self._expected = dict(scan(self.run))
        else:
            self._restore()
        if not keep_caches:
            _drop_numba_caches(self.run)
        state = dict(self._expected)
        for path, data in patched.items():
            place = self.path(path)
            _unlink(place)
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
            _unlink(self.run / name)
        for name in sorted(self._expected):
            if current.get(name) == self._expected[name]:
                continue
            source, place = self.pristine / name, self.run / name
            if self._expected[name].kind != "folder":
                _unlink(place)
            elif place.is_symlink() or not place.is_dir():
                _unlink(place)
                place.mkdir()
            _copy_entry(source, place)
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


# ------------------------------------------------------------ file system helpers
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
    for entry in _walk(root):
        name = os.path.relpath(entry.path, root)
        with contextlib.suppress(FileNotFoundError):
            found[name] = mark(entry)
    return found


def _walk(root: Path) -> Iterator[os.DirEntry[str]]:
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


def _drop_numba_caches(root: Path) -> None:
    for folder, folders, files in os.walk(root):
        for name in files:
            if name.endswith(NUMBA_SUFFIXES):
                os.unlink(os.path.join(folder, name))
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(folder, name))]


def _copy_all(source: Path, target: Path) -> None:
    target.mkdir()
    for entry in _walk(source):  # parents come before their entries
        place = target / os.path.relpath(entry.path, source)
        if entry.is_dir(follow_symlinks=False):
            place.mkdir()
        _copy_entry(Path(entry.path), place)


def _copy_entry(source: Path, place: Path) -> None:
    """Copy a file or link, or set the mode of a folder that exists."""
    known = source.lstat()
    if stat.S_ISLNK(known.st_mode):
        place.symlink_to(os.readlink(source))
    elif stat.S_ISDIR(known.st_mode):
        os.chmod(place, stat.S_IMODE(known.st_mode))
    else:
        if known.st_size < (1 << 20) or not _clone(str(source), place):
            shutil.copyfile(source, place)
        os.chmod(place, stat.S_IMODE(known.st_mode))
        os.utime(place, ns=(known.st_atime_ns, known.st_mtime_ns))


def _clone(source: str, place: Path) -> bool:
    """Share the blocks copy-on-write; False where the file system cannot."""
    if sys.platform != "linux":
        return False
    import fcntl

    with open(source, "rb") as old, place.open("wb") as new:
        try:
            fcntl.ioctl(new, FICLONE, old.fileno())
        except OSError:
            return False
    return True


def _unlink(place: Path) -> None:
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
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o700, follow_symlinks=True) if not os.path.islink(path) else None
        with contextlib.suppress(OSError):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)

    if sys.version_info >= (3, 12):
        shutil.rmtree(folder, onexc=unlock)
    else:
        shutil.rmtree(folder, onerror=unlock)

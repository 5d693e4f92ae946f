"""Inside a trial run: what the program writes outside its folder goes to a place of its own.

``/tmp/out.csv`` and ``~/results/x.npy`` lie below ``OVERLAY/there``, are found there when they are
read again, and are compared like any file beside the script. Files that exist are copied there
when they are first changed; removed ones leave a mark below ``OVERLAY/gone``. All state is on disk,
so it holds for forked and started Python processes. C libraries and other programs do not see it.

Like ``launch.py``, after whose text this one is put, it is copied into the scratch folder and may
import nothing. It is used only where a script may write elsewhere: it replaces ``open`` and some
functions of ``os``.
"""

# pathlib is one of the imports that may not happen here
# ruff: noqa: PTH120

from __future__ import annotations

import builtins
import io
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .launch import WRITES, Guard, _readlink, real_path

COPIED_UP = 64 << 20
"""Bytes of a file outside that may be copied to be changed; a larger one is refused."""

_open, _os_open, _lstat, _stat, _access = builtins.open, os.open, os.lstat, os.stat, os.access
_listdir, _scandir, _mkdir, _unlink, _rmdir = (
    os.listdir,
    os.scandir,
    os.mkdir,
    os.unlink,
    os.rmdir,
)


def _kind(path: str) -> int:
    """File type bits, links not followed; 0 if there is nothing."""
    try:
        return stat.S_IFMT(_lstat(path).st_mode)
    except OSError:
        return 0


def _target(path: str) -> str:
    """Where a link leads; empty if it is none."""
    try:
        return _readlink(path)
    except OSError:
        return ""


class Overlay:
    """Says where an operation on a path is to happen instead."""

    def __init__(self, guard: Guard, root: str, moved: tuple[tuple[str, str], ...]) -> None:
        self.guard = guard
        self.moved = moved
        # Where the copies of all absolute paths begin.
        self.run = moved[0][1][: -len(moved[0][0])] if moved else root
        self.there = root + "/there"
        self.gone = root + "/gone"

    # ------------------------------------------------------------ where things are
    def _copied(self, path: str) -> str | None:
        """The copy of a path of the user's folder, where that was copied and not linked."""
        for original, copy in self.moved:
            if path == original or path.startswith(original + "/"):
                place = real_path(copy + path[len(original) :])
                return place if self.guard.inside(place) else None
        return None

    def _removed(self, path: str) -> bool:
        """Whether the program removed it, or a folder that it was in."""
        if not _kind(self.gone):
            return False
        while len(path) > 1:
            if _kind(self.gone + path) == stat.S_IFREG:
                return True
            path = path.rpartition("/")[0]
        return False

    def _exists(self, path: str) -> bool:
        return bool(_kind(self.there + path)) or (bool(_kind(path)) and not self._removed(path))

    def _is_folder(self, path: str) -> bool:
        made = _kind(self.there + path)
        if made:
            return made == stat.S_IFDIR
        return _kind(path) == stat.S_IFDIR and not self._removed(path)

    def _real(self, path: Any, *, follow: bool) -> tuple[Any, str] | None:
        """What to call it, and where it is free of links; None where nothing is to be redirected.

        What lies beside the copied folders is a link of ours to the original; the program shall
        see the original: ``shutil.rmtree("../output")`` fails on a link.
        """
        if isinstance(path, int) or path is None:
            return None
        try:
            real = real_path(os.fsdecode(path), follow=follow)
        except (TypeError, ValueError, OSError):
            return None
        if not follow and real.startswith(self.run + "/"):
            original = real[len(self.run) :]
            if _target(real) == original:
                real = original
                path = os.fsencode(real) if isinstance(path, bytes) else real
        return None if self.guard.writable(real) else (path, real)

    # ------------------------------------------------------------ reading
    def read(self, path: Any, *, follow: bool = True) -> Any:
        """Where to read what the program calls ``path``."""
        found = self._real(path, follow=follow)
        if found is None:
            return path
        path, real = found
        copy = self._copied(real)
        if copy is not None:
            return copy
        place = self.there + real
        kind = _kind(place)
        if kind == stat.S_IFDIR and _kind(real) == stat.S_IFDIR and not self._removed(real):
            return path  # made by us for what is in it
        return place if kind or self._removed(real) else path

    def names(self, path: Any) -> list[str] | None:
        """Entries of a folder that is partly here and partly there; None: an ordinary one."""
        found = self._real(path, follow=True)
        if found is None or self._copied(found[1]) is not None:
            return None
        real = found[1]
        here, gone = _kind(self.there + real), _kind(self.gone + real)
        if not (here or gone) or not self._is_folder(real):
            return None
        known: dict[str, None] = {}
        if _kind(real) == stat.S_IFDIR and not self._removed(real):
            known = dict.fromkeys(n for n in _listdir(real) if not self._removed(f"{real}/{n}"))
        if here:
            known.update(dict.fromkeys(_listdir(self.there + real)))
        return list(known)

    # ------------------------------------------------------------ writing
    def write(
        self,
        path: Any,
        *,
        keep: bool = False,
        new: bool = False,
        follow: bool = True,
        folders: bool = False,
    ) -> Any:
        """Where to write what the program calls ``path``.

        ``keep``: the present content counts. ``new``: it may not exist. ``folders``: it may be a
        folder (chmod, utime). Raises what the operation itself would: FileNotFoundError and so on.
        """
        found = self._real(path, follow=follow)
        if found is None:
            return path
        text, real = found
        copy = self._copied(real)
        if copy is not None:
            return copy
        if new and self._exists(real):
            raise FileExistsError(17, os.strerror(17), text)
        if real.startswith(("/proc/", "/sys/", "/dev/")):
            return path  # no files, whatever they look like: refused
        self._check_parent(real.rpartition("/")[0] or "/", text, new=not self._exists(real))
        place, kind = self.there + real, 0 if self._removed(real) else _kind(real)
        if kind == stat.S_IFDIR and not folders:
            raise IsADirectoryError(21, os.strerror(21), text)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            return path  # a device, a pipe, a link where links are not followed: refused
        if kind == stat.S_IFREG and not _access(real, os.W_OK):
            raise PermissionError(13, os.strerror(13), text)
        if kind == stat.S_IFDIR:
            self._make_folders(place)
        elif keep and kind and not _kind(place) and not self._copy_up(real, place):
            return path
        self._make_folders(os.path.dirname(place))
        self._unmark(real)
        return place

    def _check_parent(self, parent: str, text: str, *, new: bool = True) -> None:
        if not self._is_folder(parent):
            number = 20 if self._exists(parent) else 2
            raise OSError(number, os.strerror(number), text)
        if new and not _kind(self.there + parent) and not _access(parent, os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13), text)

    def _make_folders(self, place: str) -> None:
        if not _kind(place):
            self._make_folders(os.path.dirname(place))
            try:  # noqa: SIM105
                _mkdir(place)
            except FileExistsError:
                pass  # another process of the program was quicker

    def _copy_up(self, real: str, place: str) -> bool:
        known = _stat(real)
        if known.st_size > COPIED_UP:
            return False
        self._make_folders(os.path.dirname(place))
        with _open(real, "rb") as source, _open(place, "wb") as target:
            while piece := source.read(1 << 20):
                target.write(piece)
        copied = _os_open(place, os.O_RDONLY)
        os.fchmod(copied, stat.S_IMODE(known.st_mode) | 0o600)
        os.utime(copied, ns=(known.st_atime_ns, known.st_mtime_ns))
        os.close(copied)
        return True

    def _mark(self, real: str) -> None:
        if _kind(real):
            self._make_folders(os.path.dirname(self.gone + real))
            if not _kind(self.gone + real):
                os.close(_os_open(self.gone + real, os.O_WRONLY | os.O_CREAT, 0o600))

    def _unmark(self, real: str) -> None:
        """It is made again; what was in a folder stays removed."""
        if _kind(self.gone + real) == stat.S_IFREG:
            _unlink(self.gone + real)
            if _kind(real) == stat.S_IFDIR:
                for name in _listdir(real):
                    self._mark(f"{real}/{name}")

    def remove(self, path: Any, *, folder: bool = False) -> Any:
        """Where to remove what the program calls ``path``."""
        found = self._real(path, follow=False)
        if found is None:
            return path
        text, real = found
        copy = self._copied(real)
        if copy is not None:
            return copy
        place = self.there + real
        if not self._exists(real):
            raise FileNotFoundError(2, os.strerror(2), text)
        self._check_parent(real.rpartition("/")[0] or "/", text)
        if folder and not self._is_folder(real):
            raise NotADirectoryError(20, os.strerror(20), text)
        if folder and (self.names(real) or (not _kind(place) and _listdir(real))):
            raise OSError(39, os.strerror(39), text)
        if not folder and self._is_folder(real):
            raise IsADirectoryError(21, os.strerror(21), text)
        if not _kind(place):  # something that the operation can remove
            self._make_folders(place if folder else os.path.dirname(place))
            if not folder:
                os.close(_os_open(place, os.O_WRONLY | os.O_CREAT, 0o600))
        if folder and _kind(self.gone + real) == stat.S_IFDIR:
            self._sweep(self.gone + real)
        self._mark(real)
        return place

    def _sweep(self, folder: str) -> None:
        """Marks below a folder that is itself removed say nothing more."""
        for name in _listdir(folder):
            below = f"{folder}/{name}"
            if _kind(below) == stat.S_IFDIR:
                self._sweep(below)
            else:
                _unlink(below)
        _rmdir(folder)

    def take(self, path: Any) -> Any:
        """Where to take away what is renamed."""
        found = self._real(path, follow=False)
        if found is None:
            return path
        real = found[1]
        if self._copied(real) is not None:
            return self._copied(real)
        place = self.there + real
        if self._is_folder(real) and _kind(real):
            return path  # a whole tree of the user's: refused
        if not self._exists(real):
            raise FileNotFoundError(2, os.strerror(2), found[0])
        if not _kind(place) and not self._copy_up(real, place):
            return path
        self._mark(real)
        return place


class Entries:
    """What ``os.scandir`` gives for a folder that lies in two places."""

    def __init__(self, folders: list[str], names: list[str]) -> None:
        wanted = dict.fromkeys(names)
        entries: dict[str, os.DirEntry[str]] = {}
        for folder in folders:
            with _scandir(folder) as found:
                entries.update({entry.name: entry for entry in found if entry.name in wanted})
        self._left = iter(list(entries.values()))

    def __iter__(self) -> Iterator[os.DirEntry[str]]:
        return self

    def __next__(self) -> os.DirEntry[str]:
        return next(self._left)

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is open."""


def redirect(overlay: Overlay) -> None:
    """Replace ``open`` and the functions of ``os`` that take paths, in this process, for good."""

    def replaced(
        name: str, place: Callable[..., Any], second: Callable[..., Any] | None = None
    ) -> None:
        original = getattr(os, name)

        def function(*args: Any, **kwargs: Any) -> Any:
            plain = kwargs.get("dir_fd") is None and kwargs.get("src_dir_fd") is None
            if plain and kwargs.get("dst_dir_fd") is None:
                keys = ("src", "dst") if second is not None else ("path",)
                values = list(args)
                for number, (key, change) in enumerate(zip(keys, (place, second), strict=False)):
                    if change is not None and number < len(values):
                        values[number] = change(values[number])
                    elif change is not None and key in kwargs:
                        kwargs[key] = change(kwargs[key])
                args = tuple(values)
            return original(*args, **kwargs)

        _dress(function, original)
        setattr(os, name, function)

    def changed(path: Any) -> Any:
        return overlay.write(path, keep=True, folders=True)

    def made(path: Any) -> Any:
        return overlay.write(path, new=True, follow=False)

    for name in ("stat", "access", "statvfs", "chdir"):
        replaced(name, overlay.read)
    for name in ("lstat", "readlink"):
        replaced(name, lambda path: overlay.read(path, follow=False))
    for name in ("truncate", "chmod", "chown", "utime"):
        replaced(name, changed)
    for name in ("mkdir", "mkfifo"):
        replaced(name, made)
    for name in ("remove", "unlink"):
        replaced(name, overlay.remove)
    replaced("rmdir", lambda path: overlay.remove(path, folder=True))
    for name in ("rename", "replace"):
        replaced(name, overlay.take, lambda path: overlay.write(path, follow=False))
    replaced("link", overlay.read, made)
    replaced("symlink", lambda path: path, made)
    _redirect_opening(overlay)
    _redirect_listing(overlay)
    # A ``.pth`` file of the environment may have imported it, before there was anything to see
    # here: it would remove trees by way of descriptors.
    tools: Any = sys.modules.get("shutil")
    if tools is not None:
        tools._use_fd_functions = False


def _redirect_opening(overlay: Overlay) -> None:
    def open_file(file: Any, mode: Any = "r", *args: Any, **kwargs: Any) -> Any:
        if isinstance(mode, str) and kwargs.get("opener") is None and len(args) < 6:
            if set(mode) & set("wax+"):
                file = overlay.write(file, keep="w" not in mode, new="x" in mode)
            else:
                file = overlay.read(file)
        return _open(file, mode, *args, **kwargs)

    def open_descriptor(path: Any, flags: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(flags, int) and kwargs.get("dir_fd") is None:
            if flags & WRITES:
                only_new = flags & os.O_CREAT and flags & os.O_EXCL
                path = overlay.write(path, keep=not flags & os.O_TRUNC, new=bool(only_new))
            else:
                path = overlay.read(path)
        return _os_open(path, flags, *args, **kwargs)

    _dress(open_file, _open)
    _dress(open_descriptor, _os_open)
    builtins.open = open_file
    io.open = open_file
    os.open = open_descriptor


def _redirect_listing(overlay: Overlay) -> None:
    def listdir(path: Any = ".") -> Any:
        names = overlay.names(path)
        if names is None:
            return _listdir(overlay.read(path))
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    def scandir(path: Any = ".") -> Any:
        names = overlay.names(path)
        if names is None or isinstance(path, bytes):
            return _scandir(overlay.read(path))
        real = real_path(os.fsdecode(path))
        return Entries([k for k in (real, overlay.there + real) if _kind(k)], names)

    _dress(listdir, _listdir)
    _dress(scandir, _scandir)
    os.listdir = listdir
    os.scandir = scandir


def _dress(function: Any, original: Any) -> None:
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(function, name, getattr(original, name))

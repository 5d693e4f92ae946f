"""The guard inside every trial run: refuses writes outside the scratch copy.

This file is not imported by the tool. `sandbox.py` copies its text to ``guard/sitecustomize.py``
in the scratch folder, appends a call of ``start`` and puts that folder first on ``PYTHONPATH``.
So the program itself runs as plain ``python script.py`` (``__main__``, ``sys.argv``, tracebacks
and ``-m`` are Python's own), and Python processes that it starts are guarded as well.

It must stay free of imports that Python has not done itself at that point (``os``, ``sys``):
whatever it imports would be missing in no other run but be there in ours.
"""

# pathlib is one of the imports that may not happen here
# ruff: noqa: PTH100, PTH109, PTH115
# ruff: noqa: PTH117, PTH118

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

REFUSAL = "gpuadvise: a trial run may not write outside its scratch copy"
"""Text of the PermissionError that the program sees."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Guard:
    """Decides which paths may be written, and records those that were refused."""

    def __init__(self, allowed: tuple[str, ...], log: str) -> None:
        self.allowed = tuple(os.path.realpath(path) for path in allowed)
        self.log = log
        self.busy = False

    def writable(self, path: str) -> bool:
        """Whether ``path``, free of links, lies in a place where trial runs may write."""
        if path.startswith(("/dev/", "/proc/")):
            return True
        if any(path == root or path.startswith(root + os.sep) for root in self.allowed):
            return True
        # Compiled files beside library modules: pure caches, written as in any run.
        return f"{os.sep}__pycache__{os.sep}" in path + os.sep

    def demand(self, path: object, *, follow: bool, dir_fd: object = -1) -> None:
        """Raise PermissionError unless ``path`` may be written.

        ``follow``: the call acts on what a link points to (open, truncate, chmod), not on the
        entry itself (remove, rename).
        """
        if self.busy or isinstance(path, int) or path is None:
            return  # a file descriptor: its opening was checked
        text = os.fsdecode(path)  # type: ignore[arg-type]
        if isinstance(dir_fd, int) and dir_fd >= 0 and not os.path.isabs(text):
            text = os.path.join(_folder_of(dir_fd), text)
        if follow:
            real = os.path.realpath(text)
        else:
            head, tail = os.path.split(os.path.abspath(text))
            real = os.path.join(os.path.realpath(head), tail)
        if self.writable(real):
            return
        self.record(real)
        raise PermissionError(13, REFUSAL, text)

    def record(self, path: str) -> None:
        """Append the refused path to the log, one per line."""
        self.busy = True
        try:
            log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(log, os.fsencode(path).replace(b"\n", b"?") + b"\n")
            os.close(log)
        except OSError:
            pass  # the refusal itself does not depend on the record
        finally:
            self.busy = False

    def on_open(self, path: object, mode: object, flags: object) -> None:
        """``open``, ``os.open`` and what is built on them."""
        if isinstance(flags, int) and flags & _WRITES:
            self.demand(path, follow=True)

    def on_sqlite(self, database: object) -> None:
        """sqlite3 opens its file in C. A path that is only read cannot be told apart."""
        text = os.fsdecode(database) if isinstance(database, str | bytes | os.PathLike) else ""
        if text.startswith("file:"):
            if "mode=ro" in text or "mode=memory" in text or "immutable=1" in text:
                return
            text = text[5:].partition("?")[0]
        if text and text != ":memory:":
            self.demand(text, follow=True)

    def checks(self) -> dict[str, Callable[..., None]]:
        """The audit events that change files, by name."""
        demand = self.demand
        entry = {"follow": False}
        return {
            "open": self.on_open,
            "os.truncate": lambda path, length: demand(path, follow=True),
            "os.chmod": lambda path, mode, fd=-1: demand(path, follow=True, dir_fd=fd),
            "os.chown": lambda path, uid, gid, fd=-1: demand(path, follow=True, dir_fd=fd),
            "os.utime": lambda path, times, ns, fd=-1: demand(path, follow=True, dir_fd=fd),
            "os.setxattr": lambda path, *rest: demand(path, follow=True),
            "os.removexattr": lambda path, *rest: demand(path, follow=True),
            "os.remove": lambda path, fd=-1: demand(path, dir_fd=fd, **entry),
            "os.mkdir": lambda path, mode, fd=-1: demand(path, dir_fd=fd, **entry),
            "os.rmdir": lambda path, fd=-1: demand(path, dir_fd=fd, **entry),
            "os.rename": self.on_rename,
            "os.link": self.on_link,
            "os.symlink": lambda source, path, fd=-1: demand(path, dir_fd=fd, **entry),
            "sqlite3.connect": self.on_sqlite,
        }

    def on_rename(self, source: object, target: object, fd: int = -1, to_fd: int = -1) -> None:
        """``os.rename``, ``os.replace``, ``shutil.move``."""
        self.demand(source, follow=False, dir_fd=fd)
        self.demand(target, follow=False, dir_fd=to_fd)

    def on_link(self, source: object, target: object, fd: int = -1, to_fd: int = -1) -> None:
        """``os.link``."""
        # A hard link shares its data: one made here of a file outside could be written through.
        self.demand(source, follow=True, dir_fd=fd)
        self.demand(target, follow=False, dir_fd=to_fd)


def _folder_of(fd: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return os.getcwd()


def _move_search_path(moved: tuple[tuple[str, str], ...]) -> None:
    """Point ``sys.path`` and editable installs at the copy.

    Counter-example: a project installed with ``pip install -e .`` is imported through a ``.pth``
    file that names the original folder; the patched copy of a module would never be loaded.
    """

    def copy_of(path: str) -> str:
        for original, copy in moved:
            if path == original or path.startswith(original + os.sep):
                return copy + path[len(original) :]
        return path

    sys.path[:] = [copy_of(path) for path in sys.path]
    for finder in sys.meta_path:
        module = sys.modules.get(getattr(finder, "__module__", None) or "")
        mapping = getattr(module, "MAPPING", None)
        if isinstance(mapping, dict) and "editable" in getattr(module, "__name__", ""):
            for name, path in mapping.items():
                if isinstance(path, str):
                    mapping[name] = copy_of(path)


def _hand_over(folder: str) -> None:
    """Leave the search path, and run the ``sitecustomize`` that this one hides, if there is one."""
    sys.path[:] = [path for path in sys.path if path != folder]
    sys.path_importer_cache.pop(folder, None)
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            # The import system wants the name to be there when this file ends.
            sys.modules["sitecustomize"] = type(sys)("sitecustomize")


def start(
    folder: str,
    allowed: tuple[str, ...],
    moved: tuple[tuple[str, str], ...],
    log: str,
) -> None:
    """Install the guard in this process, for good.

    Args:
        folder: where this file lies, to be taken off ``sys.path``.
        allowed: folders in which the program may write.
        moved: pairs of an original folder and its copy.
        log: file that takes the refused paths, one per line.
    """
    checks = Guard(allowed, log).checks()
    find = checks.get

    def watch(event: str, args: tuple[object, ...]) -> None:
        check = find(event)
        if check is not None:
            check(*args)

    _move_search_path(moved)
    _hand_over(folder)
    sys.addaudithook(watch)

"""The guard inside every trial run: refuses what would have effects outside the scratch copy.

Writing, sending over the network, and signals to other processes: the real run did them once. The
guard names what was refused and the line; where the kernel has Landlock (``landlock.py``) that
holds other programs and C libraries back as well.

This file is not imported by the tool. `sandbox.py` copies its text to ``guard/sitecustomize.py``
in the scratch folder, appends a call of ``start`` and puts that folder first on ``PYTHONPATH``.
So the program itself runs as plain ``python script.py`` (``__main__``, ``sys.argv``, tracebacks
and ``-m`` are Python's own), and Python processes that it starts are guarded as well.

It must stay free of imports that Python has not done itself at that point (``os``, ``sys``):
whatever it imports would be missing in no other run but be there in ours.
"""

# pathlib is one of the imports that may not happen here
# ruff: noqa: PTH109, PTH117, PTH118
# ruff: noqa: PTH112, PTH119, PTH123, PTH206

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

REFUSAL = "gpuadvise: a trial run may not write outside its scratch copy"
"""Text of the PermissionError that the program sees."""
NO_NETWORK = "gpuadvise: a trial run may not use the network"
NO_SIGNALS = "gpuadvise: a trial run may not send signals to other processes"

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_SHARED = "/dev/shm/"
_DEVICES_BELOW = (_SHARED, "/dev/pts", "/dev/ptmx", "/dev/nvidia", "/dev/kfd", "/dev/dri")
_UNIX, _NETLINK = 1, 16
"""Address families."""

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_readlink, _entry = os.readlink, os.lstat


class Guard:
    """Decides what may be done, and records what was refused.

    The log has a line for each: kind, place in the program, and what, with tabs between.
    """

    def __init__(self, allowed: tuple[str, ...], copies: tuple[str, ...], log: str) -> None:
        self.allowed = tuple(real_path(path) for path in allowed)
        self.copies = tuple(copy + os.sep for copy in copies)
        self.log = log
        self.busy = False

    def inside(self, path: str) -> bool:
        """Whether ``path``, free of links, lies in one of the folders for trial runs."""
        return any(path == root or path.startswith(root + os.sep) for root in self.allowed)

    def writable(self, path: str) -> bool:
        """Whether ``path``, free of links, lies in a place where trial runs may write."""
        if self.inside(path) or path in _DEVICES or path.startswith(_DEVICES_BELOW):
            return True
        if path.startswith("/proc/"):  # not /proc/sys: the machine's settings
            return not path.startswith("/proc/sys")
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
        real = real_path(text, follow=follow)
        if not self.writable(real):
            self.refuse("write", real, REFUSAL, text)
        if real.startswith(_SHARED) and not _is_there(real):
            self.record("made in shared memory", real)

    def refuse(self, kind: str, what: str, *words: str) -> None:
        """Record it, and raise PermissionError."""
        self.record(kind, what)
        raise PermissionError(13, *words)

    def record(self, kind: str, what: str) -> None:
        """Append to the log."""
        self.busy = True
        line = "\t".join((kind, self.place(), what.replace("\n", "?").replace("\t", " ")))
        try:
            log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(log, os.fsencode(line) + b"\n")
            os.close(log)
        except OSError:
            pass  # the refusal itself does not depend on the record
        finally:
            self.busy = False

    def place(self) -> str:
        """``line:file`` of the innermost frame of the user's own code; empty if there is none."""
        frame = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(self.copies) and f"{os.sep}site-packages{os.sep}" not in name:
                return f"{frame.f_lineno}:{name}"
            if name[:1] not in ("/", "<"):
                return f"{frame.f_lineno}:{name}"  # python script.py
            frame = frame.f_back  # type: ignore[assignment]
        return ""

    # ------------------------------------------------------------ files
    def on_open(self, path: object, mode: object, flags: object) -> None:
        """``open``, ``os.open`` and what is built on them."""
        if not isinstance(flags, int) or not flags & WRITES:
            return
        # tempfile opens a folder with an opener of its own, whose os.open is checked by itself.
        if isinstance(path, str) and os.path.isdir(path):
            return
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

    def on_rename(self, source: object, target: object, fd: int = -1, to_fd: int = -1) -> None:
        """``os.rename``, ``os.replace``, ``shutil.move``."""
        self.demand(source, follow=False, dir_fd=fd)
        self.demand(target, follow=False, dir_fd=to_fd)

    def on_link(self, source: object, target: object, fd: int = -1, to_fd: int = -1) -> None:
        """``os.link``."""
        # A hard link shares its data: one made here of a file outside could be written through.
        self.demand(source, follow=True, dir_fd=fd)
        self.demand(target, follow=False, dir_fd=to_fd)

    # ------------------------------------------------------------ the world
    def on_address(self, socket: object, address: object = None) -> None:
        """``connect``, ``sendto``, ``sendmsg``: only sockets of the scratch copy's own."""
        family = int(getattr(socket, "family", 0))
        if address is None or address == "" or family == _NETLINK:
            return
        if family == _UNIX and isinstance(address, str | bytes):
            text = os.fsdecode(address)
            if not text.startswith("\0") and self.inside(real_path(text)):
                return
            self.refuse("network", text.replace("\0", "@"), NO_NETWORK)
        if isinstance(address, tuple) and len(address) >= 2:
            self.refuse("network", f"{address[0]}:{address[1]}", NO_NETWORK)
        self.refuse("network", str(address), NO_NETWORK)

    def on_kill(self, pid: int, number: int) -> None:
        """Processes of the run may be signalled, others not."""
        if number == 0 or pid in (0, os.getpid()):
            return
        try:
            ours = _brand(abs(pid)) == _brand(os.getpid()) != "unlimited"
        except OSError as error:
            # Gone: the program shall see that by itself. Another user's: not ours.
            ours = error.errno in (2, 3)
        if not ours:
            self.refuse("signal", str(pid), NO_SIGNALS)

    def on_group(self, group: int, number: int) -> None:
        """``os.killpg``."""
        if group != os.getpgrp():
            self.on_kill(group, number)

    def on_program(self, program: object, argv: object = None, *rest: object) -> None:
        """Another program is started: what it does is held back by the kernel, if by anything."""
        words: list[Any] = list(argv) if isinstance(argv, list | tuple) else [program]
        try:
            texts = [os.fsdecode(word) for word in words]
        except TypeError:
            return
        if len(texts) > 2 and texts[0].endswith("sh") and texts[1] == "-c":
            texts = texts[2].split()
        name = os.path.basename(texts[0]) if texts else ""
        # Python processes have this guard too; what libraries ask of the machine is no effect.
        harmless = name.startswith("python") or name in ("", "uname", "lscpu", "ldconfig")
        if not harmless and self.place():
            self.record("program", name)

    def on_system(self, command: object) -> None:
        """``os.system``."""
        if isinstance(command, str | bytes):
            self.on_program(None, os.fsdecode(command).split()[:1])

    def on_mapping(self, fd: object, *rest: object) -> None:
        """Shared memory outlives its processes if they are killed: the tool then has to look."""
        if isinstance(fd, int) and fd >= 0:
            name = _folder_of(fd)
            if name.startswith(_SHARED):
                self.record("shared memory", name)

    def checks(self) -> dict[str, Callable[..., None]]:
        """The audit events that are looked at, by name."""
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
            "socket.connect": self.on_address,
            "socket.sendto": self.on_address,
            "socket.sendmsg": self.on_address,
            "os.kill": self.on_kill,
            "os.killpg": self.on_group,
            "subprocess.Popen": self.on_program,
            "os.posix_spawn": self.on_program,
            "os.exec": self.on_program,
            "os.system": self.on_system,
            "mmap.__new__": self.on_mapping,
        }


def real_path(text: str, *, follow: bool = True) -> str:
    """The absolute path free of links; ``follow=False``: the last part stays as it is.

    Not ``os.path.realpath``: that asks ``os.lstat``, which may be redirected here.
    """
    if not text.startswith(os.sep):
        text = os.path.join(os.getcwd(), text)
    last = ""
    if not follow:
        text, _, last = text.rstrip(os.sep).rpartition(os.sep)
        if last in (".", ".."):
            text, last = f"{text}/{last}", ""
    found, links = "", 0
    parts = text.split(os.sep)[::-1]
    while parts:
        part = parts.pop()
        if part in ("", "."):
            continue
        if part == "..":
            found = found.rpartition(os.sep)[0]
            continue
        step = found + os.sep + part
        try:
            target = _readlink(step)
        except OSError:
            found = step
            continue
        links += 1
        if links > 40:  # as the kernel counts
            return step
        if target.startswith(os.sep):
            found = ""
        parts += target.split(os.sep)[::-1]
    if last:
        return found + os.sep + last
    return found or os.sep


def _brand(pid: int) -> str:
    """The limit by which the tool marks the processes of a run. Raises OSError."""
    with open(f"/proc/{pid}/limits") as limits:
        return next(line.split()[3] for line in limits if line.startswith("Max realtime timeout"))


def _is_there(path: str) -> bool:
    try:
        _entry(path)
    except OSError:
        return False
    return True


def _folder_of(fd: int) -> str:
    try:
        return _readlink(f"/proc/self/fd/{fd}")
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
) -> Guard:
    """Install the guard in this process, for good.

    Args:
        folder: where this file lies, to be taken off ``sys.path``.
        allowed: folders in which the program may write.
        moved: pairs of an original folder and its copy.
        log: file that takes what was refused.
    """
    guard = Guard(allowed, tuple(copy for _, copy in moved), log)
    find = guard.checks().get

    def watch(event: str, args: tuple[object, ...]) -> None:
        check = find(event)
        if check is not None:
            check(*args)

    _move_search_path(moved)
    _hand_over(folder)
    sys.addaudithook(watch)
    return guard

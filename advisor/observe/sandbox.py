"""The scratch copy in which every run but the one real run happens."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from ..model import RunEnd, RunResult, Stopped, Target
from . import launch
from .mirror import PREFIX, Limits, Mirror
from .process import Watchdog, end_group, end_of, peak_memory, wait
from .trees import State, remove_tree

OUTPUT_LIMIT = 256 << 20
"""Bytes kept of each output stream of one run."""

GRACE = 2.0
"""Seconds between the polite and the final signal."""


class Sandbox:
    """A private copy of the program's folder and of the working directory, to run in.

    ::

        with Sandbox(target) as box:      # the copy is made here, before anything runs
            result = box.run(box.command(), limit=10.0)

    Programs see their own absolute paths below one fixed prefix, so relative paths, ``__file__``
    and neighbours' folders resolve; writes outside the scratch folder are refused and listed in
    ``escapes``. The scratch folder goes when the ``with`` block ends, however it ends.

    Raises OSError from ``__enter__`` where the temporary folder cannot be written.
    """

    def __init__(
        self,
        target: Target,
        *,
        folders: Sequence[Path] = (),
        limits: Limits | None = None,
        output_limit: int = OUTPUT_LIMIT,
    ) -> None:
        self.target = target
        self.escapes: list[Path] = []
        """Originals of the paths that the last run was refused to write, each once."""
        self._folders = (*_folders_of(target), *folders)
        self._limits = limits
        self._output_limit = output_limit
        self._notes: list[str] = []

    # ------------------------------------------------------------ life
    def __enter__(self) -> Sandbox:
        remove_stale()
        self.root = Path(os.path.realpath(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")))
        try:
            self._watchdog = Watchdog(self.root)
            self._set_up()
        except BaseException:  # also KeyboardInterrupt: nothing may be left behind
            self.__exit__(None, None, None)
            raise
        return self

    def _set_up(self) -> None:
        self.tmp = self.root / "tmp"
        """The program's TMPDIR."""
        self.own = self.root / "own"
        """For the tool's own files and sockets: writable in a run, left alone by ``fresh``."""
        self._guard = self.root / "guard"
        for folder in (self.tmp, self.own, self._guard):
            folder.mkdir(mode=0o700)
        self._log = self.own / "escapes"
        self._mirror = Mirror(self.root, self._folders, self._limits)
        self._write_guard()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _kill_marked(self.root)
        remove_tree(self.root)
        if hasattr(self, "_watchdog"):
            self._watchdog.close()

    def _write_guard(self) -> None:
        allowed = [str(self._mirror.run), str(self.tmp), str(self.own), *_caches()]
        arguments = f"{str(self._guard)!r}, {tuple(allowed)!r}, {self._mirror.moved()!r}"
        text = Path(launch.__file__).read_text(encoding="utf-8")
        text += f"\n\nstart({arguments}, {str(self._log)!r})\n"
        (self._guard / "sitecustomize.py").write_text(text, encoding="utf-8")

    # ------------------------------------------------------------ paths
    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the copy and of the runs so far, in sentences."""
        return (*self._mirror.notes, *self._notes)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The original folders that are copied: where the user's own files are."""
        return tuple(self._mirror.roots)

    def path(self, original: Path) -> Path:
        """Where an original file lies in the copy that runs."""
        return self._mirror.path(original)

    def original(self, path: Path) -> Path:
        """The user's file behind a path of the copy; other paths are returned as they are."""
        return self._mirror.original(path)

    def plain(self, output: bytes) -> bytes:
        """Output of a run with the copy's paths written as the originals'."""
        return output.replace(os.fsencode(self._mirror.run), b"")

    # ------------------------------------------------------------ runs
    def command(self) -> list[str]:
        """The target's command line inside the copy: what the shell would run."""
        target = self.target
        head = ["-m", target.module] if target.module else [self.script()]
        return [target.python, *head, *self.arguments()]

    def script(self) -> str:
        """The script's name in the copy: as it was typed where that is relative."""
        typed = self.target.typed
        if typed is not None and not Path(typed).is_absolute():
            return typed
        return str(self.path(self.target.script))

    def arguments(self) -> list[str]:
        """The target's arguments; absolute paths into copied folders lead to the copy."""
        return [self._move_text(argument) for argument in self.target.args]

    def _move_text(self, text: str) -> str:
        for original, copy in self._mirror.moved():
            pattern = rf"(^|[=:,]){re.escape(original)}(?=$|[/:,])"
            if re.search(pattern, text):
                return re.sub(pattern, lambda found, copy=copy: found[1] + copy, text)  # type: ignore[misc]
        return text

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of a run: the user's, a private TMPDIR, and the guard's search path."""
        merged = {**os.environ, **(env or {})}
        merged["TMPDIR"] = str(self.tmp)
        merged["PWD"] = str(self.path(self.target.cwd))
        # The guard points the rest of the search path at the copy, in every process.
        search = [str(self._guard), merged.get("PYTHONPATH", "")]
        merged["PYTHONPATH"] = os.pathsep.join(filter(None, search))
        return merged

    def fresh(
        self, patched: Mapping[Path, bytes] | None = None, *, keep_caches: bool = False
    ) -> State:
        """Reset the copy to the state before the real run, then write ``patched`` into it."""
        for entry in self.tmp.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                remove_tree(entry)
            else:
                entry.unlink()
        self._log.unlink(missing_ok=True)
        return self._mirror.fresh(patched or {}, keep_caches=keep_caches)

    def run(
        self,
        argv: Sequence[str],
        *,
        patched: Mapping[Path, bytes] | None = None,
        env: Mapping[str, str] | None = None,
        limit: float | None = None,
        stdin: Path | None = None,
        capture: bool = True,
        stop_signal: signal.Signals = signal.SIGTERM,
        grace: float = GRACE,
        keep_caches: bool = False,
    ) -> RunResult:
        """Run a command in a fresh copy and wait for its end.

        Args:
            argv: the whole command line.
            patched: original path -> new content, for this run only.
            env: variables set on top of the user's environment.
            limit: seconds after which ``stop_signal``, and ``grace`` seconds later SIGKILL, end
                the whole process group; the result is then ``Stopped``.
            stdin: file that is read as standard input; None: an empty one.
            capture: keep standard output and error in the result.
            keep_caches: do not remove what numba cached in earlier runs.

        Raises FileNotFoundError if ``argv[0]`` does not exist, KeyboardInterrupt after the group
        was ended.
        """
        before = self.fresh(patched, keep_caches=keep_caches)
        running = self.start(argv, env=env, stdin=stdin)
        try:
            result = running.wait(limit, stop_signal=stop_signal, grace=grace, capture=capture)
        finally:
            running.close()
        self._read_escapes()
        return replace(result, files=self._mirror.changes(before))

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: Path | None = None,
    ) -> Running:
        """Start a command in the copy as it is now; the caller waits and closes."""
        return Running(self, argv, self.environment(env), stdin)

    def _read_escapes(self) -> None:
        lines = self._log.read_bytes().splitlines() if self._log.exists() else []
        self.escapes = [Path(os.fsdecode(line)) for line in dict.fromkeys(lines)]


class Running:
    """A process group at work in a sandbox. Made by ``Sandbox.start``.

    ``wait`` returns when the main process has ended; children that it left, such as held copies of
    its state, live until ``close``.
    """

    def __init__(
        self, box: Sandbox, argv: Sequence[str], env: Mapping[str, str], stdin: Path | None
    ) -> None:
        self._box = box
        self._streams = [tempfile.TemporaryFile(dir=box.own) for _ in range(2)]  # noqa: SIM115
        for stream in self._streams:
            _append_only(stream.fileno())
        self._cut = [False, False]
        with Path(stdin or os.devnull).open("rb") as source:
            self._began = time.perf_counter()
            self._began_monotonic = time.monotonic()
            try:
                self.process = subprocess.Popen(
                    argv,
                    cwd=box.path(box.target.cwd),
                    env=env,
                    stdin=source,
                    stdout=self._streams[0],
                    stderr=self._streams[1],
                    start_new_session=True,
                )
            except BaseException:
                self._close_streams()
                raise
        box._watchdog.add(self.process.pid)

    @property
    def pid(self) -> int:
        """Process id, and id of the process group."""
        return self.process.pid

    def wait(
        self,
        limit: float | None = None,
        *,
        stop_signal: signal.Signals = signal.SIGTERM,
        grace: float = GRACE,
        capture: bool = True,
    ) -> RunResult:
        """Wait for the main process; see ``Sandbox.run``. ``files`` is left None."""
        deadline = None if limit is None else self._began_monotonic + limit
        ended = wait(self.process, deadline, self._trim)
        stopped: RunEnd | None = None
        if ended is None:
            assert limit is not None
            stopped = Stopped(limit)
            # An interrupt is meant for the program; workers of a pool would each print a
            # traceback. Any other signal ends the group.
            alone = stop_signal is signal.SIGINT
            with contextlib.suppress(ProcessLookupError):
                (os.kill if alone else os.killpg)(self.pid, stop_signal)
            ended = wait(self.process, time.monotonic() + grace, self._trim)
        if ended is None:
            end_group(self.pid)
            ended = wait(self.process, None, self._trim)
        assert ended is not None
        wall = time.perf_counter() - self._began
        status, usage = ended
        return RunResult(
            end=stopped or end_of(status),
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            max_rss=peak_memory(usage),
            page_faults=usage.ru_minflt + usage.ru_majflt,
            stdout=self._output(0) if capture else None,
            stderr=self._output(1) if capture else None,
        )

    def close(self) -> None:
        """End what is left of the group. May be called twice."""
        end_group(self.pid)
        if self.process.returncode is None:
            self.process.wait()
        self._box._watchdog.remove(self.pid)
        self._close_streams()

    def _close_streams(self) -> None:
        for stream in self._streams:
            stream.close()

    def _trim(self) -> None:
        for index, stream in enumerate(self._streams):
            if os.fstat(stream.fileno()).st_size > self._box._output_limit:
                os.ftruncate(stream.fileno(), self._box._output_limit)
                self._cut[index] = True

    def _output(self, index: int) -> bytes:
        self._trim()
        if self._cut[index]:
            name = ("standard output", "standard error")[index]
            note = f"{name} was longer than {self._box._output_limit >> 20} MiB and was cut there"
            if note not in self._box._notes:
                self._box._notes.append(note)
        stream = self._streams[index]
        return os.pread(stream.fileno(), self._box._output_limit, 0)


# ------------------------------------------------------------ helpers
def remove_stale() -> None:
    """Remove scratch folders of tools that were killed together with their watchdog."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        owner = folder.name[len(PREFIX) :].partition("-")[0]
        if not owner.isdigit() or _alive(int(owner)) or folder.is_symlink():
            continue
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid():
                remove_tree(folder)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _kill_marked(scratch: Path) -> None:
    """End processes that left their group: those whose TMPDIR is ours (Linux)."""
    marker = b"TMPDIR=" + os.fsencode(scratch) + b"/"
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            variables = (folder / "environ").read_bytes().split(b"\0")
            if any(variable.startswith(marker) for variable in variables):
                os.kill(int(folder.name), signal.SIGKILL)


def _folders_of(target: Target) -> tuple[Path, ...]:
    """The script's folder and the working directory.

    A module that lies elsewhere (``-m timeit``) is a library: only the working directory counts.
    """
    if target.module and not target.script.is_relative_to(target.cwd):
        return (target.cwd,)
    return (target.script.parent, target.cwd)


def _caches() -> tuple[str, ...]:
    """Folders that hold nothing but caches of libraries; writing there changes no result."""
    home = Path.home()
    names = (".cache", ".cupy", ".nv", ".triton", ".numba", "Library/Caches")
    set_by_user = ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "MPLCONFIGDIR", "CUPY_CACHE_DIR")
    chosen = [os.environ[name] for name in set_by_user if os.environ.get(name)]
    return (*(str(home / name) for name in names), *chosen)


def _append_only(fd: int) -> None:
    """Writers go on at the end of the file also after we have cut it."""
    import fcntl

    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_APPEND)

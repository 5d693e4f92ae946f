"""The scratch copy in which every run but the one real run happens."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from ..errors import UsageProblem
from ..model import RunResult, Target
from .elsewhere import Attempted, Elsewhere, guard_text, may_write_elsewhere, read_attempts
from .landlock import abi
from .limits import DISK_LEFT
from .mirror import PREFIX, Limits, Mirror
from .numbacache import LastRuns
from .process import Watchdog, end_branded
from .running import GRACE, OUTPUT_LIMIT, Place, Running
from .sharedmemory import Segments
from .trees import State, remove_tree

CACHES = {
    "XDG_CACHE_HOME": ".cache",
    "CUPY_CACHE_DIR": ".cupy/kernel_cache",
    "CUDA_CACHE_PATH": ".nv/ComputeCache",
}
"""Where libraries keep compiled code: the variable that says so, the usual place in the home."""
COMPILED = {"TORCHINDUCTOR_CACHE_DIR": "torchinductor", "TRITON_CACHE_DIR": "triton"}
"""What a first run compiles and a later one finds, as numba's caches: the variable, and the folder
in the scratch copy."""
KERNELS = ("CUPY_CACHE_DIR", "CUDA_CACHE_PATH")
"""Where CuPy and the driver keep theirs, for all programs of a user."""


class Sandbox:
    """A private copy of the program's folder and of the working directory, to run in.

    ::

        with Sandbox(target) as box:      # the copy is made here, before anything runs
            result = box.run(box.command(), limit=10.0)

    Programs see their own absolute paths below one fixed prefix, so relative paths, ``__file__``
    and neighbours' folders resolve. What they write elsewhere goes to a place of its own and is
    compared (``redirect.py``); what cannot be held back so is refused: see ``escapes`` and
    ``obstacle``. The scratch folder goes when the ``with`` block ends, however it ends.

    Raises UsageProblem where the temporary folder cannot be written, or has no room.
    """

    def __init__(
        self,
        target: Target,
        *,
        folders: Sequence[Path] = (),
        limits: Limits | None = None,
        output_limit: int = OUTPUT_LIMIT,
        redirects: bool | None = None,
        like: Sandbox | None = None,
    ) -> None:
        """``redirects``: whether writes elsewhere are redirected; None: where it is needed.

        ``like``: take the snapshot of another copy, whatever the program has changed since.
        """
        self.target = target
        self.escapes: list[Path] = []
        """Originals of the paths that the last run was refused to write, each once."""
        self.attempts: tuple[Attempted, ...] = ()
        """All that the last run tried and was refused, or that cannot be held back."""
        self._folders = (*_folders_of(target), *folders)
        self._limits = limits
        self._output_limit = output_limit
        self._redirects, self._like = redirects, like
        self._may_redirect = redirects is None
        self._program_refused: str | None = None
        self._told = self._told_programs = False
        self._runs = 0
        self._notes: list[str] = []
        self.compiled = LastRuns()
        """What numba compiled in the last run of each rewritten text."""

    # ------------------------------------------------------------ life
    def __enter__(self) -> Sandbox:
        remove_stale()
        with _room():
            self.root = Path(os.path.realpath(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")))
        try:
            self._watchdog = Watchdog(self.root)
            with _room():
                if shutil.disk_usage(self.root).free < 2 * DISK_LEFT:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
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
        self._compiled = self.own / "compiled"
        self.compiles_anew = False
        """Whether a first run finds no kernels of other programs of the user's either."""
        self._log = self.own / "escapes"
        if self._like is None:
            self._mirror = Mirror(self.root, self._folders, self._limits)
        else:
            self._mirror = self._like._mirror.twin(self.root)
        self._elsewhere = Elsewhere(self.root / "outside")
        if self._redirects is None:
            self._redirects = may_write_elsewhere(self.target)
        self._write_guard()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        end_branded(self.root)
        remove_tree(self.root)
        if hasattr(self, "_watchdog"):
            self._watchdog.close()

    def end(self) -> None:
        """End whatever runs in the copy now; the copy stays until the ``with`` block ends."""
        end_branded(self.root)

    @property
    def copied(self) -> int:
        """Bytes of the files that were copied."""
        return self._mirror.bytes

    def _write_guard(self) -> None:
        elsewhere = self._elsewhere.folder
        text = guard_text(
            self._guard,
            self._writable(),
            self._mirror.moved(),
            self._log,
            elsewhere if self._redirects else None,
        )
        (self._guard / "sitecustomize.py").write_text(text, encoding="utf-8")
        (self._guard / "__pycache__").mkdir(exist_ok=True)

    def _writable(self) -> tuple[Path, ...]:
        mirror, elsewhere = self._mirror.run, self._elsewhere.folder
        return (mirror, self.tmp, self.own, elsewhere, *map(Path, _caches()))

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
        return self._elsewhere.file(original) or self._mirror.path(original)

    def original(self, path: Path) -> Path:
        """The user's file behind a path of the copy; other paths are returned as they are."""
        return self._mirror.original(path)

    def plain(self, output: bytes) -> bytes:
        """Output of a run with the copy's paths written as the originals'."""
        places = (self._mirror.run, self._elsewhere.there)
        for place in places:
            output = output.replace(os.fsencode(place), b"")
        return output

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
        for variable, usual in CACHES.items():
            # What is not there cannot be opened for writing alone, and is not ours to make.
            if not merged.get(variable) and not (Path.home() / usual.partition("/")[0]).exists():
                merged[variable] = str(self.own / "caches" / usual)
        for variable, folder in COMPILED.items():
            merged.setdefault(variable, str(self._compiled / folder))
        for variable in KERNELS if self.compiles_anew else ():
            merged[variable] = str(self._compiled / variable.lower())
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
        if not keep_caches and self._compiled.exists():
            remove_tree(self._compiled)
        self._log.unlink(missing_ok=True)
        self._elsewhere.clear()
        with _room():
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
            keep_caches: do not remove what numba and PyTorch compiled in earlier runs.

        Raises FileNotFoundError if ``argv[0]`` does not exist, KeyboardInterrupt after the group
        was ended.
        """
        began, left = time.monotonic(), limit
        while True:
            before = self.fresh(patched, keep_caches=keep_caches)
            segments = Segments()
            running = self.start(argv, env=env, stdin=stdin)
            try:
                result = running.wait(left, stop_signal=stop_signal, grace=grace, capture=capture)
            finally:
                running.close()
            self._read_escapes(result)
            for note in running.notes:
                self._note(note)
            segments.remove(self._noted("shared memory"), running.mapped)
            segments.remove_made(self._noted("made in shared memory"))
            if not (self.escapes and self._redirects is False and self._may_redirect):
                break
            self._redirects = True  # nothing in the text said so
            self._write_guard()
            left = None if limit is None else max(0.1, limit - (time.monotonic() - began))
        self.compiled.note(patched or {}, self.path)
        self._note_writes()
        return replace(result, files={**self._mirror.changes(before), **self._elsewhere.changes()})

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: Path | None = None,
    ) -> Running:
        """Start a command in the copy as it is now; the caller waits and closes."""
        self._runs += 1
        place = Place(
            self.root,
            self.path(self.target.cwd),
            (*self._writable(), self._guard / "__pycache__"),
            self._watchdog,
            self._output_limit,
            self._runs,
        )
        return Running(place, argv, self.environment(env), stdin)

    @property
    def obstacle(self) -> str | None:
        """Why the last run went another way than the real one, as a sentence: what was refused."""
        words = [a.words(self.target.script) for a in self.attempts if a.refused]
        return "; ".join(words[:3]) or self._program_refused

    @property
    def programs(self) -> tuple[str, ...]:
        """Other programs that the last run started: what they write is not redirected."""
        return tuple(self._noted("program"))

    def _noted(self, kind: str) -> list[str]:
        return [a.what for a in self.attempts if a.kind == kind]

    def _read_escapes(self, result: RunResult) -> None:
        # scalene keeps its locks in /tmp, whatever TMPDIR says; that is not the program's doing.
        found = read_attempts(self._log)
        self.attempts = tuple(
            replace(a, file=self.original(a.file) if a.file else None)
            for a in found
            if not Path(a.what).name.startswith("scalene-")
        )
        self.escapes = [Path(a.what) for a in self.attempts if a.kind == "write"]
        lines = (result.stderr or b"").decode("utf-8", "replace").splitlines()
        denied = [line.strip() for line in lines if "ermission denied" in line]
        self._program_refused = None
        # `os.system("sort data > /tmp/sorted")` goes on with what the real run left there.
        if self.programs and denied:
            self._program_refused = f"a program that it starts was refused something: {denied[0]}"

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def _note_writes(self) -> None:
        names = [f"/{name}" for name in self._elsewhere.changes()]
        own = [name for name in names if not Path(name).name.startswith("scalene-")]
        if own and not self._told:  # once: names may be random
            self._told = True
            some = ", ".join(own[:3]) + (f" and {len(own) - 3} more" if len(own) > 3 else "")
            self._note(f"what trial runs write to {some} goes to a scratch folder, compared there")
        if self.programs and not self._told_programs:
            self._told_programs = True
            held = "held back" if abi() else "not held back: this kernel has no Landlock"
            self._note(
                f"other programs are started ({', '.join(self.programs[:3])}): what they write"
                f" outside the script's folder is {held} in trial runs, and is not compared"
            )


# ------------------------------------------------------------ helpers
@contextlib.contextmanager
def _room() -> Iterator[None]:
    """A full or missing temporary folder is the user's to mend: one line that says how."""
    try:
        yield
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and error.filename is None
        if missing or error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            folder = os.environ.get("TMPDIR") or "/tmp"
            raise UsageProblem(
                f"no room for the scratch copy in {folder}: {error.strerror};"
                " set TMPDIR to a folder with space"
            ) from error
        raise


def remove_stale() -> None:
    """Remove scratch folders of tools that were killed together with their watchdog."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        owner = folder.name[len(PREFIX) :].partition("-")[0]
        if not owner.isdigit() or _alive(int(owner)) or folder.is_symlink():
            continue
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid():
                end_branded(folder)
                remove_tree(folder)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _folders_of(target: Target) -> tuple[Path, ...]:
    """The script's folder and the working directory.

    A module that lies elsewhere (``-m timeit``) is a library: only the working directory counts.
    """
    if target.module and not target.script.is_relative_to(target.cwd):
        return (target.cwd,)
    return (target.script.parent, target.cwd)


_LIBRARIES = (
    *("cupy", "fontconfig", "jax", "mesa_shader_cache", "matplotlib", "nvidia", "numba"),
    *("pocl", "pytensor", "torch", "torch_extensions", "torchinductor", "triton"),
)
"""Below ``~/.cache``: what libraries keep there."""


def _caches() -> tuple[str, ...]:
    """Folders that hold nothing but caches of libraries; writing there changes no result.

    Not all of ``~/.cache``: a program that keeps its results there would find them in the next
    trial, and one side would have done the other's work.
    """
    home = Path.home()
    common = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    names = (".cupy", ".nv", ".triton", ".numba", "Library/Caches")
    set_by_user = ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "CUPY_CACHE_DIR")
    chosen = [os.environ[name] for name in set_by_user if os.environ.get(name)]
    libraries = (str(common / name) for name in _LIBRARIES)
    return (*(str(home / name) for name in names), *libraries, *chosen)

"""One process group at work in the scratch copy: started, bounded, waited for, ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..model import RunEnd, RunResult, Stopped
from .landlock import confined
from .limits import bound, scarce
from .process import (
    Watchdog,
    brand,
    branded,
    end_branded,
    end_group,
    end_of,
    peak_memory,
    settle,
    wait,
)
from .sharedmemory import mapped_by

OUTPUT_LIMIT = 256 << 20
"""Bytes kept of each output stream of one run."""

GRACE = 2.0
"""Seconds between the polite and the final signal."""

SETTLE = 0.3
"""Seconds that processes have to end by themselves after the main one."""

STATES = "GPUADVISE_STATES"
"""Set in the environment of the one run whose states are held."""


@dataclass(frozen=True)
class Place:
    """What a run needs to know of its sandbox."""

    root: Path
    """The scratch folder; ``own`` in it is the tool's."""
    cwd: Path
    writable: tuple[Path, ...]
    watchdog: Watchdog
    output_limit: int
    number: int
    """Of this run, from 1."""


class Running:
    """A process group at work in a sandbox. Made by ``Sandbox.start``.

    ``wait`` returns when the main process has ended; children that it left, such as held copies of
    its state, live until ``close``.
    """

    def __init__(
        self, place: Place, argv: Sequence[str], env: Mapping[str, str], stdin: Path | None
    ) -> None:
        self._place = place
        self.notes: list[str] = []
        """What the user should know of this run, in sentences."""
        self.mapped: set[int] = set()
        """Inodes of the shared memory of processes that had to be killed."""
        own = place.root / "own"
        self._streams = [tempfile.TemporaryFile(dir=own) for _ in range(2)]  # noqa: SIM115
        for stream in self._streams:
            _append_only(stream.fileno())
        self._cut = [False, False]
        # Held copies of the program's state leave its session, and are wanted after its end.
        self._keeps_states = STATES in env
        with Path(stdin or os.devnull).open("rb") as source:
            self._began = time.perf_counter()
            self._began_monotonic = time.monotonic()
            try:
                start = partial(self._start, argv, env, source.fileno())
                self.process = confined(start, place.writable)
            except BaseException:
                self._close_streams()
                raise

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str], stdin: int
    ) -> subprocess.Popen[bytes]:
        """All in one: after an interrupt here, the sandbox still finds the process by its brand."""
        place = self._place
        process = subprocess.Popen(
            argv,
            cwd=place.cwd,
            env=env,
            stdin=stdin,
            stdout=self._streams[0],
            stderr=self._streams[1],
            start_new_session=True,
        )
        brand(process.pid, place.root, place.number)
        place.watchdog.add(process.pid)
        bound(process.pid)
        return process

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
        ended = wait(self.process, deadline, self._look)
        stopped: RunEnd | None = None
        if ended is None:
            assert limit is not None
            stopped = Stopped(limit)
            # An interrupt is meant for the program; workers of a pool would each print a
            # traceback. Any other signal ends the group.
            alone = stop_signal is signal.SIGINT
            with contextlib.suppress(ProcessLookupError):
                (os.kill if alone else os.killpg)(self.pid, stop_signal)
            ended = wait(self.process, time.monotonic() + grace, self._look)
        if ended is None:
            self._kill()
            ended = wait(self.process, None, self._look)
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
        # multiprocessing's resource tracker outlives the program to remove its semaphores.
        if self.process.returncode is None or not settle(self.pid, SETTLE):
            self._kill()
        if self.process.returncode is None:
            self.process.wait()
        if not self._keeps_states:
            end_branded(self._place.root, self._place.number)
        self._place.watchdog.remove(self.pid)
        self._close_streams()

    def _kill(self) -> None:
        """The whole group, after a look at what it would leave behind."""
        self.mapped |= mapped_by(branded(self._place.root, self._place.number))
        end_group(self.pid)

    def _close_streams(self) -> None:
        for stream in self._streams:
            stream.close()

    def _look(self) -> None:
        """What is looked at while the program runs."""
        self._trim()
        shortage = scarce(self._place.root)
        if shortage is not None:
            self.notes.append(f"a trial run was ended: {shortage}")
            self._kill()

    def _trim(self) -> None:
        for index, stream in enumerate(self._streams):
            if os.fstat(stream.fileno()).st_size > self._place.output_limit:
                os.ftruncate(stream.fileno(), self._place.output_limit)
                self._cut[index] = True

    def _output(self, index: int) -> bytes:
        self._trim()
        if self._cut[index]:
            name = ("standard output", "standard error")[index]
            note = f"{name} was longer than {self._place.output_limit >> 20} MiB and was cut there"
            if note not in self.notes:
                self.notes.append(note)
        stream = self._streams[index]
        return os.pread(stream.fileno(), self._place.output_limit, 0)


def _append_only(fd: int) -> None:
    """Writers go on at the end of the file also after we have cut it."""
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_APPEND)

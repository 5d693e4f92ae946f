"""The one real run: plain ``python script.py`` in the user's folder, on the user's streams."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from ..model import RunEnd, RunResult, Stopped, Target
from .process import Ended, die_with_parent, end_of, peak_memory, wait
from .terminal import Relay, in_foreground

PIPE_SMALL = 4096
PIPE_LARGE = 1 << 18
GRACE_INTERRUPT = 5.0
"""Seconds a script has to end tidily after an interrupt at the limit."""
GRACE_TERMINATE = 3.0

Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None


class Feeder(threading.Thread):
    """Passes a piped standard input on to the child, and writes it down.

    The pipe to the child is kept small until the child has read from it, so that little is taken
    from our own standard input if the child never reads.
    """

    def __init__(self, source: int, record: Path) -> None:
        super().__init__(name="stdin feeder", daemon=True)
        self.source = source
        self.record = record
        self.child_end, self._pipe = os.pipe()
        self._halt, self._halter = os.pipe()
        os.set_blocking(self._pipe, False)
        _resize(self._pipe, PIPE_SMALL)

    def run(self) -> None:
        """Feed until the input or the child ends."""
        fed = 0
        with self.record.open("wb") as record, contextlib.suppress(BrokenPipeError):
            while data := self._read():
                record.write(data)
                record.flush()
                for start in range(0, len(data), PIPE_SMALL):
                    if not self._write(data[start : start + PIPE_SMALL]):
                        return self._finish()
                fed += len(data)
                if PIPE_SMALL < fed <= PIPE_SMALL + len(data):
                    _resize(self._pipe, PIPE_LARGE)
        return self._finish()

    def _read(self) -> bytes:
        """What has arrived; empty at the end of the input or of the child."""
        poll = select.poll()
        poll.register(self.source, select.POLLIN)
        poll.register(self._halt, select.POLLIN)
        poll.register(self._pipe, 0)  # only its error: the child has closed its end
        ready = dict(poll.poll())
        if self._halt in ready or self._pipe in ready:
            return b""
        return os.read(self.source, self._room())

    def _room(self) -> int:
        try:
            return max(PIPE_SMALL, fcntl.fcntl(self._pipe, fcntl.F_GETPIPE_SZ))
        except (AttributeError, OSError):
            return PIPE_SMALL

    def _write(self, data: bytes) -> bool:
        """Hand on; False when the child has ended meanwhile."""
        view = memoryview(data)
        while view:
            poll = select.poll()
            poll.register(self._pipe, select.POLLOUT)
            poll.register(self._halt, select.POLLIN)
            if self._halt in dict(poll.poll()):
                return False
            with contextlib.suppress(BlockingIOError):
                view = view[os.write(self._pipe, view) :]
        return True

    def _finish(self) -> None:
        os.close(self._pipe)

    def finish(self) -> None:
        """The child has ended."""
        os.close(self._halter)
        self.join()
        os.close(self._halt)


def _resize(pipe: int, size: int) -> None:
    with contextlib.suppress(AttributeError, OSError):  # not Linux, or above the user's bound
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)


class _Sentinel:
    """Tells a Ctrl-C of the terminal, which reaches the child too, from a ``kill -INT`` of us.

    A process beside us in the foreground group dies of the first and lives through the second.
    Forwarding in the first case would interrupt the script's clean-up.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        cat = shutil.which("cat")
        if cat and _terminal_may_interrupt():
            self._process = subprocess.Popen(
                [cat], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )

    def child_was_told(self) -> bool:
        """Whether the interrupt that we have just seen went to the whole group."""
        if self._process is None:
            return False
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.1)
        return self._process.returncode is not None

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()


def _terminal_may_interrupt() -> bool:
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return in_foreground(fd)
    finally:
        os.close(fd)


class RealRun:
    """State of the real run while it goes on; use ``real_run``."""

    def __init__(self, target: Target, limit: float | None, record: Path) -> None:
        self.target = target
        self.limit = limit
        self.record = record
        self.interrupted = False
        self.terminated: int | None = None
        self.relay: Relay | None = None
        self.feeder: Feeder | None = None
        self.sentinel: _Sentinel | None = None
        self.process: subprocess.Popen[bytes] | None = None

    # ------------------------------------------------------------ signals
    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Pass signals on while the script runs. Only the main thread may set handlers."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        wanted = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
        saved: dict[signal.Signals, Handler] = {}
        for number in wanted:
            # An ignored signal (nohup) stays ignored, for us and for the script.
            if signal.getsignal(number) is not signal.SIG_IGN:
                saved[number] = signal.signal(number, self._on_signal)
        window = signal.getsignal(signal.SIGWINCH)
        try:
            yield
        finally:
            for number, handler in saved.items():
                signal.signal(number, handler)
            signal.signal(signal.SIGWINCH, window)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            self.interrupted = True
            if self.sentinel is not None and self.sentinel.child_was_told():
                return
        else:
            self.terminated = number
        self._send(number)

    def _send(self, number: int) -> None:
        if self.process is None or self.process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            if self.relay is not None:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)

    # ------------------------------------------------------------ standard input
    def _prepare_input(self) -> int | None:
        """Decide how standard input reaches the child; what to pass as its ``stdin``."""
        self.record.write_bytes(b"")
        try:
            known = os.fstat(0)
        except OSError:
            return None  # closed: the child finds it closed as well
        if stat.S_ISREG(known.st_mode):
            _copy_rest(0, self.record)
            return None
        if stat.S_ISFIFO(known.st_mode) or stat.S_ISSOCK(known.st_mode):
            self.feeder = Feeder(0, self.record)
            return self.feeder.child_end
        if os.isatty(0) and in_foreground(0):
            self.relay = Relay(0)
            return self.relay.slave
        return None  # /dev/null and other devices

    # ------------------------------------------------------------ running
    def start(self) -> None:
        """Start the child. Raises FileNotFoundError if there is no such interpreter."""
        stdin = self._prepare_input()
        _flush()
        relay, arrange = self.relay, die_with_parent()

        def before_exec() -> None:
            if arrange is not None:
                arrange()
            if relay is not None:
                relay.take_terminal()

        if self.relay is None:
            self.sentinel = _Sentinel()
        self.began = time.perf_counter()
        with warnings.catch_warnings():
            # Python 3.12 warns of fork beside threads, such as those of a BLAS library; what
            # `before_exec` calls takes no lock.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process = subprocess.Popen(
                [self.target.python, *self.target.command],
                cwd=self.target.cwd,
                stdin=stdin,
                stdout=relay.stream(1) if relay else None,
                stderr=relay.stream(2) if relay else None,
                start_new_session=relay is not None,
                preexec_fn=before_exec if arrange is not None or relay is not None else None,
            )
        if relay is not None:
            relay.started(self.process)
        if self.feeder is not None:
            os.close(self.feeder.child_end)
            self.feeder.start()

    def finish(self) -> RunResult:
        """Wait for the end, stopping the child at the limit."""
        assert self.process is not None
        start = time.monotonic()
        stopped: RunEnd | None = None
        ended = self._wait(None if self.limit is None else start + self.limit)
        if ended is None:
            assert self.limit is not None
            stopped = Stopped(self.limit)
            self._send(signal.SIGINT)
            ended = self._wait(time.monotonic() + GRACE_INTERRUPT)
        if ended is None:
            self._send(signal.SIGTERM)
            ended = self._wait(time.monotonic() + GRACE_TERMINATE)
        if ended is None:
            self._send(signal.SIGKILL)
            ended = self._wait(None)
        assert ended is not None
        wall = time.perf_counter() - self.began
        status, usage = ended
        return RunResult(
            end=stopped or end_of(status),
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            max_rss=peak_memory(usage),
            page_faults=usage.ru_minflt + usage.ru_majflt,
        )

    def _wait(self, deadline: float | None) -> Ended | None:
        assert self.process is not None
        if self.relay is None:
            return wait(self.process, deadline, lambda: None)
        while deadline is None or time.monotonic() < deadline:
            self.relay.pump(0.02)
            ended = wait(self.process, time.monotonic(), lambda: None)
            if ended is not None:
                return ended
        return None

    def close(self) -> None:
        """Give everything back, whatever happened."""
        if self.process is not None and self.process.returncode is None:
            self._send(signal.SIGKILL)
            self.process.wait()
        if self.relay is not None:
            self.relay.drain()
            self.interrupted |= self.relay.interrupted
            self.relay.close()
            self.relay.save(self.record)
        if self.feeder is not None and self.feeder.ident is not None:
            self.feeder.finish()
        if self.sentinel is not None:
            self.sentinel.close()


def real_run(target: Target, *, limit: float | None, record: Path) -> RunResult:
    """Run the program once, for real: the user's folder, environment and streams.

    What it read, or could have read, from standard input is written to ``record``: the rest of a
    regular file, what came through a pipe, or the lines typed at a terminal.

    At ``limit`` seconds the script is interrupted, then terminated, then killed; the result is
    ``Stopped``.

    Raises FileNotFoundError if the interpreter does not exist, KeyboardInterrupt after an
    interrupt when the script has ended, SystemExit(128 + n) after signal n ended us both.
    """
    run = RealRun(target, limit, record)
    try:
        with run._signals():
            run.start()
            result = run.finish()
    finally:
        run.close()
    if run.terminated is not None:
        raise SystemExit(128 + run.terminated)
    if run.interrupted:
        raise KeyboardInterrupt
    return result


def _copy_rest(fd: int, record: Path) -> None:
    """Copy a regular file from the current offset on, leaving the offset alone."""
    with contextlib.suppress(OSError), record.open("wb") as out:
        offset = os.lseek(fd, 0, os.SEEK_CUR)
        while data := os.pread(fd, 1 << 20, offset):
            out.write(data)
            offset += len(data)


def _flush() -> None:
    """What we have written comes before what the script writes."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()

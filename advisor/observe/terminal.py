"""The user's terminal, lent to the program during the real run.

Keys go through a pseudo-terminal, so that the program sees a terminal (echo, editing, Ctrl-C,
Ctrl-Z, size) and what it was fed can be written down for the later runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import tty
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

CHUNK = 65536

IUTF8 = 0x4000
"""Input flag, on Linux and macOS: the erase key removes whole characters."""


class LineRecorder:
    """Follows a terminal's line editing, so that the record holds lines, not keystrokes."""

    def __init__(self, control: Sequence[object], *, utf8: bool) -> None:
        self.lines = bytearray()
        self._utf8 = utf8
        self._line = bytearray()
        self._control = [c if isinstance(c, bytes) else bytes([0]) for c in control]

    def _is(self, key: bytes, index: int) -> bool:
        known = self._control[index]
        return known != b"\0" and key == known

    def feed(self, keys: bytes) -> None:
        """Take keystrokes."""
        for value in keys:
            self._key(bytes([value]))

    def _key(self, key: bytes) -> None:
        if self._is(key, termios.VERASE) or key in (b"\x7f", b"\x08"):
            while self._utf8 and self._line and self._line[-1] & 0xC0 == 0x80:
                del self._line[-1]  # the tail bytes of one UTF-8 character
            del self._line[-1:]
        elif self._is(key, termios.VKILL) or self._is(key, termios.VINTR):
            self._line.clear()
        elif self._is(key, termios.VWERASE):
            words = bytes(self._line).rstrip().rpartition(b" ")
            self._line[:] = words[0] + words[1]
        elif self._is(key, termios.VEOF):
            self._flush(b"")
        elif key in (b"\r", b"\n"):
            self._flush(b"\n")
        else:
            self._line += key

    def _flush(self, end: bytes) -> None:
        self.lines += self._line + end
        self._line.clear()


class Relay:
    """Runs one child on a pseudo-terminal connected to the user's terminal ``fd``."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.saved = termios.tcgetattr(fd)
        self.recorder = LineRecorder(self.saved[6], utf8=bool(self.saved[0] & IUTF8))
        self.interrupted = False
        self.master, self.slave = pty.openpty()
        termios.tcsetattr(self.slave, termios.TCSANOW, self.saved)
        self._copy_size()
        self._out = next((n for n in (1, 2) if os.isatty(n)), fd)
        self.child = 0
        self._open = {self.master, fd}
        """What there is still something to be read from."""

    def stream(self, fd: int) -> int | None:
        """What the child gets for descriptor ``fd``: the terminal where ours is one."""
        return self.slave if os.isatty(fd) else None

    def take_terminal(self) -> None:
        """In the child, after setsid: make the pseudo-terminal the controlling one."""
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

    def started(self, process: subprocess.Popen[bytes]) -> None:
        """Only the child holds the slave from here on, so that its end is seen on the master."""
        self.child = process.pid
        os.close(self.slave)
        self._raw()
        signal.signal(signal.SIGWINCH, self._resized)

    def _raw(self) -> None:
        tty.setraw(self.fd, termios.TCSADRAIN)

    def _resized(self, number: int, frame: FrameType | None) -> None:
        self._copy_size()

    def _copy_size(self) -> None:
        with contextlib.suppress(OSError):
            size = fcntl.ioctl(self.fd, termios.TIOCGWINSZ, b"\0" * 8)
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def pump(self, seconds: float) -> None:
        """Move bytes both ways for at most ``seconds``; returns early after a transfer."""
        ready, _, _ = select.select(list(self._open), [], [], seconds)
        if self.master in ready and not self.drain_once():
            self._open.discard(self.master)
        if self.fd in ready:
            with contextlib.suppress(OSError):  # the terminal hung up
                if keys := os.read(self.fd, CHUNK):
                    return self._typed(keys)
            self._open.discard(self.fd)
            self._write_master(self._control(termios.VEOF))
        return None

    def drain_once(self) -> bool:
        """Show what the child wrote. False at its end."""
        try:
            data = os.read(self.master, CHUNK)
        except OSError:
            return False  # Linux reports a closed slave as an error
        view = memoryview(data)
        while view:
            view = view[os.write(self._out, view) :]
        return bool(data)

    def drain(self) -> None:
        """Show the rest, when the child has ended."""
        while select.select([self.master], [], [], 0)[0] and self.drain_once():
            pass

    def _control(self, index: int) -> bytes:
        key = termios.tcgetattr(self.master)[6][index]
        return key if isinstance(key, bytes) else bytes([key])

    def _typed(self, keys: bytes) -> None:
        signals = bool(termios.tcgetattr(self.master)[3] & termios.ISIG)
        suspend = self._control(termios.VSUSP)
        if signals and self._control(termios.VINTR) in keys:
            self.interrupted = True
        if signals and suspend != b"\0" and suspend in keys:
            before, _, after = keys.partition(suspend)
            self._forward(before)
            self._suspend()
            self._forward(after)
            return
        self._forward(keys)

    def _forward(self, keys: bytes) -> None:
        self.recorder.feed(keys)
        self._write_master(keys)

    def _write_master(self, keys: bytes) -> None:
        view = memoryview(keys)
        while view:
            # The child may be writing while it does not read: keep both directions moving.
            ready, room, _ = select.select([self.master], [self.master], [], 1.0)
            if self.master in ready and not self.drain_once():
                return
            if self.master in room:
                view = view[os.write(self.master, view[:256]) :]

    def _suspend(self) -> None:
        """Ctrl-Z: the child stops, and so do we, until the shell continues us.

        The child leads its own session, where the kernel ignores a terminal's stop signal; so it
        gets the signal it may handle, and then the one that nobody can ignore.
        """
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child, signal.SIGTSTP)
            select.select([], [], [], 0.05)
            self.drain()
            os.killpg(self.child, signal.SIGSTOP)
        self._restore()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._raw()
        self._copy_size()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child, signal.SIGCONT)

    def _restore(self) -> None:
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(self.fd, termios.TCSADRAIN, self.saved)

    def close(self) -> None:
        """Give the terminal back as it was."""
        self._restore()
        os.close(self.master)
        if not self.child:
            os.close(self.slave)

    def save(self, record: Path) -> None:
        """Write the lines that the child was fed."""
        record.write_bytes(bytes(self.recorder.lines))


def in_foreground(fd: int) -> bool:
    """Whether we may use the terminal ``fd``: a background job that touches it is stopped."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False

"""Child processes of the tool: waiting with a limit, ending a whole group, surviving nobody."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from ..model import Exited, Killed, RunEnd

if sys.platform != "win32":
    import resource

Ended = tuple[int, "resource.struct_rusage"]
"""Wait status, and resources of the child and of those it waited for."""

TICK = 0.25
"""Seconds between two looks at what a waiting parent has to look at."""

PR_SET_PDEATHSIG = 1

WATCHDOG = r"""
import os, re, shutil, signal, sys, time
scratch = sys.argv[1]
brand = int(sys.argv[2])
groups = set()
for line in sys.stdin.buffer:
    word = line.split()
    if word[0] == b"+": groups.add(int(word[1]))
    elif word[0] == b"-": groups.discard(int(word[1]))
    elif word[0] == b"end": sys.exit()
def names_scratch(name):
    try:
        with open("/proc/" + name + "/environ", "rb") as file:
            return os.fsencode(scratch) + b"/" in file.read()
    except OSError: return False
def left():
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open("/proc/" + name + "/limits") as file:
                    limit = re.search(r"realtime timeout +(\d+)", file.read())
                with open("/proc/" + name + "/stat") as file:
                    state = file.read().rpartition(")")[2].split()[0]
            except OSError: continue
            branded = limit and int(limit[1]) >> 10 == brand
            if state not in "ZX" and (branded or names_scratch(name)): found.append(int(name))
    return found
for group in groups:
    try: os.killpg(group, signal.SIGKILL)
    except OSError: pass
clean = 0
for attempt in range(100):
    found = left()
    for pid in found:
        try: os.kill(pid, signal.SIGKILL)
        except OSError: pass
    clean = 0 if found else clean + 1
    if clean >= 2:
        shutil.rmtree(scratch, ignore_errors=True)
        if not os.path.exists(scratch): break
        time.sleep(0.1)
    else: time.sleep(0.01)
"""
"""Reads the process groups in use from the tool. Its end of file without ``end`` means that the
tool died: then the groups, whatever carries our brand, and the scratch folder go. What was started
while a list was read is not on it: so it looks until it has twice found none. A process of which
the tool died before it could brand it names our folder in its environment."""

LOOKS = 100
"""Most looks for what is left of a run."""


# ------------------------------------------------------------------ brands
RUNS = 1 << 10
"""Runs that a brand can tell apart; later ones share numbers."""


def brand_of(scratch: Path) -> int:
    """What the processes of one sandbox have in common, from its folder's name."""
    return (1 << 42) + zlib.crc32(os.fsencode(scratch.name))


def brand(pid: int, scratch: Path, run: int) -> None:
    """Mark a process, and all that it will start, as belonging to a run (Linux).

    The mark is its limit of real-time CPU microseconds: of no effect (139 years), inherited by
    every child, and not lost with the environment, as a variable is: ``env -i setsid sleep 300``.
    """
    if sys.platform == "linux":
        value = brand_of(scratch) * RUNS + run % RUNS
        with contextlib.suppress(OSError, ValueError):  # it has ended, or has a lower limit
            resource.prlimit(pid, resource.RLIMIT_RTTIME, (value, value))


def branded(scratch: Path, run: int | None = None) -> Iterator[Path]:
    """The ``/proc`` folders of what is left of one run, or of all runs of a sandbox."""
    wanted, user = brand_of(scratch), os.getuid()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if user and folder.stat().st_uid != user:
                continue  # thousands, on a shared machine
            found = _RTTIME.search((folder / "limits").read_text())
            value = int(found[1]) if found else 0
            if value // RUNS == wanted and run in (None, value % RUNS) and not _ended(folder):
                yield folder


def _ended(folder: Path) -> bool:
    """Whether nobody has asked yet how this process ended: it keeps its limits until then."""
    return (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"


def end_branded(scratch: Path, run: int | None = None) -> None:
    """Kill what is left of one run, or of all runs, whatever group and session it is in.

    A process may have started another between our list of processes and its own end: where
    something was found, two looks in turn must find nothing; at most `LOOKS`.
    """
    clean = 1
    for _ in range(LOOKS):
        found = [int(folder.name) for folder in branded(scratch, run)]
        clean = 0 if found else clean + 1
        if clean == 2:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def settle(group: int, seconds: float) -> bool:
    """Whether a process group whose leader has ended is gone, or goes within ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        try:
            os.killpg(group, 0)
        except OSError:
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(0.01)


_RTTIME = re.compile(r"realtime timeout +(\d+)")


class Watchdog:
    """A small process that cleans up if the tool is killed outright."""

    def __init__(self, scratch: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", WATCHDOG, str(scratch), str(brand_of(scratch))],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )

    def add(self, group: int) -> None:
        """End this process group too, should the tool die."""
        self._tell(f"+ {group}")

    def remove(self, group: int) -> None:
        """The group has ended: its number may be given to others."""
        self._tell(f"- {group}")

    def close(self) -> None:
        """The tool cleans up by itself."""
        self._tell("end")
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()

    def _tell(self, text: str) -> None:
        pipe: IO[bytes] | None = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(OSError, ValueError):  # it was killed: nothing to tell
            pipe.write(text.encode() + b"\n")
            pipe.flush()


def wait(
    process: subprocess.Popen[bytes], deadline: float | None, tick: Callable[[], None]
) -> Ended | None:
    """Wait for the end of a child until ``deadline`` (``time.monotonic``), None if it lives on.

    ``tick`` is called every `TICK` seconds.
    """
    watcher = _Watcher(process.pid)
    try:
        while True:
            left = TICK if deadline is None else min(TICK, deadline - time.monotonic())
            ended = watcher.ended(max(0.0, left))
            if ended:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                return status, usage
            tick()
            if deadline is not None and time.monotonic() >= deadline:
                return None
    finally:
        watcher.close()


class _Watcher:
    """Notices the end of a process without reaping it, and without busy waiting on Linux."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.fd = -1
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):  # an old kernel, or a seccomp filter
                self.fd = os.pidfd_open(pid)

    def ended(self, seconds: float) -> bool:
        if self.fd >= 0:
            poll = select.poll()
            poll.register(self.fd, select.POLLIN)
            return bool(poll.poll(seconds * 1000))
        stop = time.monotonic() + seconds
        pause = 0.0005
        while True:
            known = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if known is not None:
                return True
            if time.monotonic() >= stop:
                return False
            time.sleep(min(pause, max(0.0, stop - time.monotonic())))
            pause = min(pause * 2, 0.01)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)


def end_group(group: int) -> None:
    """Kill what is left of a process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def end_of(status: int) -> RunEnd:
    """A wait status as a value."""
    code = os.waitstatus_to_exitcode(status)
    return Killed(-code) if code < 0 else Exited(code)


def peak_memory(usage: resource.struct_rusage) -> int:
    """Largest resident size in bytes; the kernels count in different units."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def die_with_parent() -> Callable[[], None] | None:
    """For ``preexec_fn``: the child is killed when the thread that started it ends (Linux)."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def arrange() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)  # it died before we could ask

    return arrange

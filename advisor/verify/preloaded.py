"""A copy of a holder in which the modules of a rewrite are imported already.

Every attempt is a process of its own, and what the program has not imported would be imported in
each of them anew: 0.1 s for NumPy, 0.4 s for numba and what its first compilation sets up. A copy
of the holder does it once, and serves the attempts of all rewrites that import the same modules.
What that took is told with each answer, as a part of what a first call costs.

Part of a holder's process: see ``worker``.
"""

# pathlib would be one more module that the program has not imported itself
# ruff: noqa: PTH123

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from . import attempt
from .perturb_replay import start_compiler

LONGEST = 20.0
"""Seconds that importing may take."""
LEAST_MEMORY = 1 << 30
"""Bytes of free memory below which there are no copies: each holds its own numba, 70 MB."""
ANSWERING = 5.0
"""Seconds beyond the limit of an attempt after which the copy is taken to hang."""
Message = dict[str, Any]


class Unanswered(Exception):
    """The copy has ended, or does not answer."""


class ToolGone(Exception):
    """The tool closed its connection meanwhile."""


def missing(modules: Sequence[str]) -> tuple[str, ...]:
    """Those of some modules that this process has not imported."""
    return tuple(name for name in modules if name not in sys.modules)


class Preloaded:
    """The holder's side of such a copy."""

    def __init__(self, tool: socket.socket, modules: Sequence[str], serve: Serve) -> None:
        """Fork the copy, which imports ``modules`` and then calls ``serve``.

        ``tool``: the connection to the tool, watched while the copy works. Raises Unanswered.
        """
        if _free_memory() < LEAST_MEMORY:
            raise Unanswered
        self.tool = tool
        self.link, other = socket.socketpair()
        parent, random = os.getpid(), sys.modules.get("random")
        draws = random.getstate() if random else None
        self.pid = os.fork()
        if self.pid == 0:
            if random is not None:
                random.setstate(draws)  # a fork seeds it anew
            self.link.close()
            tool.close()
            _run(other, parent, modules, serve)
        other.close()
        try:
            self._receive(LONGEST)
        except Unanswered:
            self.end()
            raise

    def ask(self, fields: Message, descriptors: Sequence[int]) -> Message:
        """Have an attempt made. Raises Unanswered, ToolGone."""
        data = json.dumps(fields).encode()
        try:
            socket.send_fds(self.link, [len(data).to_bytes(8, "little")], [*descriptors])
            self.link.sendall(data)
            return self._receive(float(fields["limit"]) + ANSWERING)
        except OSError:
            raise Unanswered from None

    def end(self) -> None:
        """End the copy, with all that it has started."""
        self.link.close()
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def _receive(self, limit: float) -> Message:
        end = time.monotonic() + limit
        head = self._exactly(8, end)
        answer: Message = json.loads(self._exactly(int.from_bytes(head, "little"), end))
        return answer

    def _exactly(self, size: int, end: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            left = max(0.0, end - time.monotonic())
            ready, _, _ = select.select([self.link, self.tool], [], [], left)
            if self.tool in ready:  # it never speaks while an attempt runs
                raise ToolGone
            piece = self.link.recv(min(size - len(data), 1 << 20)) if ready else b""
            if not piece:
                raise Unanswered
            data += piece
        return bytes(data)


def _free_memory() -> float:
    """Bytes that may be used without anything being paged out; infinite where nobody says."""
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo", "rb") as lines:
        for line in lines:
            if line.startswith(b"MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    return float("inf")


Serve = Callable[[socket.socket, float], None]
"""Answers requests that come through a socket; the seconds are what importing has taken."""


def _run(link: socket.socket, parent: int, modules: Sequence[str], serve: Serve) -> NoReturn:
    try:
        attempt.die_with_parent(parent)
        start = time.perf_counter()
        for name in modules:
            importlib.import_module(name)
        start_compiler()
        seconds = time.perf_counter() - start
        link.sendall((2).to_bytes(8, "little") + b"{}")
        serve(link, seconds)
    finally:
        os._exit(0)

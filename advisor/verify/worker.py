"""A held process: keeps a program's state and lets forked copies of it run code.

``hold`` is called in a child of the instrumented script and never returns. It talks to the tool
over one unix stream socket. When that socket closes, for whatever reason, the holder and its
copies end at once.

Messages are an eight-byte length and a JSON document; a request for an attempt carries three file
descriptors (for the capture, standard output and standard error), so that nothing has to be
created in a place where the program could find it.
"""

# pathlib would be one more module that the program has not imported itself
# ruff: noqa: PTH103, PTH109, PTH112, PTH118, PTH120

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import warnings
from typing import Any, NoReturn

from . import attempt
from .preloaded import Preloaded, ToolGone, Unanswered, missing
from .private import make_private
from .sockets import fitting
from .states_api import Held, HeldCall

DESCRIPTORS = 3


class _Gone(Exception):
    """The tool has closed the connection."""


def hold(address: str, state: Held) -> NoReturn:
    """Serve ``state`` to the tool that listens at ``address``; ends the process."""
    try:
        _detach()
        make_private()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            with fitting(address) as name:
                link.connect(name)
            _Holder(link, state, address).serve()
    except BaseException:  # this process belongs to nobody any more: whatever happened, it ends
        os._exit(1)
    os._exit(0)


def _detach() -> None:
    """Leave the program's session and streams: what it had buffered is not ours to write."""
    with contextlib.suppress(OSError):
        os.setsid()
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.settrace(None)
    sys.setprofile(None)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a stream object of the user's may do anything
            stream.flush()
    # A fork in a program with threads warns from 3.12 on; that would be compared as output.
    warnings.filterwarnings("ignore", message=".*multi-threaded.*fork.*")


class _Holder:
    def __init__(self, link: socket.socket, state: Held, address: str) -> None:
        self.link = link
        self.address = address
        self.state = state
        self.folder = os.getcwd()
        self.restored = False
        self.trials: dict[str, str] = {}
        self.copies: dict[tuple[str, ...], Preloaded | None] = {}
        """Copies of this process that have imported more; None: that failed."""
        self.importing = 0.0
        """Seconds that this process, itself such a copy, has spent on that."""
        # Loaded before the fork: the copies then need no import machinery for it.
        ctypes.CDLL(None)
        self.loaded = frozenset(name for name in ("random", "numpy.random") if name in sys.modules)

    def serve(self) -> None:
        self.send(self.hello())
        try:
            self.work()
        finally:
            for folder in self.trials.values():
                shutil.rmtree(folder, ignore_errors=True)

    def work(self) -> None:
        """Answer requests until the connection is closed."""
        try:
            while True:
                fields, descriptors = self.receive()
                try:
                    self.send(self.answer(fields, descriptors))
                finally:
                    for descriptor in descriptors:
                        os.close(descriptor)
        except _Gone:
            pass

    def hello(self) -> dict[str, Any]:
        state = self.state
        call = isinstance(state, HeldCall)
        return {
            "site": state.site,
            "file": state.file,
            "qualname": state.qualname if isinstance(state, HeldCall) else "<module>",
            "line": None if isinstance(state, HeldCall) else state.line,
            "kind": "call" if call else "statement",
            "entry": state.entry,
            "reason": state.reason,
            "pid": os.getpid(),
            "notes": list(state.notes),
        }

    # ------------------------------------------------------------ messages
    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        try:
            self.link.sendall(len(data).to_bytes(8, "little") + data)
        except OSError:
            raise _Gone from None

    def receive(self) -> tuple[dict[str, Any], list[int]]:
        head, descriptors = b"", []
        while len(head) < 8:
            data, received, _, _ = socket.recv_fds(self.link, 8 - len(head), DESCRIPTORS)
            if not data:
                raise _Gone
            head += data
            descriptors += received
        return json.loads(self.read(int.from_bytes(head, "little"))), descriptors

    def read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self.link.recv(min(size - len(data), 1 << 20))
            if not piece:
                raise _Gone
            data += piece
        return bytes(data)

    # ------------------------------------------------------------- attempts
    def answer(self, fields: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        if len(descriptors) != DESCRIPTORS:
            return {"status": "unavailable", "why": "no files to write to"}
        try:
            if "folder" not in fields:  # a copy is told which
                fields["folder"] = self.trial_folder(fields["trial"])
            request = attempt.Request.parse(fields, fields["folder"])
            if not self.restored:
                attempt.restore_all(self.state, request.originals)
                self.restored = True
        except OSError as problem:
            return {"status": "unavailable", "why": f"no scratch folder ({problem})"}
        except (SyntaxError, ValueError) as problem:
            return {"status": "unavailable", "why": f"the program's text changed ({problem})"}
        modules = missing(fields.get("modules", ()))
        answer = self.ask_copy(modules, fields, descriptors) if modules else None
        if answer is not None:
            return answer
        answer = self.fork(request, attempt.Streams(*descriptors))
        if self.importing and "setup" in answer:
            answer["setup"] += self.importing
        return answer

    # ------------------------------------------------- copies with modules
    def ask_copy(
        self, modules: tuple[str, ...], fields: dict[str, Any], descriptors: list[int]
    ) -> dict[str, Any] | None:
        """The answer of a copy that has imported some modules; None if there is none."""
        begin = time.monotonic()
        try:
            if modules not in self.copies:
                self.copies[modules] = None
                self.copies[modules] = Preloaded(self.link, modules, self.serve_as_copy)
            copy = self.copies[modules]
            if copy is None:
                return None
            left = max(0.1, fields["limit"] - (time.monotonic() - begin))
            return copy.ask({**fields, "limit": left}, descriptors)
        except ToolGone:
            raise _Gone from None
        except Unanswered:
            copy, self.copies[modules] = self.copies[modules], None
            if copy is not None:
                copy.end()
            return None

    def serve_as_copy(self, link: socket.socket, importing: float) -> None:
        """What the copy does."""
        self.close_copies()
        self.link, self.importing = link, importing
        self.work()

    def close_copies(self) -> None:
        """In a forked process: what this one's copies are asked through is not its own."""
        for copy in self.copies.values():
            if copy is not None:
                copy.link.close()
        self.copies.clear()

    def trial_folder(self, name: str) -> str:
        folder = self.trials.get(name)
        if folder is None or not os.path.isdir(folder):
            folder = self.trials[name] = self.make_folder()
        return folder

    def make_folder(self) -> str:
        """Beside the socket; where the program may not write there, in its temporary folder."""
        try:
            return tempfile.mkdtemp(prefix="trial-", dir=os.path.dirname(self.address))
        except OSError:
            base = tempfile.gettempdir()
            os.makedirs(base, exist_ok=True)
            return tempfile.mkdtemp(prefix="trial-", dir=base)

    def fork(self, request: attempt.Request, streams: attempt.Streams) -> dict[str, Any]:
        reader, writer = os.pipe()
        parent = os.getpid()
        random = sys.modules.get("random")
        draws = random.getstate() if random else None
        child = os.fork()
        if child == 0:
            # ``random`` seeds itself anew in every forked child: a program that draws after
            # random.seed(3) would draw something else in each copy.
            if random is not None:
                random.setstate(draws)
            try:
                os.close(reader)
                self.link.close()
                self.close_copies()
                self.in_copy(request, streams, parent, writer)
            except BaseException as problem:  # not of the code on trial: that one is caught
                why = f"the trial itself failed ({type(problem).__name__}: {problem})"
                attempt.answer_and_exit(writer, {"status": "unavailable", "why": why})
            finally:
                os._exit(1)
        os.close(writer)
        with contextlib.suppress(OSError):
            os.setpgid(child, child)
        try:
            return self.wait(child, reader, request.limit)
        finally:
            os.close(reader)

    def in_copy(
        self, request: attempt.Request, streams: attempt.Streams, parent: int, writer: int
    ) -> None:
        attempt.isolate(streams, parent)
        make_private({streams.capture, streams.stdout, streams.stderr, writer})
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # The sandbox may have renewed the folder since; ours would be a deleted one.
        with contextlib.suppress(OSError):
            os.chdir(self.folder)
        os.environ["NUMBA_CACHE_DIR"] = cache = os.path.join(request.trial, "compiled")
        config = getattr(sys.modules.get("numba"), "config", None)
        if config is not None:
            config.CACHE_DIR = cache
        answer = attempt.run(self.state, request, streams, self.loaded)
        attempt.answer_and_exit(writer, answer)

    def wait(self, child: int, reader: int, limit: float) -> dict[str, Any]:
        """Collect the answer; ends the copy at its limit, or with the tool."""
        end = time.monotonic() + limit
        data = b""
        while True:
            left = end - time.monotonic()
            watched: list[Any] = [reader, self.link]
            ready, _, _ = select.select(watched, [], [], max(0.0, left))
            if self.link in ready or not ready:
                self.kill(child)
                if self.link in ready:
                    raise _Gone  # the tool never speaks while an attempt runs: it has closed
                return {"status": "timeout", "why": f"stopped after {limit:.1f} s"}
            piece = os.read(reader, 1 << 16)
            data += piece
            # Not the end of the pipe: processes that the program started may keep it open.
            if not piece or piece.endswith(b"\n"):
                break
        status = self.kill(child)
        if not data.endswith(b"\n"):
            return {"status": "crashed", "why": _ended(status)}
        answer: dict[str, Any] = json.loads(data)
        return answer

    @staticmethod
    def kill(child: int) -> int:
        """End what is left of the copy's process group, and reap it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _ended(status: int) -> str:
    if status < 0:
        try:
            return f"it died of {signal.Signals(-status).name}"
        except ValueError:
            return f"it died of signal {-status}"
    return f"it ended the process with status {status}"

"""One held state as the tool sees it: trying a candidate on it, compared and timed."""

from __future__ import annotations

import contextlib
import json
import socket
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..deadline import Deadline
from ..model import Crashed, Exactness, TimedOut, Unavailable
from . import capture
from .compare import Comparison, Different, Incomparable, Same, compare
from .leftovers import ignorable_globals

SLOWDOWN_LIMIT = 4.0
"""A candidate is stopped at this many times the original's time, plus ``MARGIN``."""
MARGIN = 2.0
COMPILE_MARGIN = 90.0
"""Seconds allowed for importing and compiling where the new code uses a compiler."""
COMPILERS = (b"numba", b"cupy")
ENOUGH = 6
"""Times of the original kept for one state; candidates tried later share them."""
CHEAP = 0.5
"""Calls up to this long are run again for every comparison and timing."""


@dataclass(frozen=True)
class Hello:
    """What a holder says of itself."""

    site: str
    file: Path
    qualname: str
    line: int | None
    """Of the loop statement, for a held module-level loop."""
    entry: int
    reason: str
    pid: int
    notes: tuple[str, ...]

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> Hello:
        """From the holder's first message. Raises KeyError."""
        return cls(
            site=fields["site"],
            file=Path(fields["file"]),
            qualname=fields["qualname"],
            line=fields["line"],
            entry=fields["entry"],
            reason=fields["reason"],
            pid=fields["pid"],
            notes=tuple(fields["notes"]),
        )


@dataclass(frozen=True)
class StateResult:
    """What came of trying one candidate on one held state."""

    entry: int
    reason: str
    comparison: Comparison | None
    """None if there was nothing to compare: see ``failure``."""
    failure: Crashed | TimedOut | Unavailable | None = None
    original_times: tuple[float, ...] = ()
    candidate_times: tuple[float, ...] = ()
    """Steady state where ``warm``; else of first calls, without imports and definitions."""
    first_call: float = 0.0
    """Seconds of the first call beyond the steady state: imports, definitions, compilation."""
    warm: bool = False
    raised: str | None = None
    """The exception that both raised, in words."""

    @property
    def same(self) -> bool:
        """Compared, and equal."""
        return isinstance(self.comparison, Same)


class _Lost(Exception):
    """The holder is gone."""


@dataclass(frozen=True)
class _Run:
    """One attempt's answer, and the state it left."""

    answer: Mapping[str, Any]
    state: capture.Capture | None

    @property
    def done(self) -> bool:
        return bool(self.answer["status"] == "done")

    @property
    def seconds(self) -> float:
        return max(float(self.answer["seconds"]), 1e-9)

    @property
    def failure(self) -> Crashed | TimedOut | Unavailable:
        why = str(self.answer.get("why", "it gave no answer"))
        if self.answer["status"] == "crashed":
            return Crashed(why)
        if self.answer["status"] == "timeout":
            return TimedOut(float(self.answer.get("limit", 0.0)))
        return Unavailable(why)


@dataclass
class _Reference:
    """The original on this state."""

    state: capture.Capture
    times: list[float]
    raised: str | None


class HeldState:
    """One recorded program state, held by a process."""

    def __init__(self, link: socket.socket, hello: Hello, originals: Mapping[Path, bytes]) -> None:
        self.hello = hello
        self._link = link
        self._originals = originals
        self._reference: _Reference | Unavailable | None = None
        self._count = 0

    # ------------------------------------------------------------- candidates
    def try_candidate(
        self,
        new_sources: Mapping[Path, bytes],
        *,
        exactness: Exactness = Exactness.BITS,
        reduction_length: int = 1,
        limit: float = 60.0,
        repeats: int = 3,
    ) -> StateResult:
        """Run original and candidate on copies of this state; compare and time them.

        ``new_sources``: full new text of every changed file. ``limit``: seconds for all attempts
        together. ``repeats``: timed calls a side. Equality is checked on the first attempt and
        on the last.
        """
        deadline = Deadline(limit)
        try:
            reference = self._original(deadline)
            if isinstance(reference, Unavailable):
                return self._result(None, reference)
            trial = _Trial(self, reference, dict(new_sources), deadline)
            return trial.run(exactness, reduction_length, repeats)
        except _Lost:
            return self._result(None, Unavailable("the process that held this state has ended"))

    def _result(
        self, comparison: Comparison | None, failure: Crashed | TimedOut | Unavailable | None
    ) -> StateResult:
        return StateResult(self.hello.entry, self.hello.reason, comparison, failure)

    def _original(self, deadline: Deadline) -> _Reference | Unavailable:
        """The reference on this state, run once (twice if cheap) and kept."""
        if self._reference is None:
            self._reference = self._screen(deadline)
        return self._reference

    def _screen(self, deadline: Deadline) -> _Reference | Unavailable:
        first = self.attempt("original", {}, deadline.remaining(), want_capture=True)
        if not first.done or first.state is None:
            why = first.answer.get("why", "no answer")
            return Unavailable(f"the original could not be replayed on this state: {why}")
        reference = _Reference(first.state, [first.seconds], first.answer["raised"])
        if first.seconds > CHEAP or deadline.remaining() < 2 * first.seconds:
            return reference
        second = self.attempt("original", {}, deadline.remaining(), want_capture=True)
        if not second.done or second.state is None:
            return Unavailable("the original could not be replayed twice on this state")
        again = compare(first.state, second.state)
        if not isinstance(again, Same):
            return Unavailable(f"the original does not repeat itself on this state: {again.what}")
        reference.times.append(second.seconds)
        return reference

    def time_original(self, deadline: Deadline) -> None:
        """One more time of the original, if that is cheap."""
        reference = self._reference
        if not isinstance(reference, _Reference) or reference.times[0] > CHEAP:
            return
        if len(reference.times) >= ENOUGH:
            return
        if deadline.remaining() < 2 * reference.times[0]:
            return
        run = self.attempt("original", {}, deadline.remaining(), want_capture=False)
        if run.done:
            reference.times.append(run.seconds)

    # --------------------------------------------------------------- attempts
    def attempt(
        self,
        side: str,
        changed: Mapping[Path, bytes],
        limit: float,
        *,
        want_capture: bool,
        warm: bool = False,
        trial: str = "original",
    ) -> _Run:
        """Ask the holder for one forked run."""
        limit = max(0.1, min(limit, 3600.0))
        request = {
            "side": side,
            "originals": _texts(self._originals),
            "changed": _texts(changed),
            "warm": warm,
            "capture": want_capture,
            "limit": limit,
            "trial": trial,
        }
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            self._send(request, [f.fileno() for f in files])
            answer = {**self._receive(limit + 30.0), "limit": limit}
            state = None
            if want_capture and answer["status"] == "done":
                state = self._read(files[0], answer)
        return _Run(answer, state)

    @staticmethod
    def _read(stream: IO[bytes], answer: dict[str, Any]) -> capture.Capture | None:
        try:
            return capture.read(stream)
        except ValueError as problem:
            answer |= {"status": "crashed", "why": str(problem)}
            return None

    def _send(self, message: Mapping[str, Any], descriptors: list[int]) -> None:
        data = json.dumps(message).encode()
        try:
            socket.send_fds(self._link, [len(data).to_bytes(8, "little")], descriptors)
            self._link.sendall(data)
        except OSError:
            raise _Lost from None

    def _receive(self, limit: float) -> dict[str, Any]:
        try:
            return read_message(self._link, limit)
        except (OSError, ValueError):
            raise _Lost from None

    def new_trial(self) -> str:
        """A name for a candidate's own scratch folder and compiled code."""
        self._count += 1
        return f"candidate-{self._count}"

    def ignorable(self, changed: Mapping[Path, bytes]) -> frozenset[str]:
        """Globals of the held module that no one reads after the rewrite."""
        new, old = changed.get(self.hello.file), self._originals.get(self.hello.file)
        if new is None or old is None:
            return frozenset()
        return ignorable_globals(old, new)

    def close(self) -> None:
        """Let the holder end."""
        self._link.close()


class _Trial:
    """Everything done for one candidate on one state."""

    def __init__(
        self,
        state: HeldState,
        reference: _Reference,
        changed: dict[Path, bytes],
        deadline: Deadline,
    ) -> None:
        self.state, self.reference, self.changed = state, reference, changed
        self.deadline = deadline
        self.name = state.new_trial()
        self.compiles = any(word in text for text in changed.values() for word in COMPILERS)
        self.steady: list[float] = []
        self.cold: list[float] = []
        self.setup = 0.0
        self.warm = True

    def run(self, exactness: Exactness, reduction_length: int, repeats: int) -> StateResult:
        ignore = self.state.ignorable(self.changed)

        def judge(run: _Run) -> Comparison:
            assert run.state is not None
            return compare(
                self.reference.state,
                run.state,
                exactness=exactness,
                reduction_length=reduction_length,
                ignore=ignore,
            )

        first = self.attempt(warm=False, want_capture=True)
        if not first.done:
            return self.result(None, first.failure)
        self.setup = float(first.answer["setup"])
        self.cold.append(first.seconds)
        comparison = judge(first)
        if not isinstance(comparison, Same):
            return self.result(comparison, None)
        # Every process compiles again: one warm call is what that is worth.
        rounds = 1 if self.compiles else max(1, repeats)
        for left in reversed(range(rounds)):
            self.state.time_original(self.deadline)
            run = self.timed(last=left == 0 or self.deadline.remaining() < 4 * first.seconds)
            if not run.done:
                return self.result(None, run.failure)
            if run.state is not None:
                again = judge(run)
                if not isinstance(again, Same):
                    return self.result(_later(again), None)
                break
        return self.result(comparison, None)

    def timed(self, *, last: bool) -> _Run:
        """One timed call: warmed up where that is possible."""
        if self.warm:
            run = self.attempt(warm=True, want_capture=last)
            if run.done:
                self.steady.append(run.seconds)
                return run
            # Warming up may fail where the call itself does not (shuffled data that never end).
            self.warm = False
        run = self.attempt(warm=False, want_capture=last)
        if run.done:
            self.cold.append(run.seconds)
        return run

    def attempt(self, *, warm: bool, want_capture: bool) -> _Run:
        usual = max(self.reference.times)
        limit = SLOWDOWN_LIMIT * usual + (COMPILE_MARGIN if self.compiles else MARGIN)
        left = max(self.deadline.remaining(), 1.0)
        return self.state.attempt(
            "candidate",
            self.changed,
            min(limit, left),
            want_capture=want_capture,
            warm=warm,
            trial=self.name,
        )

    def result(
        self, comparison: Comparison | None, failure: Crashed | TimedOut | Unavailable | None
    ) -> StateResult:
        times = self.steady or self.cold
        usual = statistics.median(times) if times else 0.0
        beyond = max(0.0, self.cold[0] - usual) if self.cold else 0.0
        return StateResult(
            entry=self.state.hello.entry,
            reason=self.state.hello.reason,
            comparison=comparison,
            failure=failure,
            original_times=tuple(self.reference.times),
            candidate_times=tuple(times),
            first_call=self.setup + beyond,
            warm=bool(self.steady),
            raised=self.reference.raised,
        )


def _later(comparison: Different | Incomparable) -> Different | Incomparable:
    words = f"in a second call of one process, {comparison.what}"
    return Different(words) if isinstance(comparison, Different) else Incomparable(words)


def _texts(sources: Mapping[Path, bytes]) -> dict[str, str]:
    return {str(path): text.decode("latin-1") for path, text in sources.items()}


def read_message(link: socket.socket, limit: float) -> dict[str, Any]:
    """One message. Raises OSError (TimeoutError) or ValueError."""
    link.settimeout(limit)
    size = int.from_bytes(_exactly(link, 8), "little")
    message = json.loads(_exactly(link, size))
    if not isinstance(message, dict):
        raise ValueError("not a message")
    return message


def _exactly(link: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = link.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise ValueError("the connection was closed")
        data += piece
    return bytes(data)

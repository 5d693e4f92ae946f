"""One held state as the tool sees it: trying a candidate on it, compared and timed."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from ..deadline import Deadline
from ..model import Exactness, Unavailable
from . import capture
from .compare import Comparison, Different, Same, compare
from .leftovers import ignorable_globals
from .one_trial import CHEAP, MARGIN, SLOWDOWN_LIMIT, OneTrial, StateResult
from .perturb_aims import asked_anew
from .perturbed import PerturbedReplay, Runs, read_runs
from .raising import only_here
from .replies import Failure, Hello, Lost, Reference, Run, read_message, texts_of
from .schedule import Room
from .shadow import accuracy, not_judged

ENOUGH = 6
"""Times of the original kept for one state; candidates tried later share them."""
WIDER_FACTOR = 12.0
"""The run in wider floats is stopped at this many times the original's time, plus ``MARGIN``:
scalars of NumPy are that much slower than Python's."""
HANGING = 5.0
"""Seconds beyond its limits after which a copy with perturbed inputs is ended."""
PERTURBED_LIMIT = 5.0
PERTURBED_SHARE = 0.25
"""Perturbed inputs may take so many seconds, and such a part of the time that is left."""


def imported_once(texts: Collection[bytes]) -> list[str]:
    """Modules that a rewrite imports, and a copy of the holder may have imported before it.

    Not where the GPU is used: no fork can go on with what its libraries begin in a process.
    """
    if any(word in text for text in texts for word in (b"cuda", b"cupy", b"torch")):
        return []
    found = {name.decode() for text in texts for name in _IMPORTED.findall(text)}
    return ["numba"] if "numba" in found else sorted(found)


_IMPORTED = re.compile(rb"^[ \t]*(?:import|from)[ \t]+(numpy|numba)\b", re.MULTILINE)


class HeldState:
    """One recorded program state, held by a process."""

    def __init__(self, link: socket.socket, hello: Hello, originals: Mapping[Path, bytes]) -> None:
        self.hello = hello
        self._link = link
        self._originals = originals
        self._reference: Reference | Unavailable | None = None
        self._wider: Run | None = None
        self._perturbed: PerturbedReplay | None = None
        self._perturbed_alone: PerturbedReplay | None = None
        self._trials: dict[int, str] = {}

    # ------------------------------------------------------------- candidates
    def try_candidate(
        self,
        new_sources: Mapping[Path, bytes],
        *,
        exactness: Exactness = Exactness.BITS,
        reduction_length: int = 1,
        limit: float = 60.0,
        repeats: int = 3,
        perturb: bool = True,
        room: Room | None = None,
    ) -> StateResult:
        """Run original and candidate on copies of this state; compare and time them.

        ``new_sources``: full new text of every changed file. ``limit``: seconds for all attempts
        together. ``repeats``: timed calls a side after the first; with 0 that one is all that is
        timed, compilation included. Equality is checked on the first attempt and on the last.
        ``perturb``: then also on perturbed inputs, see ``perturb``. ``room``: calls after a first
        one that gains are made only where it leaves time for them.
        """
        deadline = Deadline(limit)
        try:
            reference = self._original(deadline)
            if isinstance(reference, Unavailable):
                return self._result(None, reference)
            trial = OneTrial(self, reference, dict(new_sources), deadline, repeats, room)
            result = trial.run(exactness, reduction_length)
            if not (perturb and result.same):
                return result
            return self.perturb(
                new_sources,
                result,
                exactness=exactness,
                reduction_length=reduction_length,
                limit=min(PERTURBED_LIMIT, PERTURBED_SHARE * deadline.remaining()),
            )
        except Lost:
            return self._result(None, Unavailable("the process that held this state has ended"))

    def perturb(
        self,
        new_sources: Mapping[Path, bytes],
        result: StateResult,
        *,
        exactness: Exactness = Exactness.BITS,
        reduction_length: int = 1,
        limit: float = PERTURBED_LIMIT,
        reserve: float = PERTURBED_LIMIT,
    ) -> StateResult:
        """Run original and candidate on inputs made from this state's, and compare.

        ``result``: what came of the recorded state, where both were equal; the answer is the same
        with ``perturbed`` filled in. ``limit``: seconds for all of it; ``reserve``: so many more
        where a run does not end, or a difference has to be seen twice.
        """
        if not isinstance(self._reference, Reference):
            return result
        if self._perturbed is None:
            raised = self._reference.raised is not None
            self._perturbed = PerturbedReplay(
                self._ask_perturbed, max(self._reference.times), raised=raised
            )
        return self._on_perturbed(
            self._perturbed,
            new_sources,
            result,
            exactness=exactness,
            reduction_length=reduction_length,
            limit=limit,
            reserve=reserve,
        )

    def perturb_alone(
        self,
        new_sources: Mapping[Path, bytes],
        failure: Failure,
        *,
        usual: float,
        exactness: Exactness = Exactness.BITS,
        reduction_length: int = 1,
        limit: float,
    ) -> StateResult:
        """Likewise where there is no time for the recorded state: on small inputs made from it.

        ``failure``: why that one is not run, which stays the answer; ``usual``: seconds of the
        original on it, as far as is known; ``limit``: seconds for all of it.
        """
        if self._perturbed_alone is None:
            self._perturbed_alone = PerturbedReplay(self._ask_perturbed, usual, raised=False)
        return self._on_perturbed(
            self._perturbed_alone,
            new_sources,
            replace(self._result(None, failure), first_call=limit),  # it may have to compile
            exactness=exactness,
            reduction_length=reduction_length,
            limit=limit,
            reserve=0.0,
        )

    def _on_perturbed(
        self,
        replay: PerturbedReplay,
        new_sources: Mapping[Path, bytes],
        result: StateResult,
        *,
        exactness: Exactness,
        reduction_length: int,
        limit: float,
        reserve: float,
    ) -> StateResult:
        try:
            found = replay.judge(
                new_sources,
                limit,
                exactness=exactness,
                reduction_length=reduction_length,
                ignore=self.ignorable(new_sources),
                first_call=result.first_call,
                reserve=reserve,
                tests=asked_anew(self._originals, new_sources),
            )
        except Lost:
            return result
        return replace(result, perturbed=found)

    def _ask_perturbed(
        self, side: str, changed: Mapping[Path, bytes], order: Mapping[str, Any], limit: float
    ) -> Runs:
        request = self._request(side, changed, self.trial_name(changed))
        # The copies keep to their limits; this one is for a copy that hangs before its first run.
        limit += float(order["beyond"])
        request |= {"perturb": order, "limit": limit + HANGING}
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            self._send(request, [f.fileno() for f in files])
            return read_runs(self._receive(limit + HANGING + 30.0), files[0])

    def _result(self, comparison: Comparison | None, failure: Failure | None) -> StateResult:
        return StateResult(self.hello.entry, self.hello.reason, comparison, failure)

    def _original(self, deadline: Deadline) -> Reference | Unavailable:
        """The reference on this state, run once (twice if cheap) and kept."""
        if self._reference is None:
            self._reference = self._screen(deadline)
        return self._reference

    def _screen(self, deadline: Deadline) -> Reference | Unavailable:
        began = deadline.spent
        first = self.attempt("original", {}, deadline.remaining(), want_capture=True)
        if first.answer["status"] == "timeout":
            left = f"{first.answer['limit']:.2g} s"
            return Unavailable(f"one replay of the original takes more than the {left} left for it")
        if not first.done or first.state is None:
            why = first.answer.get("why", "no answer")
            return Unavailable(f"the original could not be replayed on this state: {why}")
        if broken := only_here(first.answer["raised"], self._originals.values()):
            return Unavailable(broken)
        reference = Reference(first.state, [first.seconds], first.answer["raised"], [first.usage])
        reference.compiling = first.compiling
        reference.around = max(0.0, deadline.spent - began - first.seconds)
        if first.seconds > CHEAP or deadline.remaining() < 2 * first.seconds:
            return reference
        second = self.attempt("original", {}, deadline.remaining(), want_capture=True)
        if not second.done or second.state is None:
            return Unavailable("the original could not be replayed twice on this state")
        if not isinstance(again := compare(first.state, second.state), Same):
            return Unavailable(f"the original does not repeat itself on this state: {again.what}")
        reference.times.append(second.seconds)
        reference.usages.append(second.usage)
        return reference

    def time_original(self, deadline: Deadline) -> None:
        """One more time of the original, if that is cheap: warmed up, as candidates are."""
        reference = self._reference
        if not isinstance(reference, Reference) or reference.times[0] > CHEAP:
            return
        enough = max(len(reference.times), len(reference.warm)) >= ENOUGH
        if enough or deadline.remaining() < 3 * reference.times[0]:
            return
        # With another number ``while n != 0: n -= 2`` never ends.
        left = min(deadline.remaining(), SLOWDOWN_LIMIT * reference.times[0] + MARGIN / 2)
        if reference.warmable:
            run = self.attempt("original", {}, left, want_capture=False, warm=True)
            if run.done:
                reference.warm.append(run.seconds)
                reference.warm_usages.append(run.usage)
                return
            reference.warmable = False
        run = self.attempt("original", {}, left, want_capture=False)
        if run.done:
            reference.times.append(run.seconds)
            reference.usages.append(run.usage)

    def keeps(self, limit: float) -> bool:
        """Whether two calls of the original return one object."""
        reference = self._reference
        assert isinstance(reference, Reference)
        if reference.keeps is None:
            limit = min(limit, 2 * SLOWDOWN_LIMIT * reference.times[0] + MARGIN)
            run = self.attempt("original", {}, limit, want_capture=False, warm=True, again=True)
            reference.keeps = not run.done or run.kept
        return reference.keeps

    def accuracy(
        self, candidate: capture.Capture, same: Same, reduction_length: int, deadline: Deadline
    ) -> Comparison:
        """Whether results that are equal within the tolerance are no less accurate than before.

        Told by one run of the original in wider floats, kept for later candidates.
        """
        reference = self._reference
        assert isinstance(reference, Reference)
        if self._wider is None:
            limit = min(WIDER_FACTOR * max(reference.times) + MARGIN, 0.25 * deadline.remaining())
            self._wider = self.attempt("wider", {}, limit, want_capture=True)
        run = self._wider
        if run.state is None:
            why = str(run.answer.get("why", "it gave no answer"))
            slow = run.answer["status"] == "timeout"
            return replace(same, accuracy=not_judged("it took too long" if slow else why))
        if run.answer["raised"] != reference.raised:
            return replace(same, accuracy=not_judged(f"there it raises {run.answer['raised']}"))
        found = accuracy(reference.state, candidate, run.state, reduction_length)
        return Different(found.worse) if found.worse else replace(same, accuracy=found.words)

    # --------------------------------------------------------------- attempts
    def attempt(
        self,
        side: str,
        changed: Mapping[Path, bytes],
        limit: float,
        *,
        want_capture: bool,
        warm: bool = False,
        again: bool = False,
        one: bool = False,
        trial: str = "original",
    ) -> Run:
        """Ask the holder for one forked run."""
        limit = max(0.1, min(limit, 3600.0))
        request = self._request(side, changed, trial)
        request |= {"warm": warm, "again": again, "one": one}
        request |= {"capture": want_capture, "limit": limit}
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            self._send(request, [f.fileno() for f in files])
            answer = {**self._receive(limit + 30.0), "limit": limit}
            wanted = want_capture and answer["status"] == "done"
            state = self._read(files[0], answer) if wanted else None
        return Run(answer, state)

    def _request(self, side: str, changed: Mapping[Path, bytes], trial: str) -> dict[str, Any]:
        return {
            "side": side,
            "originals": texts_of(self._originals),
            "changed": texts_of(changed),
            "warm": False,
            "capture": True,
            "trial": trial,
            "modules": imported_once(changed.values()),
        }

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
            raise Lost from None

    def _receive(self, limit: float) -> dict[str, Any]:
        try:
            return read_message(self._link, limit)
        except (OSError, ValueError):
            raise Lost from None

    def trial_name(self, changed: Mapping[Path, bytes]) -> str:
        """A name for a candidate's own scratch folder and compiled code."""
        key = hash(tuple(sorted((str(path), text) for path, text in changed.items())))
        return self._trials.setdefault(key, f"candidate-{len(self._trials) + 1}")

    def ignorable(self, changed: Mapping[Path, bytes]) -> frozenset[str]:
        """Globals of the held module that no one reads after the rewrite."""
        new, old = changed.get(self.hello.file), self._originals.get(self.hello.file)
        if new is None or old is None:
            return frozenset()
        return ignorable_globals(old, new)

    def close(self) -> None:
        """Let the holder end."""
        self._link.close()

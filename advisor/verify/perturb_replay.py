"""Runs one side on many perturbed inputs, each in a forked copy of its own.

Everything here happens in an attempt's process (see ``attempt``), in which the code to be run is
in place already. It is never called there: only its copies call it, so that every one of them
starts from the same state, and no thread of a compiler's run time exists when they are forked.
"""

# pathlib would be one more module that the program has not imported itself

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import perturb
from .perturb_sizes import Scheme
from .perturb_slots import Inputs, numpy_loaded
from .perturbation import Perturbation
from .private import anything_shared, make_private
from .states_api import Held

NODE_LIMIT = 200_000
"""Objects compared per perturbed run; states with more are not perturbed."""
BYTE_LIMIT = 4 << 20
"""Array bytes kept per perturbed run; of larger arrays only the digest is compared,"""
TOTAL_LIMIT = 128 << 20
"""and no more runs are made once so much was kept."""
FILE_LIMIT = 2 << 30
"""Bytes a perturbed run may write to one file."""
QUICK = 0.03
"""Seconds above which a perturbed run is worth being made shorter."""
PLENTY = 0.02
"""Seconds of a run on the recorded inputs below which small ones are hardly quicker: a copy of the
process costs as much."""
LONGER, SHORTEST = 20.0, 0.15
"""A run is stopped that takes so many times as long as the small one, and so many seconds more:
``while n != 0: n -= 2`` of an odd n."""
MOST = 240
"""Perturbed runs of one side."""
NOT_COMPARED = frozenset(("MemoryError", "RecursionError", "KeyboardInterrupt"))
"""Exceptions that say more of the machine than of the code."""
M_PERTURB = -6
"""mallopt's switch of glibc: allocated memory is filled with a byte."""


@dataclass(frozen=True)
class Order:
    """What the tool asks for."""

    limit: float
    """Seconds after which no run is begun,"""
    beyond: float
    """and so many more after which none goes on."""
    each: float
    """Seconds of one run."""
    usual: float
    """Seconds that the original takes on the recorded state."""
    raised: bool
    """The original raises on the recorded state."""
    dirt: int
    """What memory holds that nobody has initialised, so that it shows when it is used."""
    wanted: tuple[Perturbation, ...] | None
    """None: choose them (the original's side)."""
    limits: tuple[float, ...]
    """For each one wanted, the seconds it may take; ``each`` where there is none."""
    tests: tuple[str, ...] = ()
    """What the candidate's text tests: inputs are aimed at it."""
    base: Perturbation | None = None
    """The sizes of earlier runs: choose only what is aimed at the tests, on top of these."""

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> Order:
        """From JSON."""
        wanted = fields["wanted"]
        return cls(
            limit=fields["limit"],
            beyond=fields["beyond"],
            each=fields["each"],
            usual=fields["usual"],
            raised=fields["raised"],
            dirt=fields["dirt"],
            wanted=None if wanted is None else tuple(map(Perturbation.parse, wanted)),
            limits=tuple(fields.get("limits", ())),
            tests=tuple(fields.get("tests", ())),
            base=Perturbation.parse(fields["base"]) if fields.get("base") else None,
        )


Execute = Callable[[Held], Mapping[str, Any]]
"""Runs the code on a state, writes the capture, and says how it went."""


class Replay:
    """One side's perturbed runs."""

    def __init__(
        self, inputs: Inputs, order: Order, execute: Execute, capture: int, spent: float = 0.0
    ) -> None:
        """``capture``: the descriptor to which ``execute`` appends what a run left behind.

        ``spent``: seconds of the limit that are gone already (imports).
        """
        self.inputs, self.order, self.execute, self.capture = inputs, order, execute, capture
        self.scheme = Scheme(inputs)
        self.end = time.monotonic() + order.limit - spent
        self.last = self.end + order.beyond
        self.runs: list[dict[str, Any]] = []
        self.base: Perturbation | None = order.base
        # Looked at once: no copy changes what the others share.
        self.sharing = anything_shared({capture})

    def run(self) -> list[dict[str, Any]]:
        """All runs that the time allows; each with its perturbation."""
        start_compiler()
        _fill_small_blocks(self.order.dirt)
        # A collection in a copy would touch, and so copy, every page of the program's objects.
        gc.collect()
        gc.freeze()
        if self.order.wanted is not None:
            limits = [*self.order.limits, *[self.order.each] * len(self.order.wanted)]
            for what, limit in zip(self.order.wanted, limits, strict=False):
                # One run without end tells enough.
                if self._room() and self._one(what, limit).get("limit") != limit:
                    continue
                break
            return self.runs
        if self.order.base is not None:
            for what in perturb.aimed_at(self.inputs, self.order.base, self.order.tests):
                if self._room():
                    self._one(what, self.order.each)
            return self.runs
        self.base, seconds = self._base()
        around = max((run["wall"] - run.get("seconds", 0.0) for run in self.runs), default=0.0)
        each = min(self.order.each, LONGER * seconds + SHORTEST + 2 * around)
        wide = self.order.usual < PLENTY
        plan = perturb.plan(self.inputs, self.scheme, self.base, self.order.tests, wide=wide)
        for what in plan:
            if not self._room() or len(self.runs) >= MOST:
                break
            self._one(what, each)
        return self.runs

    def _room(self) -> bool:
        kept = os.fstat(self.capture).st_size
        return time.monotonic() < self.end and kept < TOTAL_LIMIT

    def _base(self) -> tuple[Perturbation, float]:
        """The sizes for all changes of values, and the seconds of a run on them.

        Small ones, if the original can run on them.
        """
        best = Perturbation("the recorded inputs in other memory")
        seconds = self.order.usual
        if self.order.usual < self.order.each:
            self._one(best, self.order.each)
        for what in perturb.smaller(self.inputs, self.scheme):
            found = self._accepted(what)
            if found is not None:
                best, seconds = what, found
                break
        shorter = perturb.fewer_steps(self.inputs, self.scheme, best)
        if seconds > QUICK and shorter is not None:
            less = self._accepted(shorter)
            if less is not None and less < seconds / 2:
                return shorter, less
        return best, seconds

    def _accepted(self, what: Perturbation) -> float | None:
        """Seconds of a run that ended as the recorded one did; None if it did not."""
        run = self._one(what, self.order.each)
        if run["status"] != "done" or (run["raised"] is not None and not self.order.raised):
            return None
        return float(run["seconds"])

    # ------------------------------------------------------------------- one run
    def _one(self, what: Perturbation, limit: float) -> dict[str, Any]:
        start = os.lseek(self.capture, 0, os.SEEK_END)
        begin = time.monotonic()
        answer = self._forked(what, min(limit, max(0.05, self.last - time.monotonic())))
        stop = os.lseek(self.capture, 0, os.SEEK_END)
        if answer["status"] != "done":
            os.ftruncate(self.capture, start)
        if answer.get("raised") and answer["raised"].partition(":")[0] in NOT_COMPARED:
            answer["status"] = "not compared"
        wall = time.monotonic() - begin
        run = {
            **answer,
            "wall": wall,
            "what": what.plain(),
            "at": [start, stop],
            "words": what.words,
        }
        if answer["status"] != "does not apply":
            self.runs.append(run)
        return run

    def _forked(self, what: Perturbation, limit: float) -> dict[str, Any]:
        reader, writer = os.pipe()
        random = sys.modules.get("random")
        draws = random.getstate() if random else None
        child = os.fork()
        if child == 0:
            try:
                # A fork seeds ``random`` anew; the state's own draws are to be repeated.
                if random is not None:
                    random.setstate(draws)
                os.close(reader)
                self._in_copy(what, writer)
            finally:
                os._exit(1)
        os.close(writer)
        try:
            return _answer(child, reader, limit)
        finally:
            os.close(reader)

    def _in_copy(self, what: Perturbation, writer: int) -> None:
        _die_with_parent()
        if self.sharing:
            make_private({self.capture, writer})
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))
        for stream in (1, 2):
            os.ftruncate(stream, 0)
            os.lseek(stream, 0, os.SEEK_SET)
        answer: Mapping[str, Any] = {"status": "does not apply"}
        with contextlib.suppress(Exception):  # NumPy refuses inputs in many ways
            if perturb.apply(self.inputs, self.scheme, what):
                answer = {"status": "ready"}
        dirty_memory(self.order.dirt)
        _fill_small_blocks(self.order.dirt)
        if answer["status"] == "ready":
            answer = self.execute(self.inputs.state())
        data = json.dumps(answer).encode() + b"\n"
        while data:
            data = data[os.write(writer, data) :]
        os._exit(0)


def _answer(child: int, reader: int, limit: float) -> dict[str, Any]:
    end = time.monotonic() + limit
    data = b""
    while not data.endswith(b"\n"):
        ready, _, _ = select.select([reader], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            _end(child)
            return {"status": "timeout", "limit": limit}
        piece = os.read(reader, 1 << 16)
        if not piece:
            break
        data += piece
    status = _end(child)
    if not data.endswith(b"\n"):
        return {"status": "crashed", "why": f"it ended with {status}"}
    answer: dict[str, Any] = json.loads(data)
    return answer


def _end(child: int) -> str:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name if code < 0 else f"status {code}"
    return f"status {code}"


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG


def dirty_memory(dirt: int) -> None:
    """New memory holds ``dirt``: ``np.empty`` where ``np.zeros`` was shows at once. 0: no more."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # not glibc
            ctypes.CDLL(None).mallopt(M_PERTURB, ~dirt & 0xFF if dirt else 0)


def start_compiler() -> None:
    """Let numba set itself up once (0.3 s), not in every copy.

    A serial function of our own does it; threads would not survive the forks to come.
    """
    numba, np = sys.modules.get("numba"), numpy_loaded()
    compiled = getattr(numba, "njit", None)
    if compiled is None or np is None:
        return
    with contextlib.suppress(Exception):  # a compiler that fails says so in the runs themselves
        compiled(_first)(np.zeros(1))


def _first(numbers: Any) -> Any:
    return numbers[0]


def _fill_small_blocks(dirt: int) -> None:
    """The same for blocks below 1 KiB of eight-byte numbers, of which NumPy keeps seven each.

    What is dirty already is only looked at: to write to it would cost a copy of every page.
    """
    np = numpy_loaded()
    if np is None:
        return
    for size in range(8, 1024, 8):
        blocks = [np.empty(size, dtype=np.uint8) for _ in range(7)]
        wanted = bytes((dirt,)) * size
        for block in blocks:
            if block.tobytes() != wanted:
                block.fill(dirt)

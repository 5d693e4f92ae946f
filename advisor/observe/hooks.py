"""What is recorded at the entry of sites, inside the script's process.

A hook must never raise into the program, change it, or cost it much: an entry that is only
counted takes about 0.03 microseconds, and looking as a whole about a tenth of the run.
"""

from __future__ import annotations

import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat
from operator import length_hint
from time import process_time, thread_time
from typing import Any

from ..model import SiteObservation
from .gather import NUMBERS, Gathered, helped
from .holders import HolderPolicy, size_of
from .instrument import LoopHooks
from .lookup import resolve
from .plan import SitePlan
from .sharing import quick_aliases
from .values import numpy_of_program

ALWAYS = 3
"""The first entry is looked at whatever it costs, the next ones as long as all looking takes little
of what the run is expected to take: describing a list of four million numbers takes 0.4 s."""
EARLY = 30
"""Entries up to here are looked at as long as all looking takes little of the run: a function that
is called five times, for a microsecond each, is seen with all its types."""
SHARE = 0.1
"""Share of the run that all looking together may take before full looks are left out."""
UNNOTICED = 0.05
"""CPU seconds that looking may take in any run: in one of a few milliseconds, too, a type that
comes late is seen."""
LIGHT_SHARE = 0.02
"""Share of its time between two looks that a look at one site may take;"""
LIGHT_TOTAL = 0.05
"""sites are nested: where all looking has taken more than this share of the run so far, looks
become rarer in proportion."""
ENTRIES = 1 << 62
"""More than any loop is entered."""
MAX_SIGNATURES = 64
"""After so many changes of types and shapes a further change is no reason to look."""


def light(value: Any) -> tuple[object, object]:
    """Cheap signatures of type and of shape: what a compiled version would depend on."""
    kind = type(value)
    if kind is list or kind is tuple:
        if not value:
            return kind, 0
        first = value[0]
        if type(first) is list or type(first) is tuple:
            inner = type(first[0]) if first else None
            return (kind, type(first), inner), (len(value), len(first))
        return (kind, type(first)), len(value)
    numpy = numpy_of_program()
    if numpy is not None and kind is numpy.ndarray:
        return (value.dtype, value.ndim), (value.shape, value.strides, value.flags.writeable)
    if kind is types.FunctionType:
        return (kind, id(value.__code__)), 0
    return kind, 0


@dataclass
class Recorder:
    """All sites of a run, what looking at them cost, and what went wrong."""

    user_files: frozenset[str]
    expected: float = float("inf")
    """Seconds the program takes by itself, where known."""
    started: float = field(default_factory=process_time)
    cost: float = 0.0
    """CPU seconds: waiting for other programs is no cost of looking."""
    forking: float = 0.0
    """CPU seconds spent on holding states: few and bounded, so no reason to look more rarely."""
    looks: float = 0.0
    """CPU seconds of the process in looks that have ended, forks included;"""
    since: float | None = None
    """when the present one began."""
    notes: list[str] = field(default_factory=list)
    sites: list[LoopSite | FunctionSite] = field(default_factory=list)

    def elapsed(self) -> float:
        """CPU seconds since the start."""
        return process_time() - self.started

    def beside(self) -> float:
        """CPU seconds so far that were no part of the program, with the look under way."""
        return self.looks + (0.0 if self.since is None else process_time() - self.since)

    def affords(self, more: float) -> bool:
        """Whether a look of ``more`` CPU seconds keeps all looking to its share so far."""
        return self.cost + more <= max(UNNOTICED, SHARE * self.elapsed())

    def crowded(self) -> float:
        """How many times as much all looking has taken as light looks may; at least 1."""
        return max(1.0, self.cost / max(UNNOTICED, LIGHT_TOTAL * self.elapsed()))

    def note(self, text: str) -> None:
        """Something the report should say, once."""
        if text not in self.notes and len(self.notes) < 50:
            self.notes.append(text)

    def stop(self) -> None:
        """Look nowhere any more: in children of the program and in held states."""
        for site in self.sites:
            site.stop()


class Counter:
    """Counts entries and says when to look, without running Python code: 0.03 microseconds.

    ``due`` takes the next item of a chain: as many times False as entries are to pass, one True,
    and False for ever. Where several threads enter a site at the moment of a look, it may come to
    the last part, and the site is looked at no more.
    """

    def __init__(self) -> None:
        self.before = 0
        self.last = repeat(False, ENTRIES)
        self.parts: deque[Iterable[bool]] = deque()
        self.due: Callable[[], bool] = partial(next, chain.from_iterable(_taken(self.parts)))
        self._arrange(1)

    def wait(self, stride: int) -> None:
        """Be due again after so many entries; called when ``due`` was True."""
        self.before = self.entries() - (ENTRIES - length_hint(self.last))
        self._arrange(stride)

    def _arrange(self, stride: int) -> None:
        self.size = min(stride, ENTRIES)
        self.passing = repeat(False, self.size - 1)
        self.once = iter((True,))
        self.parts.clear()
        self.parts.extend((self.passing, self.once, self.last))

    def entries(self) -> int:
        """How often ``due`` was called."""
        left = length_hint(self.passing) + length_hint(self.once)
        return self.before + self.size - left + ENTRIES - length_hint(self.last)


def _taken(parts: deque[Iterable[bool]]) -> Iterator[Iterable[bool]]:
    """The parts as they are needed; the last one is never exhausted."""
    return iter(parts.popleft, None)


class _Counted:
    """A site that counts its entries, and looks at some."""

    def __init__(self, plan: SitePlan, recorder: Recorder, holder: HolderPolicy | None) -> None:
        self.plan = plan
        self.recorder = recorder
        self.holder = holder
        self.last_entry, self.last_end = 0, process_time()
        self.counter = Counter()
        self.stopped = False

    def hooks(self) -> LoopHooks:
        """The pair that goes into the program."""

        def look() -> None:
            entry = self.counter.entries()
            stride = 1 << 62
            if not self.stopped:
                stride = self.guarded_look(sys._getframe(1), entry)
            self.counter.wait(stride)

        return LoopHooks(self.counter.due, look)

    def entries(self) -> int:
        """How often the site was entered."""
        return self.counter.entries()

    def stop(self) -> None:
        """Look no more."""
        self.stopped = True

    def guarded_look(self, frame: types.FrameType, entry: int) -> int:
        """Look, and say after how many entries to look again."""
        begin, cpu = process_time(), thread_time()
        forking = self.recorder.forking
        self.recorder.since = begin
        try:
            self.look(frame, entry)
        except Exception as error:  # in the user's program: our mistakes must not become its own
            self.recorder.note(f"observing {self.plan.key} failed: {error!r}")
            return 1 << 62
        finally:
            # A snapshot of the locals would keep arrays alive; at top level it is the namespace.
            if frame.f_code.co_flags & 1 and sys.version_info < (3, 13):
                frame.f_locals.clear()
            end = process_time()
            self.recorder.looks, self.recorder.since = self.recorder.looks + end - begin, None
            cost = thread_time() - cpu - (self.recorder.forking - forking)
            self.recorder.cost += cost
        return self._stride(begin, end, cost, entry)

    def _stride(self, begin: float, end: float, cost: float, entry: int) -> int:
        """So many entries that looking takes ``LIGHT_SHARE`` of their time; at most a doubling."""
        per_entry = max(1e-8, (begin - self.last_end) / (entry - self.last_entry))
        self.last_entry, self.last_end = entry, end
        if entry < ALWAYS:
            return 1
        if entry < EARLY and self.recorder.affords(0.0):
            return 1
        stride = self.recorder.crowded() * cost / LIGHT_SHARE / per_entry
        return max(1, min(int(stride), entry))

    def look(self, frame: types.FrameType, entry: int) -> None:
        """Look at this entry; called with the frame that is about to run the site."""
        raise NotImplementedError


class LoopSite(_Counted):
    """Counts and looks at the entries of one loop statement."""

    def __init__(
        self,
        plan: SitePlan,
        chains: tuple[str, ...],
        recorder: Recorder,
        holder: HolderPolicy | None,
    ) -> None:
        super().__init__(plan, recorder, holder)
        self.chains = chains
        self.gathered = Gathered()
        self.next_full = ALWAYS + 1
        self.full_cost = 0.0
        self.last_look = 0
        self.signatures: set[object] = set()

    def look(self, frame: types.FrameType, entry: int) -> None:
        """Light look at every name; a full one where it is due and affordable."""
        found = resolve(self.chains, frame.f_locals, frame.f_globals)
        key, shapes = self._light(found)
        signature = key, shapes
        is_new = signature not in self.signatures and len(self.signatures) < MAX_SIGNATURES
        if self._is_early(entry) or (
            (is_new or entry >= self.next_full) and self.recorder.affords(self.full_cost)
        ):
            self.signatures.add(signature)
            self.next_full = max(self.next_full, 2 * entry)
            self._full(key, found, frame)
        since = entry - self.last_look
        self.last_look = entry
        self.gathered.passing(key, found, since, since * size_of(found))
        if self.holder is not None:
            begin = thread_time()
            if self.holder.consider_statement(entry, frame, found):
                self.recorder.forking += thread_time() - begin

    def _is_early(self, entry: int) -> bool:
        bound = max(UNNOTICED, SHARE * self.recorder.expected)
        return entry == 1 or (entry <= ALWAYS and self.recorder.cost + self.full_cost <= bound)

    def _light(self, found: Mapping[str, Any]) -> tuple[object, object]:
        """The types of all names, and the shapes and overlaps that go with them."""
        kinds: list[object] = [tuple(found)]
        shapes: list[object] = []
        for value in found.values():
            kind = type(value)
            if kind in NUMBERS:
                kinds.append(kind)
            else:
                of_type, of_shape = light(value)
                kinds.append(of_type)
                shapes.append(of_shape)
        shapes.append(quick_aliases(found))
        return tuple(kinds), tuple(shapes)

    def _full(self, key: object, found: dict[str, Any], frame: types.FrameType) -> None:
        begin = thread_time()
        more = helped(found, frame.f_locals, frame.f_globals, self.recorder.user_files)
        self.gathered.full(key, found, more)
        self.full_cost = thread_time() - begin

    def result(self) -> SiteObservation:
        """What is known of the site at the end."""
        return self.gathered.result(self.entries())


class FunctionSite(_Counted):
    """Counts the calls of a function and lets the policy hold states there."""

    def look(self, frame: types.FrameType, entry: int) -> None:
        """Let the policy decide whether to hold this call."""
        if self.holder is not None:
            begin = thread_time()
            if self.holder.consider_call(entry, frame):
                self.recorder.forking += thread_time() - begin

    def result(self) -> SiteObservation:
        """Only the number of calls."""
        return SiteObservation(self.entries(), 0, {})

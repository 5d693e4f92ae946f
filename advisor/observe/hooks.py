"""What is recorded at the entry of sites, inside the script's process.

A hook must never raise into the program, change it, or cost it much: an entry that is only
counted takes about 0.1 microseconds, and looking as a whole about a tenth of the run.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from ..model import SiteObservation, ValueInfo
from .holders import HolderPolicy
from .instrument import LoopHooks
from .lookup import COMPUTED, MISSING, helper_values, resolve
from .plan import SitePlan
from .sharing import aliases, quick_aliases
from .values import describe, merge, numpy_of_program, same_number

ALWAYS = 3
"""The first entries are looked at whatever it costs."""
SHARE = 0.1
"""Share of the run that all looking together may take before full looks are left out."""
LIGHT_SHARE = 0.02
"""Share of its time between two looks that a look at one site may take: sites are nested."""
MAX_SIGNATURES = 64
"""After so many changes of types and shapes a further change is no reason to look."""

_NUMBERS = frozenset((bool, int, float))


@dataclass
class Seen:
    """What was seen of one name so far."""

    info: ValueInfo | None = None
    numbers: dict[type, list[Any]] = field(default_factory=dict)
    """Per type of number: smallest, largest, whether constant, whether NaN was seen."""

    def number(self, kind: type, value: Any) -> None:
        """Take in one Python number; the hot path, so without a ``ValueInfo``."""
        entry = self.numbers.get(kind)
        if entry is None:
            self.numbers[kind] = [value, value, True, False]
            if value != value:
                self.numbers[kind] = [None, None, False, True]
            return
        if value != value:
            entry[2], entry[3] = False, True
        elif entry[0] is None:
            entry[0] = entry[1] = value
        else:
            if entry[2] and not same_number(entry[0], value):
                entry[2] = False
            if value < entry[0]:
                entry[0] = value
            elif value > entry[1]:
                entry[1] = value

    def add(self, info: ValueInfo) -> None:
        """Take in any other value."""
        self.info = info if self.info is None else merge(self.info, info)

    def result(self) -> ValueInfo | None:
        """Everything seen, merged."""
        merged = self.info
        for kind, (low, high, constant, has_nan) in self.numbers.items():
            info = replace(
                ValueInfo(kind.__name__, f"builtins.{kind.__name__}"),
                minimum=int(low) if kind is bool else low,
                maximum=int(high) if kind is bool else high,
                constant=constant,
                has_nan=has_nan,
            )
            merged = info if merged is None else merge(merged, info)
        return merged


def light(value: Any) -> object:
    """A cheap signature of type, dtype and shape: what a compiled version would depend on."""
    kind = type(value)
    if kind is list or kind is tuple:
        if not value:
            return kind, 0
        first = value[0]
        if type(first) is list or type(first) is tuple:
            return kind, len(value), type(first), len(first), type(first[0]) if first else None
        return kind, len(value), type(first)
    numpy = numpy_of_program()
    if numpy is not None and kind is numpy.ndarray:
        return value.dtype, value.shape, value.strides, value.flags.writeable
    if kind is types.FunctionType:
        return kind, id(value.__code__)
    return kind


@dataclass
class Recorder:
    """All sites of a run, what looking at them cost, and what went wrong."""

    user_files: frozenset[str]
    started: float = field(default_factory=perf_counter)
    cost: float = 0.0
    forking: float = 0.0
    """Seconds spent on holding states: few and bounded, so no reason to look more rarely."""
    notes: list[str] = field(default_factory=list)
    sites: list[LoopSite | FunctionSite] = field(default_factory=list)

    def elapsed(self) -> float:
        """Wall seconds since the start."""
        return perf_counter() - self.started

    def note(self, text: str) -> None:
        """Something the report should say, once."""
        if text not in self.notes and len(self.notes) < 50:
            self.notes.append(text)

    def stop(self) -> None:
        """Look nowhere any more: in children of the program and in held states."""
        for site in self.sites:
            site.stop()


class _Counted:
    """A site that counts its entries, and looks at some."""

    def __init__(self, plan: SitePlan, recorder: Recorder, holder: HolderPolicy | None) -> None:
        self.plan = plan
        self.recorder = recorder
        self.holder = holder
        self.last_entry, self.last_end = 0, perf_counter()
        self.entries: Callable[[], int] = lambda: 0
        self.stop: Callable[[], None] = lambda: None

    def hooks(self) -> LoopHooks:
        """The pair that goes into the program."""
        entry, due_at = 0, 1

        def due() -> bool:
            nonlocal entry
            entry += 1
            return entry >= due_at

        def look() -> None:
            nonlocal due_at
            due_at = entry + self.guarded_look(sys._getframe(1), entry)

        def stop() -> None:
            nonlocal due_at
            due_at = 1 << 62

        self.entries = lambda: entry
        self.stop = stop
        return LoopHooks(due, look)

    def guarded_look(self, frame: types.FrameType, entry: int) -> int:
        """Look, and say after how many entries to look again."""
        begin = perf_counter()
        forking = self.recorder.forking
        try:
            self.look(frame, entry)
        except Exception as error:  # in the user's program: our mistakes must not become its own
            self.recorder.note(f"observing {self.plan.key} failed: {error!r}")
            return 1 << 62
        finally:
            # A snapshot of the locals would keep arrays alive; at top level it is the namespace.
            if frame.f_code.co_flags & 1 and sys.version_info < (3, 13):
                frame.f_locals.clear()
            end = perf_counter()
            cost = end - begin - (self.recorder.forking - forking)
            self.recorder.cost += cost
        return self._stride(begin, end, cost, entry)

    def _stride(self, begin: float, end: float, cost: float, entry: int) -> int:
        """So many entries that looking takes ``LIGHT_SHARE`` of their time; at most a doubling."""
        per_entry = max(1e-8, (begin - self.last_end) / (entry - self.last_entry))
        self.last_entry, self.last_end = entry, end
        if entry < ALWAYS:
            return 1
        return max(1, min(int(cost / LIGHT_SHARE / per_entry), entry))

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
        self.observed = 0
        self.next_full = ALWAYS + 1
        self.full_cost = 0.0
        self.seen: dict[str, Seen] = {}
        self.poisoned: set[str] = set()
        self.signatures: set[object] = set()
        self.aliases: set[tuple[str, str]] = set()

    def look(self, frame: types.FrameType, entry: int) -> None:
        """Light look at every name; a full one where it is due and affordable."""
        found = resolve(self.chains, frame.f_locals, frame.f_globals)
        signature = self._light(found)
        is_new = signature not in self.signatures and len(self.signatures) < MAX_SIGNATURES
        if entry <= ALWAYS or ((is_new or entry >= self.next_full) and self._affordable()):
            self.signatures.add(signature)
            self.next_full = max(self.next_full, 2 * entry)
            self._full(found, frame)
        if self.holder is not None:
            begin = perf_counter()
            if self.holder.consider_statement(entry, frame, found):
                self.recorder.forking += perf_counter() - begin

    def _affordable(self) -> bool:
        return self.recorder.cost + self.full_cost <= SHARE * self.recorder.elapsed()

    def _light(self, found: Mapping[str, Any]) -> object:
        signature: list[object] = []
        for name, value in found.items():
            kind = type(value)
            if kind in _NUMBERS:
                entry = self.seen.get(name)
                if entry is None:
                    entry = self.seen[name] = Seen()
                entry.number(kind, value)
                signature.append(kind)
            else:
                signature.append(light(value))
        signature.append(quick_aliases(found))
        return tuple(signature)

    def _full(self, found: dict[str, Any], frame: types.FrameType) -> None:
        begin = perf_counter()
        self.observed += 1
        for name, value in found.items():
            self._add(name, value)
        helped = dict(found)
        for name, value in self._helpers(found, frame):
            self._add_helper(name, value, helped)
        self.aliases.update(aliases(helped))
        self.full_cost = perf_counter() - begin

    def _add(self, name: str, value: Any) -> None:
        if type(value) in _NUMBERS:
            return  # taken in by the light look
        info = ValueInfo("object", "builtins.property") if value is COMPUTED else describe(value)
        self.seen.setdefault(name, Seen()).add(info)

    def _helpers(self, found: Mapping[str, Any], frame: types.FrameType) -> list[tuple[str, Any]]:
        values: list[tuple[str, Any]] = []
        for name, value in found.items():
            if type(value) is types.FunctionType:
                values += helper_values(name, value, self.recorder.user_files)
        chains = dict.fromkeys(name for name, value in values if value is MISSING)
        own = resolve(_with_bases(chains), frame.f_locals, frame.f_globals)
        return [(n, v) for n, v in values if v is not MISSING] + list(own.items())

    def _add_helper(self, name: str, value: Any, found: dict[str, Any]) -> None:
        """A global that only a helper reads.

        Counter-example: ``n = 5`` in the loop's function, ``n = 7`` in the module of the helper:
        one name, two values. Then nothing is claimed of it.
        """
        if name not in found:
            found[name] = value
            if type(value) in _NUMBERS:
                self.seen.setdefault(name, Seen()).number(type(value), value)
            else:
                self._add(name, value)
        elif not _same_object(found[name], value):
            self.poisoned.add(name)

    def result(self) -> SiteObservation:
        """What is known of the site at the end."""
        values: dict[str, ValueInfo] = {}
        for name, seen in self.seen.items():
            info = seen.result()
            if info is not None:
                values[name] = info
        for name in self.poisoned:
            values[name] = ValueInfo("mixed", "two values of one name")
        return SiteObservation(
            entries=self.entries(),
            observed=self.observed,
            values=values,
            aliases=tuple(sorted(self.aliases)),
        )


def _with_bases(chains: Mapping[str, None]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for chain in chains:
        parts = chain.split(".")
        for count in range(1, len(parts) + 1):
            found.setdefault(".".join(parts[:count]))
    return tuple(found)


def _same_object(a: Any, b: Any) -> bool:
    if a is b:
        return True
    return type(a) is type(b) and type(a) in _NUMBERS and bool(a == b)


class FunctionSite(_Counted):
    """Counts the calls of a function and lets the policy hold states there."""

    def look(self, frame: types.FrameType, entry: int) -> None:
        """Let the policy decide whether to hold this call."""
        if self.holder is not None:
            begin = perf_counter()
            if self.holder.consider_call(entry, frame):
                self.recorder.forking += perf_counter() - begin

    def result(self) -> SiteObservation:
        """Only the number of calls."""
        return SiteObservation(self.entries(), 0, {})

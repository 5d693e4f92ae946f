"""What was seen at the entries of one site, put together: as a whole and by type signature.

Shared by the hooks in the user's process and by the tools that make a rule's cases executable.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..model import SiteObservation, ValueInfo
from .lookup import COMPUTED, MISSING, helper_values, resolve
from .sharing import aliases
from .values import describe, merge, same_kind, same_number

NUMBERS = frozenset((bool, int, float))
"""Types that the cheap look takes in completely."""
MAX_GROUPS = 8
"""Type signatures of one site that are kept apart; one more, and none is."""


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

    def fits(self, kind: type, info: ValueInfo | None) -> bool:
        """Whether a value of that type (a number's: ``info`` is None) has been the only kind."""
        if info is None:
            return self.info is None and self.numbers.keys() <= {kind}
        return not self.numbers and (self.info is None or same_kind(self.info, info))


@dataclass
class Group:
    """Entries with the same types."""

    seen: dict[str, Seen] = field(default_factory=dict)
    aliases: set[tuple[str, str]] = field(default_factory=set)
    observed: int = 0
    entries: int = 0
    """Entries that were looked at or came since the look before."""
    work: float = 0.0

    def number(self, name: str, kind: type, value: Any) -> None:
        """Take in a number."""
        entry = self.seen.get(name)
        if entry is None:
            entry = self.seen[name] = Seen()
        entry.number(kind, value)

    def fits(self, found: Mapping[str, tuple[type, ValueInfo | None]]) -> bool:
        """Whether an entry belongs here: no name of it has another type than here."""
        seen = self.seen
        return all(
            name not in seen or seen[name].fits(kind, info) for name, (kind, info) in found.items()
        )

    def values(self) -> dict[str, ValueInfo]:
        """Everything seen, by name."""
        found = {name: seen.result() for name, seen in self.seen.items()}
        return {name: info for name, info in found.items() if info is not None}


class Gathered:
    """All that was seen at one site."""

    def __init__(self) -> None:
        self.observed = 0
        self.groups: list[Group] = []
        self.stray = Group()
        """Numbers seen in passing, at entries whose types no full look has met."""
        self.overflown = False
        self.poisoned: set[str] = set()
        self.by_key: dict[object, list[Group]] = {}

    def passing(self, key: object, found: Mapping[str, Any], entries: int, work: float) -> None:
        """A cheap look: only numbers are taken in. ``key``: the types as the cheap look sees them.

        Two signatures may have one key, such as lists that differ in their last element: the
        numbers then count for both.
        """
        groups = self.by_key.get(key) or [self.stray]
        for group in groups:
            for name, value in found.items():
                kind = type(value)
                if kind in NUMBERS:
                    group.number(name, kind, value)
        groups[0].entries += entries
        groups[0].work += work

    def full(self, key: object, found: dict[str, Any], helped: list[tuple[str, Any]]) -> Group:
        """A full look: every value, and what helper functions read. Gives the entry's group."""
        self.observed += 1
        everything = dict(found)
        for name, value in helped:
            if name not in everything:
                everything[name] = value
            elif not _same_object(everything[name], value):
                # n = 5 in the loop's function, n = 7 in the module of a helper: one name, two
                # values. Then nothing is claimed of it.
                self.poisoned.add(name)
        infos = {name: (type(value), _info(value)) for name, value in everything.items()}
        group = self._group(infos)
        group.observed += 1
        for name, (kind, info) in infos.items():
            if info is None:
                group.number(name, kind, everything[name])
            else:
                group.seen.setdefault(name, Seen()).add(info)
        group.aliases |= aliases(everything)
        known = self.by_key.setdefault(key, [])
        if not any(group is other for other in known):
            known.append(group)
        return group

    def _group(self, infos: Mapping[str, tuple[type, ValueInfo | None]]) -> Group:
        for group in self.groups:
            if group.fits(infos):
                return group
        if len(self.groups) < MAX_GROUPS:
            self.groups.append(Group())
        else:
            self.overflown = True
        return self.groups[-1]

    # ---------------------------------------------------------------- result
    def result(self, entries: int) -> SiteObservation:
        """What is known of the site at the end, ``entries`` entries in all."""
        parts = [_observation(group, self.poisoned) for group in self.groups]
        strays = self.stray.values()
        values: dict[str, ValueInfo] = {}
        for part in [*(p.values for p in parts), strays]:
            for name, info in part.items():
                values[name] = merge(values[name], info) if name in values else info
        several = len(parts) > 1 and not self.overflown
        return SiteObservation(
            entries=entries,
            observed=self.observed,
            values=_without(values, self.poisoned),
            aliases=tuple(sorted(set().union(*(group.aliases for group in self.groups)))),
            signatures=tuple(sorted(parts, key=lambda p: -p.work)) if several else (),
            kinds=max(1, len(parts)),
            work=sum(part.work for part in parts) + self.stray.work,
        )


def _observation(group: Group, poisoned: set[str]) -> SiteObservation:
    return SiteObservation(
        entries=max(group.entries, group.observed),
        observed=group.observed,
        values=_without(group.values(), poisoned),
        aliases=tuple(sorted(group.aliases)),
        work=group.work,
    )


def _without(values: dict[str, ValueInfo], poisoned: set[str]) -> dict[str, ValueInfo]:
    return values | dict.fromkeys(poisoned, ValueInfo("mixed", "two values of one name"))


def _info(value: Any) -> ValueInfo | None:
    if type(value) in NUMBERS:
        return None
    return ValueInfo("object", "builtins.property") if value is COMPUTED else describe(value)


def _same_object(a: Any, b: Any) -> bool:
    if a is b:
        return True
    return type(a) is type(b) and type(a) in NUMBERS and bool(a == b)


# ----------------------------------------------------------------- helpers
_METHODS_DEEP = 4
"""Methods that call methods of the same object are followed that far."""


def helped(
    found: Mapping[str, Any],
    local: Mapping[str, Any],
    global_: Mapping[str, Any],
    user_files: frozenset[str],
) -> list[tuple[str, Any]]:
    """What functions among the values read, and do not get as arguments: names and values."""
    values: list[tuple[str, Any]] = []
    own: dict[str, Any] = {}
    functions = dict(found)
    for _ in range(_METHODS_DEEP):
        for name, value in functions.items():
            if type(value) is types.FunctionType:
                values += helper_values(name, value, user_files)
        # an attribute of the object that the method is called on, a method that it calls in turn
        chains = dict.fromkeys(name for name, value in values if value is MISSING)
        more = resolve(_with_bases(chains), local, global_)
        functions = {n: v for n, v in more.items() if n not in own and n not in found}
        own |= more
        if not functions:
            break
    return [(n, v) for n, v in values if v is not MISSING] + list(own.items())


def _with_bases(chains: Mapping[str, None]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for chain in chains:
        parts = chain.split(".")
        for count in range(1, len(parts) + 1):
            found.setdefault(".".join(parts[:count]))
    return tuple(found)

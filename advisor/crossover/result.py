"""What a sweep came to, and what follows from it, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..cudatrace.evidence import uses_gpu
from ..model import Report
from .curves import Change, Condition, Curves, Lead
from .parameters import Parameter
from .versions import Kind, Version, cut_short

FLAT = 1.4
"""An interval whose ends are further apart tells of two curves that hardly cross."""
NO_TIME = "nothing was measured: the time budget was spent on finding and proving the rewrites"


@dataclass(frozen=True)
class Result:
    """One program, swept over one size."""

    report: Report
    parameter: Parameter
    fixed: tuple[Parameter, ...]
    """Other numbers that may be sizes, and kept their values."""
    versions: tuple[Version, ...]
    elsewhere: Mapping[Kind, str]
    """Versions that were not measured here, and why."""
    curves: Curves
    wrong: Mapping[Kind, str]
    unchecked: frozenset[int]
    """Sizes at which the original was not run: versions were compared with one another."""
    silent: bool
    partial: bool
    """The time budget ran out before every change of lead was enclosed closely."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """First and later runs; the latter alone where nothing is compiled."""
        compiled = any(version.kind.compiled for version in self.versions)
        return tuple(Condition) if compiled else (Condition.FIRST,)

    def lead(self, condition: Condition) -> Lead:
        """Who leads where, among all versions."""
        return self.curves.lead(condition)


def _others(result: Result, lead: Lead) -> bool:
    """Whether another version than the one that leads had the shortest time at some size."""
    curves = result.curves
    fastest = (curves.fastest(size, lead.condition) for size in curves.sizes)
    return any(kind not in (None, lead.smallest) for kind in fastest)


def size_words(change: Change) -> str:
    """``"330 (310-350)"``."""
    middle, low, high = (f"{value:.3g}" for value in (change.size, change.low, change.high))
    return middle if low == high else f"{_plain(middle)} ({_plain(low)}-{_plain(high)})"


def _plain(number: str) -> str:
    """Without an exponent: sizes are whole numbers."""
    return f"{float(number):.0f}"


def lead_words(result: Result, condition: Condition) -> str:
    """``"NumPy is fastest up to size = 330 (310-350), then numba"``."""
    lead, name = result.lead(condition), result.parameter.name
    if lead.smallest is None:
        return "nothing could be measured"
    if not lead.changes:
        sizes = result.curves.sizes
        if len(sizes) == 1:
            return f"{lead.smallest} is fastest at {name} = {sizes[0]}, the only size measured"
        noise = ", as far as can be told from the noise" if _others(result, lead) else ""
        return f"{lead.smallest} is fastest at every size from {sizes[0]} to {sizes[-1]}{noise}"
    parts = [f"{lead.smallest} is fastest up to {name} = {size_words(lead.changes[0])}"]
    for change, following in zip(lead.changes, (*lead.changes[1:], None), strict=True):
        upto = f" up to {size_words(following)}" if following is not None else ""
        parts.append(f"then {change.after}{upto}")
    return ", ".join(parts)


def flat_words(result: Result) -> Iterator[str]:
    """Changes of lead without a sharp place: which sizes they may lie between, and why."""
    for condition in result.conditions:
        for change in result.lead(condition).changes:
            if change.high > FLAT * change.low:
                low, high = (_plain(f"{value:.3g}") for value in (change.low, change.high))
                yield (
                    f"{condition}: between {result.parameter.name} = {low} and {high}, "
                    f"{change.before} and {change.after} differ by less than their runs do; "
                    f"{change.size:.3g} is the middle of that"
                )


def verdict(result: Result) -> str:
    """Stay on the CPU, move above a size, or move now; in one sentence without a full stop."""
    gpu = [v.kind for v in result.versions if v.kind.gpu and v.kind not in result.wrong]
    # A program that uses the GPU already has nowhere to move to: the best version is all to say.
    if not gpu or uses_gpu(result.report.sources.values()):
        return _best(result)
    later = result.lead(Condition.LATER)
    base = _size(result)
    moves = _moves(later)
    if later.smallest is not None and later.smallest.gpu:
        return f"move now: {later.smallest} is fastest from {result.curves.sizes[0]} on"
    if not moves:
        return (
            f"stay on the CPU: no GPU version is faster than {later.at(base)} "
            f"up to {result.parameter.name} = {result.curves.sizes[-1]}{_single_runs(result)}"
        )
    first, now = moves[0], later.at(base)
    where = f"{first.after} is faster than {first.before} above {size_words(first)}"
    if now is not None and now.gpu:
        return f"move now: {where}, and yours is {result.parameter.name} = {base}"
    return f"stay on the CPU at {result.parameter.name} = {base}; move to the GPU above it: {where}"


def _moves(lead: Lead) -> list[Change]:
    """Where a version for a GPU takes the lead from one for the CPU."""
    return [c for c in lead.changes if c.after.gpu and not c.before.gpu]


def _single_runs(result: Result) -> str:
    """From where on a GPU pays for somebody who runs the program once; empty if nowhere."""
    moves = _moves(result.lead(Condition.FIRST))
    if not moves:
        return ""
    where = f"above {result.parameter.name} = {size_words(moves[0])}"
    return f" in later runs; for a single run, {moves[0].after} is fastest {where}"


def _size(result: Result) -> int:
    """The user's size, or the nearest one that was measured where theirs lies outside of all."""
    sizes = result.curves.sizes or (result.parameter.value,)
    return min(max(result.parameter.value, sizes[0]), sizes[-1])


def _best(result: Result) -> str:
    """Which version is to be taken at the user's size."""
    if len(result.versions) == 1:
        unproved = "the time budget ended before a rewrite was proved"
        late = cut_short(result.report) or (unproved if result.report.partial else "")
        return late or "there is no rewrite to compare with"
    base, name = _size(result), result.parameter.name
    if not result.curves.sizes:
        return NO_TIME if result.partial else f"nothing could be measured at {name} = {base}"
    best = {c: result.lead(c).at(base) for c in result.conditions}
    later = best.get(Condition.LATER, best[Condition.FIRST])
    if later is None:
        return f"nothing could be measured at {name} = {base}"
    first = best[Condition.FIRST]
    if first is later or first is None:
        text = f"at {name} = {base}, {_take(later)}"
    else:
        text = f"at {name} = {base}, {_take(first)} for a single run, {_take(later)} for many"
    missing = " and ".join(str(kind) for kind in result.elsewhere if kind.gpu)
    if not missing or result.report.machine.gpus:
        return text
    return f"{text}; not measured here: {missing} (no CUDA device)"


def _take(kind: Kind) -> str:
    return "keep the original" if kind is Kind.ORIGINAL else f"take {kind}"

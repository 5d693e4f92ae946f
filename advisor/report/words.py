"""Numbers, places and verdicts in words: what all human-readable reports say the same way."""

from __future__ import annotations

import math
import os
import shlex
from pathlib import Path
from statistics import median
from typing import assert_never

from ..conditions import Turn
from ..model import (
    Condition,
    Corrected,
    Crashed,
    ErrorSize,
    Exactness,
    Exited,
    Inconclusive,
    Killed,
    Mismatch,
    NotFaster,
    OnlyTimed,
    Profile,
    Ratio,
    Region,
    RunEnd,
    Stopped,
    Target,
    TimedOut,
    Unavailable,
    Verdict,
    Verified,
)


# ----------------------------------------------------------------- numbers
def factor(value: float) -> str:
    """A speed-up without its unit: two digits that matter, ``"1.02"``, ``"6.4"``, ``"47"``."""
    if not math.isfinite(value):
        return str(value)
    if value < 2:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def speedup(ratio: Ratio) -> str:
    """``"47x (41-52x, n=5)"``; never without its interval and the number of runs."""
    runs = len(ratio.original), len(ratio.candidate)
    n = str(runs[0]) if runs[0] == runs[1] else f"{runs[0]} and {runs[1]}"
    return f"{factor(ratio.value)}x ({factor(ratio.low)}-{factor(ratio.high)}x, n={n})"


def times(ratio: Ratio) -> str:
    """``"6.44 s -> 137 ms"``, the medians; empty where no raw times were kept."""
    if not ratio.original or not ratio.candidate:
        return ""
    return f"{seconds(median(ratio.original))} -> {seconds(median(ratio.candidate))}"


def deciding(value: Verified | NotFaster) -> str:
    """The speed-up that counts: of a first run, or of all the runs the user will make."""
    text = speedup(value.deciding)
    return text if value.over is None else f"{text} in the mean of all runs"


def runs(value: Verified | NotFaster) -> str:
    """``"7.23 s -> 649 ms"``, and where later runs differ what they take as well."""
    first = times(value.speedup)
    if not first or value.later is None:
        return first
    return f"first run {first}, later runs {seconds(median(value.later.candidate))}"


def usage(ratio: Ratio) -> str:
    """``"CPU time 6.40 s -> 130 ms, page faults 4100 -> 9800"``: medians; empty if not kept."""
    before, after = ratio.original_usage, ratio.candidate_usage
    if not before or not after:
        return ""
    cpu = (seconds(median(u.cpu for u in side)) for side in (before, after))
    faults = (f"{median(u.faults for u in side):.0f}" for side in (before, after))
    return f"CPU time {' -> '.join(cpu)}, page faults {' -> '.join(faults)}"


def first_call(value: Verified) -> str:
    """What the first call costs, and after how many calls that is earned back."""
    cost, calls = value.first_call, value.break_even
    if cost < 0.0005:
        return "no measurable extra cost"
    text = f"{seconds(cost)} more than later ones (imports, compilation)"
    if calls is None:
        return f"{text}, which is never earned back"
    count = max(1, math.ceil(calls))
    return f"{text}; pays after {count} call{'s' * (count > 1)}"


def seconds(value: float) -> str:
    """Three digits in a fitting unit."""
    if not math.isfinite(value):
        return f"{value} s"
    if value >= 100:
        return f"{value:.0f} s"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * scale >= 0.9995:
            return f"{_three(value * scale)} {unit}"
    return f"{_three(value * 1e9)} ns" if value else "0 s"


def _three(value: float) -> str:
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}"


def percent(share: float) -> str:
    """A share of the run; tenths only where they matter."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 9.95 or value == 0 else f"{value:.1f} %"


def whole(profile: Profile | None) -> str:
    """What shares are shares of: line timing alone knows nothing of start-up and libraries."""
    sampled = profile is None or "scalene" in profile.method
    return "the run" if sampled else "the time in the script's own lines"


def size(count: int) -> str:
    """Bytes in a fitting decimal unit."""
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if value >= 10 or unit == "bytes" else f"{value:.1f} {unit}"


def error_size(error: ErrorSize) -> str:
    """How far the results are from the original's, and how many numbers that is said of."""
    count = f"{error.numbers} floating-point number{'' if error.numbers == 1 else 's'}"
    if error.exact:
        return f"equal bit for bit, {count}" if error.numbers else "equal bit for bit"
    parts = [f"largest deviation {error.absolute:.2g}", f"relative {error.relative:.2g}"]
    if error.ulp:
        parts.append(f"{error.ulp:.3g} units in the last place")
    return ", ".join(parts) + (f", of {count}" if error.numbers else "")


def entries(condition: Condition) -> str:
    """At how many entries of the loop it was seen: ``"100 entries"``, ``"20 of 1000 entries"``."""
    if not condition.entries:
        return ""
    every = "1 entry" if condition.entries == 1 else f"{condition.entries} entries"
    return every if condition.seen == condition.entries else f"{condition.seen} of {every}"


def signatures(region: Region) -> str:
    """What a rewrite for one of several type signatures leaves to the original loop."""
    seen = region.observation
    if seen is None or not seen.others:
        return ""
    return (
        f"types: seen with {seen.kinds} type signatures; rewritten for the one of {seen.entries} "
        f"of {seen.entries + seen.others} entries, the others run the original loop"
    )


# ------------------------------------------------------------------ places
def place(path: Path, root: Path) -> str:
    """The path as short as it stays clear: relative below ``root``, else absolute."""
    return os.fspath(path.relative_to(root)) if path.is_relative_to(root) else os.fspath(path)


def lines_of(region: Region) -> str:
    """``"line 7"`` or ``"lines 7-12"``."""
    first, last = region.lines
    return f"line {first}" if first == last else f"lines {first}-{last}"


def where(region: Region, root: Path) -> str:
    """``"life.py, lines 7-12, in step"``."""
    inside = region.site.qualname
    scope = "at module level" if inside == "<module>" else f"in {inside}"
    return f"{place(region.site.file, root)}, {lines_of(region)}, {scope}"


def program(target: Target) -> str:
    """The program with its arguments, as typed behind ``python``."""
    what = ["-m", target.module] if target.module else [_script(target)]
    return shlex.join([*what, *target.args])


def command(target: Target, *options: str) -> str:
    """What to type to run gpuadvise on the same program again."""
    return f"{shlex.join(['gpuadvise', *options])} {program(target)}"


def _script(target: Target) -> str:
    name = place(target.script, target.cwd)
    # gpuadvise rules  would be the table of rules, not the script of that name.
    plain = os.sep not in name and not name.endswith(".py")
    return f".{os.sep}{name}" if plain or name.startswith("-") else name


# ---------------------------------------------------------------- outcomes
def run_end(end: RunEnd) -> str:
    """How a run ended."""
    match end:
        case Exited(code=0):
            return "ended normally"
        case Exited(code=code):
            return f"ended with exit code {code}"
        case Killed(signal=number):
            return f"was ended by signal {number}"
        case Stopped(limit=limit):
            return f"was stopped after {limit:g} s"
        case _:
            assert_never(end)


def verdict(value: Verdict) -> str:
    """The verdict in one sentence without a full stop."""
    match value:
        case Verified():
            return f"verified, {deciding(value)}"
        case Mismatch(what=what):
            return f"rejected, the result differs: {what}{_digits(value)}"
        case Corrected():
            return _corrected(value)
        case OnlyTimed(speedup=ratio, inside=inside):
            loop = "" if inside is None else f", which is {factor(inside)} times as fast a loop"
            return (
                f"timed once, never offered as results change: {times(ratio)}, {speedup(ratio)}"
                f"{loop}"
            )
        case NotFaster(threshold=threshold):
            return f"equal, but no gain: {deciding(value)}, wanted {threshold:g}x"
        case Inconclusive(why=why) if why.startswith("not tried"):
            return f"unverified, {why}"
        case Inconclusive(why=why):
            return f"unverified, no verdict: {why}"
        case Crashed(why=why):
            return f"rejected, it failed: {why}"
        case TimedOut(limit=limit):
            return f"unverified, stopped after {limit:.3g} s"
        case Unavailable(why=why):
            return f"unverified, not run here: {why}"
        case _:
            assert_never(value)


def _corrected(value: Corrected) -> str:
    """No gain is told: there is none to be had."""
    told = "; ".join(f"it told {was!r}, and tells {now!r} now" for was, now in value.told)
    took = f"{seconds(value.original)}, and {seconds(value.corrected)} with the change"
    return (
        "a correction, not a gain: all output equal but for the script's own times "
        f"({value.compared}){'; ' if told else ''}{told}; the whole script took {took}"
    )


def _digits(value: Mismatch) -> str:
    """What a rewrite would gain for somebody who can do with other digits."""
    if value.within is None or value.speedup is None:
        return ""
    later = ""
    if value.later is not None:
        took = f"{times(value.later)}, {speedup(value.later)}"
        later = f" (later runs, which find the compiled code: {took})"
    return (
        f"; with it the whole script took {times(value.speedup)}, {speedup(value.speedup)}{later}, "
        f"and all written numbers are within {100 * value.within:g} % of the original's, which is "
        "more than rounding: not offered"
    )


def verdict_style(value: Verdict) -> str:
    """Its colour: standard ANSI ones that can be read on black and on white."""
    match value:
        case Verified():
            return "bold green"
        case Mismatch() | Crashed():
            return "bold red"
        case Corrected():
            return "bold"
        case NotFaster() | OnlyTimed():
            return "magenta"
        case Inconclusive() | TimedOut() | Unavailable():
            return "bold magenta"
        case _:
            assert_never(value)


def turned(found: Turn, rule: str) -> str:
    """What would win under other conditions, and by how much."""
    rival, now = found.rival, found.incumbent
    if found.runs == 1:
        return (
            f"For a single run {rule} would win: {seconds(rival.first)}, not {seconds(now.first)}"
        )
    took = f"later runs take {seconds(rival.later)}, not {seconds(now.later)}"
    return f"With --runs {found.runs} or more {rule} would win: {took}"


def exactness(value: Exactness) -> str:
    """How close the results are, and what that means on other data than those of this run."""
    match value:
        case Exactness.BITS:
            return "bit for bit"
        case Exactness.REASSOCIATED:
            way = "sums are added in another order"
        case Exactness.LAST_DIGIT:
            way = "library functions round in another way"
        case _:
            assert_never(value)
    return f"{way}: equal within rounding, so on other data the last digits may differ"


def states(value: Verified) -> str:
    """What a verified candidate was compared on."""
    if value.states == 0:
        return value.compared
    calls = "1 recorded state" if value.states == 1 else f"{value.states} recorded states"
    if value.perturbed:
        more = "input" if value.perturbed == 1 else "inputs"
        calls += f" and {value.perturbed} perturbed {more}"
    what, _, remarks = value.compared.partition("; ")
    return f"{what}, on {calls} of the program" + (f"; {remarks}" if remarks else "")

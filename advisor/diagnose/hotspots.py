"""From what the profilers said to one profile: which functions and lines take the time."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ..model import FunctionTime, LineTime, Profile, RunResult, Source
from ..observe.userfiles import user_files
from .program import MODULE, Program, Scope

__all__ = ["hot_functions", "merge", "user_files"]

MIN_SHARE = 0.03
"""Amdahl: what takes less can make the script 3 % faster at most."""
CALL_SECONDS = 3e-7
"""A traced line that calls a user function takes about so long by itself; the rest of its time is
the callee's, which is counted there."""


class Sampled(Protocol):
    """What the sampling profiler gave (``observe.scalene.ScaleneResult``)."""

    @property
    def functions(self) -> tuple[FunctionTime, ...]: ...
    @property
    def lines(self) -> tuple[LineTime, ...]: ...
    @property
    def samples(self) -> int: ...
    @property
    def by(self) -> str: ...
    @property
    def partial(self) -> bool: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


class Measured(Protocol):
    """What the line timing gave (``observe.lines.LinesResult``)."""

    @property
    def lines(self) -> tuple[LineTime, ...]: ...
    @property
    def partial(self) -> bool: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


def hot_functions(
    functions: Iterable[FunctionTime], min_share: float = MIN_SHARE
) -> tuple[FunctionTime, ...]:
    """Functions with at least ``min_share`` of the run, the hottest first."""
    hot = [function for function in functions if function.share >= min_share]
    return tuple(sorted(hot, key=lambda f: (-f.share, str(f.file), f.first_line)))


@dataclass(frozen=True)
class _Line:
    """One line of a scope with everything known of it."""

    time: LineTime
    weight: float
    """Seconds of its own under line_profiler, calls of user functions taken off."""
    is_import: bool


def merge(
    bare: RunResult,
    sampled: Sampled | None,
    measured: Measured | None,
    sources: Mapping[Path, Source],
) -> Profile:
    """One profile: each function's total from the samples, spread over its lines as measured.

    Without samples (short scripts) the line times alone decide. Lines with imports keep their
    sampled shares but get no ``share``: they are no target for a rewrite.
    """
    program = Program(sources)
    sampled_lines = sampled.lines if sampled is not None else ()
    lines = _joined(sampled_lines, measured.lines if measured is not None else ())
    by_scope: dict[Scope | None, list[_Line]] = {}
    for (file, number), time in lines.items():
        scope = program.owner(file, number)
        by_scope.setdefault(scope, []).append(_line(program, scope, time))
    if sampled is not None and sampled.functions:
        functions = tuple(_named(program, f) for f in sampled.functions)
        method = f"{sampled.by} (functions) and line_profiler (lines)"
        if sampled.samples == 0 and sampled.by == "scalene":
            method = "line_profiler"
        if sampled.by != "scalene" and (measured is None or not measured.lines):
            method = sampled.by
    else:
        functions = _functions_from_lines(by_scope)
        method = "line_profiler"
    shares = {(f.file, f.qualname): f.share for f in functions}
    spread = [time for scope, own in by_scope.items() for time in _spread(scope, own, shares)]
    parts = [part for part in (sampled, measured) if part is not None]
    return Profile(
        bare=bare,
        functions=tuple(sorted(functions, key=lambda f: -f.share)),
        lines=tuple(sorted(spread, key=lambda t: (-t.share, str(t.file), t.line))),
        method=method,
        partial=any(part.partial for part in parts),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _joined(
    sampled: Iterable[LineTime], measured: Iterable[LineTime]
) -> dict[tuple[Path, int], LineTime]:
    lines = {(time.file, time.line): time for time in sampled}
    for time in measured:
        known = lines.get((time.file, time.line), LineTime(time.file, time.line))
        # A line can be in two code objects (a lambda, a nested function on one line).
        hits = (known.hits or 0) + (time.hits or 0)
        seconds = (known.seconds or 0.0) + (time.seconds or 0.0)
        lines[time.file, time.line] = replace(known, hits=hits, seconds=seconds)
    return lines


def _line(program: Program, scope: Scope | None, time: LineTime) -> _Line:
    if scope is None:
        return _Line(time, 0.0, False)
    seconds = time.seconds or 0.0
    if program.called_in(scope, time.line, time.line):
        seconds = min(seconds, (time.hits or 0) * CALL_SECONDS)
    is_import = any(
        isinstance(s, ast.Import | ast.ImportFrom)
        and s.lineno <= time.line <= (s.end_lineno or s.lineno)
        for s in scope.statements
    )
    return _Line(time, seconds, is_import)


def _named(program: Program, function: FunctionTime) -> FunctionTime:
    """The function under the name its code has, with the lines the text gives it."""
    scope = program.named(function.file, function.qualname, function.first_line)
    if scope is None or scope.is_module:
        return function
    return replace(
        function,
        qualname=scope.qualname,
        first_line=scope.first_line,
        last_line=scope.node.end_lineno or function.last_line,  # type: ignore[union-attr]
    )


def _functions_from_lines(
    by_scope: Mapping[Scope | None, list[_Line]],
) -> tuple[FunctionTime, ...]:
    totals = {
        scope: sum(line.weight for line in own if not line.is_import)
        for scope, own in by_scope.items()
        if scope is not None
    }
    whole = sum(totals.values())
    return tuple(
        FunctionTime(
            file=scope.file,
            qualname=scope.qualname,
            first_line=scope.first_line,
            last_line=max(scope.lines, default=scope.line),
            python_share=total / whole,
            native_share=0.0,
        )
        for scope, total in totals.items()
        if total > 0.0
    )


def _spread(
    scope: Scope | None, own: list[_Line], shares: Mapping[tuple[Path, str], float]
) -> list[LineTime]:
    """A scope's lines with its share divided among them."""
    if scope is None:
        return [line.time for line in own]
    share = shares.get((scope.file, scope.qualname), 0.0)
    ranked = [line for line in own if not line.is_import]
    sampled_imports = sum(_sampled(line.time) for line in own if line.is_import)
    if scope.qualname == MODULE:
        # Only loops are timed at top level; imports are in the function's total.
        share = max(0.0, share - sampled_imports)
    weights = [line.weight for line in ranked]
    if sum(weights) <= 0.0 or (scope.is_module and not _covers(ranked)):
        weights = [_sampled(line.time) for line in ranked]
    whole = sum(weights)
    spread = [
        replace(line.time, share=share * weight / whole if whole > 0.0 else 0.0)
        for line, weight in zip(ranked, weights, strict=True)
    ]
    return spread + [line.time for line in own if line.is_import]


def _sampled(time: LineTime) -> float:
    return time.python_share + time.native_share + time.system_share


def _covers(lines: list[_Line]) -> bool:
    """Whether the lines that were timed are those where the samples fell, for the most part."""
    everything = sum(_sampled(line.time) for line in lines)
    timed = sum(_sampled(line.time) for line in lines if line.weight > 0.0)
    return everything == 0.0 or timed >= 0.8 * everything

"""``gpuadvise crossover``: the program's rewrites, over a range of problem sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ..deadline import Deadline, process_age
from ..errors import UsageProblem, UserError
from ..model import Outcome, Region, Report, Target
from ..observe.sandbox import Sandbox
from ..options import Options
from ..outputs import check_outputs, write_json
from ..pipeline import advise
from ..progress import Stages
from ..target import read_sources, resolve
from .curves import Condition
from .parameters import LEAST, Parameter, find, joined, rank
from .result import Result, lead_words, verdict
from .sweep import RESOLUTION, Sweep
from .versions import Kind, cut_short, versions
from .view import described, render

SCHEMA = 1
"""Version of the JSON document; it changes when a field's meaning does."""
FOR_ADVICE = 0.5
"""Part of the budget for finding and proving the rewrites."""
SWEEPS, AT_LEAST = 12.0, 90.0
"""Without ``--budget``, the sweep may take so many runs of the program, and seconds."""


@dataclass(frozen=True)
class Wanted:
    """What ``--size`` says: which number, and at which values; both may be left to the tool."""

    name: str | None = None
    sizes: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str | None) -> Wanted:
        """``"N"``, ``"N=10,100,1000"`` or nothing. Raises UsageProblem."""
        if text is None:
            return cls()
        name, equals, listed = text.partition("=")
        try:
            sizes = tuple(int(part.replace("_", "")) for part in listed.split(",") if part.strip())
        except ValueError:
            raise UsageProblem(
                f"--size takes whole numbers: NAME=10,100,1000, not {text!r}"
            ) from None
        if not name.strip() or (equals and not sizes) or any(size < 1 for size in sizes):
            raise UsageProblem(f"--size takes NAME or NAME=10,100,1000, not {text!r}")
        return cls(name.strip(), tuple(sorted(set(sizes))))


def crossover(
    command: tuple[str, ...],
    module: str | None,
    console: Console,
    *,
    options: Options,
    size: str | None = None,
    json: Path | None = None,
) -> Result:
    """Find the size, race the versions over it, show and write what was found.

    ``options.budget`` bounds all the time beyond the program's own run. Raises UsageProblem or
    UserError, before the program runs wherever that can be known.
    """
    wanted = Wanted.parse(size)
    target = resolve(command, module)
    check_outputs((json,), target.script)
    if wanted.name is not None:
        _named(wanted.name, find(read_sources(target), target))
    found: list[Result] = []
    before, started = process_age(), Deadline(None)

    def sweep(box: Sandbox, stdin: Path, report: Report) -> None:
        spent = before + started.spent - _bare(report)
        found.append(_sweep(box, stdin, report, target, wanted, options, stages, spent))

    stages = Stages(console)
    share = None if options.budget is None else FOR_ADVICE * options.budget
    report = advise(target, _survey(options, share), stages, before, then=sweep)
    if report.outcome is Outcome.SCRIPT_FAILED:
        raise UserError(report.message)
    (result,) = found
    if json is not None:
        write_json(json, to_json(result))
    render(result, console)
    return result


def _survey(options: Options, budget: float | None) -> Options:
    return Options(
        allow=options.allow,
        unsafe=options.unsafe,
        budget=budget,
        time_limit=options.time_limit,
        survey=True,
    )


def _bare(report: Report) -> float:
    return report.profile.bare.wall if report.profile is not None else 0.0


def _sweep(
    box: Sandbox,
    stdin: Path,
    report: Report,
    target: Target,
    wanted: Wanted,
    options: Options,
    stages: Stages,
    spent: float,
) -> Result:
    parameter, others = pick(report, target, wanted)
    racing = versions(report)
    budget = SWEEPS * _bare(report) + AT_LEAST
    if options.budget is not None:
        budget = max(0.0, options.budget - spent)
    sweep = Sweep(
        box,
        target,
        stdin,
        report.sources,
        parameter,
        racing.here,
        Deadline(budget),
        unsafe=options.unsafe,
    )
    with stages.stage("sizes"):
        sweep.progress = stages.detail
        if len(racing.here) > 1:
            sweep.at(wanted.sizes) if wanted.sizes else sweep.around(parameter.value)
    enclosed = bool(wanted.sizes) or sweep.curves.widest(RESOLUTION, tuple(Condition)) is None
    return Result(
        report=report,
        parameter=parameter,
        fixed=others,
        versions=racing.here,
        elsewhere=racing.elsewhere,
        curves=sweep.curves,
        wrong=sweep.wrong,
        unchecked=frozenset(sweep.unchecked),
        silent=sweep.silent,
        partial=sweep.cut or sweep.deadline.over or report.partial or not enclosed,
    )


# --------------------------------------------------------------------- size
def pick(report: Report, target: Target, wanted: Wanted) -> tuple[Parameter, tuple[Parameter, ...]]:
    """The number to sweep, and the likely others. Raises UsageProblem with what was found."""
    known = find(report.sources, target)
    likely = rank(known, _regions(report))
    if wanted.name is not None:
        chosen = _named(wanted.name, known)
        return chosen, _once(p for p in likely if p.name != chosen.name)
    if not likely and len(known) == 1:
        likely = known
    if not likely:
        raise UsageProblem(_not_found(known, cut_short(report)))
    chosen = joined(likely[0], likely)
    taken = set(chosen.places)
    return chosen, _once(p for p in likely if not taken.issuperset(p.places))


def _once(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """The first of each name: what is given on the command line hides the default."""
    named: dict[str, Parameter] = {}
    for parameter in parameters:
        named.setdefault(parameter.name, parameter)
    return tuple(named.values())


def _regions(report: Report) -> list[Region]:
    """All hot loops that were looked at, the hottest first."""
    regions = [finding.region for finding in report.findings]
    regions += [refused.region for refused in report.refused]
    return sorted(regions, key=lambda region: -region.share)


def _named(name: str, known: Sequence[Parameter]) -> Parameter:
    """The parameter of a name; ``A+B`` are several that vary together. Raises UsageProblem."""
    chosen: list[Parameter] = []
    for part in name.lstrip("-").split("+"):
        fitting = [p for p in known if p.name == part or part in p.name.split("+")]
        if not fitting:
            raise UsageProblem(f"no number is called {part!r}; {_found(known)}")
        # What was given on the command line hides the default of the same name.
        chosen.append(fitting[0])
    places = tuple(dict.fromkeys(place for p in chosen for place in p.places))
    return Parameter("+".join(p.name for p in chosen), chosen[0].value, places)


def _not_found(known: Sequence[Parameter], cut: str) -> str:
    none = "none of the program's numbers is an extent of the arrays, or a bound of the loops, in "
    why = f"{cut}; a larger --budget would find it" if cut else f"{none}its hot loops"
    there = _found(known)
    return (
        f"no problem size was found: {why}. {there[0].upper()}{there[1:]}. Name one: "
        "gpuadvise crossover --size NAME=10,100,1000 SCRIPT"
    )


def _found(known: Sequence[Parameter]) -> str:
    if not known:
        return f"no whole number of {LEAST} or more stands in it or on its command line"
    return "there are " + "; ".join(described(p) for p in known[:8])


# --------------------------------------------------------------------- JSON
def to_json(result: Result) -> dict[str, Any]:
    """The sweep as plain values; times in seconds."""
    rows = result.curves.rows
    return {
        "schema": SCHEMA,
        "program": [*result.report.target.command],
        "machine": asdict(result.report.machine),
        "parameter": {
            "name": result.parameter.name,
            "value": result.parameter.value,
            "where": result.parameter.where,
        },
        "versions": [
            {
                "kind": str(version.kind),
                "rules": list(version.rules),
                "wrong": result.wrong.get(version.kind),
                "points": [_point(size, rows[size][version.kind]) for size in result.curves.sizes],
            }
            for version in result.versions
        ],
        "elsewhere": {str(kind): why for kind, why in result.elsewhere.items()},
        "compared_with_the_original": [s for s in rows if s not in result.unchecked],
        "leads": [_lead(result, condition) for condition in result.conditions],
        "verdict": verdict(result),
        "partial": result.partial,
    }


def _point(size: int, point: Any) -> dict[str, Any]:
    return {"size": size, **{key: value or None for key, value in asdict(point).items()}}


def _lead(result: Result, condition: Condition) -> dict[str, Any]:
    lead = result.lead(condition)
    return {
        "condition": str(condition),
        "smallest": None if lead.smallest is None else str(lead.smallest),
        "changes": [
            {
                "before": str(change.before),
                "after": str(change.after),
                "size": change.size,
                "low": change.low,
                "high": change.high,
            }
            for change in lead.changes
        ],
        "words": lead_words(result, condition),
    }


__all__ = ["Kind", "crossover", "pick", "to_json"]

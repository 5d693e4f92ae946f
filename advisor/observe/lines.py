"""The instrumented run, seen from the tool: exact line times, observed values, held states."""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..model import (
    Exited,
    LineTime,
    RunEnd,
    RunResult,
    Site,
    SiteObservation,
    Stopped,
    Target,
    ValueInfo,
)
from .instrument import MODULE, function_names
from .plan import FilePlan, RunPlan, SitePlan, plan_to_json
from .records import observation_from_json
from .sandbox import Sandbox
from .session import STATES
from .userfiles import user_files

GRACE = 3.0
WRITING, WRITING_SHARE = 0.5, 0.15
"""Beyond its limit the run has so many seconds, and such a part of the limit, for its records, at
most ``GRACE`` together; then it is stopped from outside, as it may be waiting."""
WHOLE = 20.0
"""Times the budget where line timing alone has to say which functions are hot."""


@dataclass(frozen=True)
class LinesResult:
    """What the instrumented run gave."""

    lines: tuple[LineTime, ...]
    """Hits and seconds by line; the shares are left 0 (see ``diagnose.hotspots.merge``)."""
    sites: Mapping[str, SiteObservation]
    """By ``Site.key``; sites that were never loaded are missing."""
    partial: bool
    """The run did not reach its own end, or its records were lost."""
    notes: tuple[str, ...]
    ended: RunEnd
    run: RunResult | None = None
    """The run itself: what it wrote is what the program writes."""


def observe_lines(
    box: Sandbox,
    target: Target,
    *,
    sites: Sequence[Site],
    functions: Sequence[tuple[Path, str]] | None,
    budget: float = 1.0,
    limit: float | None = None,
    stdin: Path | None = None,
    states_address: str | None = None,
    expected: float | None = None,
) -> LinesResult:
    """Run the program once in the sandbox with line timing and hooks at ``sites``.

    Args:
        box: where to run.
        target: the program.
        sites: loops and functions to observe; states are held at the function sites and at loops
            of top-level code, if ``states_address`` is given.
        functions: original file and qualified name of the functions to time (``"<module>"`` for
            top-level loops); None: every function of the user's files.
        budget: CPU seconds of line timing.
        limit: wall seconds for the run.
        stdin: what the program reads.
        states_address: socket that held states connect to.
        expected: seconds the program takes by itself, so that timing is spread over all of it.

    Raises nothing of the program's: however it ends, the result says so.
    """
    if limit is not None and limit <= 0.0:
        note = "no time was left for an instrumented run"
        return LinesResult((), {}, partial=True, notes=(note,), ended=Stopped(0.0))
    out = box.own / "lines.json"
    out.unlink(missing_ok=True)
    plan = make_plan(box, target, sites, functions, budget, limit, out, expected)
    config = box.own / "plan.json"
    config.write_text(json.dumps(plan_to_json(plan)), encoding="utf-8")
    runner = Path(__file__).with_name("runner.py")
    env = {STATES: states_address} if states_address is not None else {}
    result = box.run(
        [target.python, str(runner), str(config)],
        env=env,
        limit=None if limit is None else limit + min(GRACE, WRITING + WRITING_SHARE * limit),
        stdin=stdin,
    )
    found = read_records(box, out, result.end, limit)
    return replace(found, run=replace(result, end=found.ended))


def make_plan(
    box: Sandbox,
    target: Target,
    sites: Sequence[Site],
    functions: Sequence[tuple[Path, str]] | None,
    budget: float,
    limit: float | None,
    out: Path,
    expected: float | None,
) -> RunPlan:
    """The plan with every path as the run finds it."""
    known = user_files(target)
    if functions is None:
        # A short script: time all of it, without breaks, so that functions can be compared.
        budget, expected = WHOLE * budget, 0.0
    timed: dict[Path, list[str]] = {}
    for path, qualname in functions or ():
        timed.setdefault(path, []).append(qualname)
    paths = {*timed, *(site.file for site in sites)}
    if functions is None:
        paths.update(known)
    files = tuple(
        FilePlan(
            path=str(box.path(path)),
            original=str(path),
            functions=None if functions is None else _in_text(path, timed.get(path, [])),
            sites=tuple(
                SitePlan(site.key, site.line, site.qualname, site.is_function)
                for site in sites
                if site.file == path
            ),
        )
        for path in sorted(paths)
    )
    return RunPlan(
        script=str(box.path(target.script)),
        module=target.module,
        args=tuple(box.arguments()),
        files=files,
        user_files=tuple(str(box.path(path)) for path in sorted({*known, *paths})),
        budget=budget,
        limit=limit,
        out=str(out),
        expected=expected,
        started=time.monotonic(),
        argv0=box.script(),
    )


def _in_text(path: Path, names: list[str]) -> tuple[str, ...]:
    """The functions' names as their code objects have them.

    A sampling profiler may write ``inner`` or ``outer.inner`` for ``outer.<locals>.inner``.
    """
    try:
        known = [name for name, _ in function_names(ast.parse(path.read_bytes()))]
    except (OSError, SyntaxError, ValueError):
        known = []
    found: dict[str, None] = {}
    for name in names:
        if name == MODULE or name in known:
            found[name] = None
            continue
        last = name.rpartition(".")[2]
        found.update(dict.fromkeys(k for k in known if k.rpartition(".")[2] == last))
    return tuple(found)


def read_records(box: Sandbox, out: Path, ended: RunEnd, limit: float | None) -> LinesResult:
    """The run's records with original paths; an empty, partial result where there are none."""
    try:
        data: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        note = "the instrumented run ended without leaving its records"
        return LinesResult((), {}, partial=True, notes=(note,), ended=ended)
    if data["ended"] == "limit":
        ended = Stopped(limit if limit is not None else 0.0)
    lines = tuple(
        LineTime(file=box.original(Path(file)), line=line, hits=hits, seconds=seconds)
        for file, line, hits, seconds in data["lines"]
    )
    sites = {
        key: _with_originals(box, observation_from_json(observation))
        for key, observation in data["sites"].items()
    }
    partial = not isinstance(ended, Exited)
    return LinesResult(lines, sites, partial, tuple(data["notes"]), ended)


def _with_originals(box: Sandbox, observation: SiteObservation) -> SiteObservation:
    def moved(info: ValueInfo) -> ValueInfo:
        if info.target_file is None:
            return info
        return replace(info, target_file=box.original(info.target_file))

    values = {name: moved(info) for name, info in observation.values.items()}
    return replace(observation, values=values)

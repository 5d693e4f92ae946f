"""The whole journey of a script, top to bottom.

    bare run -> scalene -> line profile + observed values -> regions -> rules -> trials -> report

The first run is the user's own; every other happens in a scratch copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from .conclusion import conclusion, unconfirmed
from .deadline import Deadline
from .diagnose.hotspots import hot_functions, merge
from .diagnose.regions import regions as find_regions
from .diagnose.sites import find_sites
from .failures import failed_run
from .matching import Tried, match_rules
from .model import (
    Exited,
    Outcome,
    Profile,
    Region,
    Report,
    RunResult,
    Source,
    Stopped,
    Target,
)
from .observe.bare import real_run
from .observe.lines import observe_lines
from .observe.machine import describe
from .observe.sandbox import Sandbox
from .observe.scalene import EMPTY, ScaleneResult
from .observe.scalene import profile as run_scalene
from .options import Options
from .progress import Stages
from .target import read_sources
from .verify.choose import Chosen, choose
from .verify.script import ScriptTrials
from .verify.server import StateServer

SHORT_RUN = 0.5
"""Seconds of bare run below which sampling says little: 100 ms give five samples."""
LINE_BUDGET = 1.0
"""CPU seconds of line timing a function: its line shares were then within 1.2 points."""
LINE_SHARE = 0.6
"""All line timing together may take so much of a bare run: several hot functions share it."""


def allowed(budget: float | None, bare: RunResult) -> float:
    """Seconds for all runs after the first; by default, 4 bare runs and 15 s in all.

    Two of those seconds are kept for the tool's own start, the scratch copy and the report.
    """
    return 3.0 * bare.wall + 13.0 if budget is None else budget


def advise(target: Target, options: Options, stages: Stages | None = None) -> Report:
    """Run the script, try rewrites of what is hot in it, and report.

    Raises UserError where the script's files cannot be read, KeyboardInterrupt after an
    interrupt; nothing is left behind and no file of the user's is changed in any case.
    """
    journey = Journey(target, options, stages or Stages(), datetime.now().astimezone())
    with Sandbox(target) as box:
        # Before the program runs: it may change or remove its own files.
        sources = read_sources(target)
        stdin = box.root / "stdin"
        with journey.stages.stage("bare run", quiet=True):
            bare = real_run(target, limit=options.time_limit, record=stdin)
        if not (bare.ok or isinstance(bare.end, Stopped)):
            return journey.report(Outcome.SCRIPT_FAILED, failed_run(target, bare))
        return journey.look_closer(box, bare, stdin, sources)


@dataclass(frozen=True)
class Looked:
    """What the profiled runs gave."""

    profile: Profile
    chains: tuple[tuple[Region, ...], ...]


@dataclass(frozen=True)
class Journey:
    """One run of the tool: what all stages share."""

    target: Target
    options: Options
    stages: Stages
    started: datetime

    def look_closer(
        self, box: Sandbox, bare: RunResult, stdin: Path, sources: Mapping[Path, Source]
    ) -> Report:
        """All that follows a bare run that went well."""
        deadline = Deadline(allowed(self.options.budget, bare))
        originals = {path: source.data for path, source in sources.items()}
        with StateServer(originals, box.own) as server:
            looked = self.observe(box, bare, stdin, sources, server, deadline)
            with self.stages.stage("rewrites"):
                tried = match_rules(looked.chains, self.options, sources.values())
            with self.stages.stage("trials"):
                trials = ScriptTrials(box, self.target, stdin, self.options.time_limit, bare.end)
                chosen = choose(
                    tried.candidates,
                    server,
                    trials,
                    bare_wall=bare.wall,
                    min_speedup=self.options.min_speedup,
                    deadline=deadline,
                    unsafe=self.options.unsafe,
                    progress=self.stages.detail,
                )
        return self.finish(box, sources, looked, tried, chosen, deadline)

    # ------------------------------------------------------------ observe
    def observe(
        self,
        box: Sandbox,
        bare: RunResult,
        stdin: Path,
        sources: Mapping[Path, Source],
        server: StateServer,
        deadline: Deadline,
    ) -> Looked:
        """Which loops are hot, and what they work on."""
        limit = deadline.within(self.options.time_limit)
        with self.stages.stage("scalene"):
            sampled = self.sample(box, bare, stdin, sources, limit)
        hot = hot_functions(sampled.functions)
        sites = find_sites(sources, hot)
        with self.stages.stage("line profile"):
            timed = [(function.file, function.qualname) for function in hot]
            look = partial(
                observe_lines,
                box,
                self.target,
                sites=sites,
                budget=min(LINE_BUDGET, LINE_SHARE * bare.wall / max(1, len(timed))),
                stdin=stdin,
                states_address=server.address,
                expected=bare.wall,
            )
            measured = look(functions=timed, limit=deadline.within(self.options.time_limit))
            if isinstance(measured.ended, Exited) and measured.ended != bare.end and bare.ok:
                # Tracing holds references: ndarray.resize() then fails, for one. Once without it.
                measured = look(functions=[], limit=deadline.within(self.options.time_limit))
        profile = merge(bare, sampled, measured, sources)
        return Looked(profile, find_regions(sources, sites, profile, measured.sites))

    def sample(
        self,
        box: Sandbox,
        bare: RunResult,
        stdin: Path,
        sources: Mapping[Path, Source],
        limit: float | None,
    ) -> ScaleneResult:
        """Function totals from scalene; from line_profiler where sampling says too little."""
        sampled = EMPTY
        if bare.wall >= SHORT_RUN:
            sampled = run_scalene(box, self.target, limit=limit, stdin=stdin, bare_wall=bare.wall)
        if sampled.functions:
            return sampled
        everything = observe_lines(
            box, self.target, sites=(), functions=None, budget=LINE_BUDGET, limit=limit, stdin=stdin
        )
        alone = merge(bare, None, everything, sources)
        why = "too short a run for sampling" if bare.wall < SHORT_RUN else "no samples"
        note = f"{why}: functions are ranked by line_profiler alone; shares are of what it timed"
        return replace(sampled, functions=alone.functions, notes=(*sampled.notes, note))

    # ------------------------------------------------------------- report
    def finish(
        self,
        box: Sandbox,
        sources: Mapping[Path, Source],
        looked: Looked,
        tried: Tried,
        chosen: Chosen,
        deadline: Deadline,
    ) -> Report:
        """The report of a journey that reached its end."""
        found = chosen.patched or unconfirmed(chosen)
        outcome = Outcome.ADVICE if found else Outcome.NOTHING
        report = self.report(outcome, conclusion(looked.profile, looked.chains, chosen, deadline))
        notes = (*looked.profile.notes, *box.notes, *chosen.notes)
        return replace(
            report,
            profile=looked.profile,
            sources=dict(sources),
            findings=chosen.findings,
            refused=(*tried.refused, *chosen.refused),
            script_verdict=chosen.script_verdict,
            patched=chosen.patched,
            notes=tuple(dict.fromkeys(notes)),
            partial=looked.profile.partial or chosen.partial,
        )

    def report(self, outcome: Outcome, message: str) -> Report:
        """The head that every report has."""
        return Report(
            target=self.target,
            machine=describe(),
            started=self.started.isoformat(timespec="seconds"),
            outcome=outcome,
            message=message,
            costs=tuple(self.stages.costs),
        )

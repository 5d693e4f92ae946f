"""The whole journey of a script, top to bottom.

    bare run -> scalene -> line profile + observed values -> regions -> rules -> trials -> report

The first run is the user's own; every other happens in a scratch copy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from .conclusion import conclusion, unconfirmed
from .cudatrace.evidence import by_line, gather, uses_gpu
from .cudatrace.ranking import all_on_gpu
from .cudatrace.ranking import sampled as ranked
from .deadline import LOADING, Deadline, InTime, sampling_limit, tracing_limit
from .diagnose.hotspots import hot_functions, merge
from .diagnose.regions import regions as find_regions
from .diagnose.sites import find_sites
from .failures import failed_copy, failed_run
from .gpucode import unmeasured
from .gpumodel import GpuWork
from .matching import Tried, match_rules, still_there
from .model import (
    Exited,
    Machine,
    Outcome,
    Profile,
    Region,
    Report,
    RunResult,
    Site,
    Source,
    Stopped,
    Target,
)
from .observe.bare import real_run
from .observe.lines import LinesResult, observe_lines
from .observe.machine import describe
from .observe.sandbox import Sandbox
from .observe.scalene import EMPTY, ScaleneResult
from .observe.scalene import profile as run_scalene
from .options import Options
from .progress import TOGETHER, Stages
from .registry import rules
from .sidebyside import SampledAside, both, everything, may_run_twice
from .target import read_sources
from .verify.choose import Chosen, choose
from .verify.script import ScriptTrials
from .verify.server import StateServer
from .verify.survey import survey

SHORT_RUN = 0.5
"""Seconds of bare run below which sampling says little: 100 ms give five samples."""
LINE_BUDGET = 1.0
"""CPU seconds of line timing, shared by all functions in proportion to their time: the line shares
of a function that has most of it were then within 1.2 points."""
LINE_SHARE = 0.2
"""Line timing may take so much of a bare run: a timed line takes three to five times as long."""
LINE_LEAST = 0.1
"""CPU seconds of line timing in any run: ten ticks of the clock that keeps the budget."""


CLOSING = 0.3
CLOSING_SHARE = 0.4
"""Seconds kept for ending what runs, removing the scratch copy and printing the report; on a slow
or busy machine this part of what the start took."""


SURVEY = 3.0
"""Proving all rewrites, not only those that can win here, may take so many times as long."""


def default_budget(bare_wall: float) -> float:
    """Seconds beyond the program's own run where the user gives no ``--budget``."""
    return 3.0 * bare_wall + 15.0


def allowed(budget: float | None, bare: RunResult, before: float) -> float:
    """Seconds left for all runs after the first.

    The budget covers all of the tool but the program's own run: ``before`` is what its start and
    the scratch copy took.
    """
    whole = default_budget(bare.wall) if budget is None else budget
    return max(0.0, whole - before - max(CLOSING, CLOSING_SHARE * before))


def advise(
    target: Target,
    options: Options,
    stages: Stages | None = None,
    spent: float = 0.0,
    then: Callable[[Sandbox, Path, Report], None] | None = None,
) -> Report:
    """Run the script, try rewrites of what is hot in it, and report.

    ``spent``: seconds that the tool took before this call, which count to the budget. ``then`` gets
    the scratch copy, the recorded standard input and the report, before the copy is removed.

    Raises UserError where the script's files cannot be read, KeyboardInterrupt after an
    interrupt; nothing is left behind and no file of the user's is changed in any case.
    """
    began = time.monotonic() - spent
    started = datetime.now().astimezone()
    journey = Journey(target, options, stages or Stages(), started, describe())
    with Sandbox(target) as box:
        # Before the program runs: it may change or remove its own files.
        sources = read_sources(target)
        stdin = box.root / "stdin"
        with journey.stages.stage("bare run", quiet=True):
            bare = real_run(target, limit=options.time_limit, record=stdin)
        if not (bare.ok or isinstance(bare.end, Stopped)):
            return journey.failed(bare, sources)
        before = max(0.0, time.monotonic() - began - bare.wall)
        journey.stages.began(before)
        whole = options.budget
        if whole is None:
            whole = default_budget(bare.wall) * (SURVEY if options.survey else 1.0)
        left = allowed(whole, bare, before)
        deadline = Deadline(left, outside=whole - left)
        report = journey.look_closer(box, bare, stdin, sources, deadline)
        if then is not None:
            then(box, stdin, report)
        return report


@dataclass(frozen=True)
class Looked:
    """What the profiled runs gave."""

    profile: Profile
    chains: tuple[tuple[Region, ...], ...]
    run: RunResult | None = None
    """The instrumented run, if it came to its end."""
    gpu: GpuWork | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Journey:
    """One run of the tool: what all stages share."""

    target: Target
    options: Options
    stages: Stages
    started: datetime
    machine: Machine

    def look_closer(
        self,
        box: Sandbox,
        bare: RunResult,
        stdin: Path,
        sources: Mapping[Path, Source],
        deadline: Deadline,
    ) -> Report:
        """All that follows a bare run that went well."""
        originals = {path: source.data for path, source in sources.items()}
        with StateServer(originals, box.own) as server:
            looked = self.observe(box, bare, stdin, sources, server, deadline)
            with self.stages.stage("rewrites"):
                chains = InTime(looked.chains, deadline, needed=LOADING * deadline.outside)
                tried = match_rules(chains, self.options, sources.values())
            with self.stages.stage("trials"):
                trials = ScriptTrials(box, self.target, stdin, self.options.time_limit, bare)
                trials.stand_in = looked.run
                decide = survey if self.options.survey else choose
                chosen = decide(
                    tried.candidates,
                    server,
                    trials,
                    bare_wall=bare.wall,
                    min_speedup=self.options.min_speedup,
                    deadline=deadline,
                    unsafe=self.options.unsafe,
                    runs=self.options.runs,
                    progress=self.stages.detail,
                )
        if chains.left_out:
            loops = (
                "1 hot loop was" if chains.left_out == 1 else f"{chains.left_out} hot loops were"
            )
            note = f"{loops} not looked at: the time budget is spent on hotter ones"
            chosen = replace(chosen, partial=True, notes=(*chosen.notes, note))
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
        # First of all: on it rests what is said of GPU code, and it times lines as well.
        gpu, notes = self.trace(box, bare, stdin, sources, deadline)
        at_once = self.side_by_side(box, bare, stdin, sources, server, deadline)
        sampled = ranked(gpu)
        if sampled is None:
            seen = at_once[0] if at_once else self.sample(box, bare, stdin, deadline)
            sampled = self.or_by_lines(seen, box, bare, stdin, sources, deadline)
        hot = hot_functions(sampled.functions)
        sites = find_sites(sources, hot)
        # Values and states are of use to loops on the CPU alone; the trace has timed the lines.
        if all_on_gpu(gpu, sources.values()):
            measured = LinesResult((), {}, False, (), bare.end)
        elif at_once is not None:
            measured = at_once[1]
            server.keep(site.key for site in sites)
        else:
            timed = [(function.file, function.qualname) for function in hot]
            with self.stages.stage("line profile"):
                measured = self.measure(box, bare, stdin, timed, sites, server, deadline)
        profile = merge(bare, sampled, measured, sources)
        run = None if measured.partial else measured.run
        if failed := failed_copy(bare, measured.run):
            notes = (failed, *notes)
        chains = tuple(
            tuple(replace(region, gpu=by_line(gpu, region.source.path)) for region in chain)
            for chain in find_regions(sources, sites, profile, measured.sites)
        )
        return Looked(profile, chains, run, gpu, notes)

    def measure(
        self,
        box: Sandbox,
        bare: RunResult,
        stdin: Path,
        timed: Sequence[tuple[Path, str]],
        sites: Sequence[Site],
        server: StateServer,
        deadline: Deadline,
    ) -> LinesResult:
        """Lines timed, values observed, and states held, in one instrumented run.

        ``timed``: file and qualified name of the functions whose lines are timed.
        """
        # What it waited for others, on a busy machine or the network, needs no timing.
        own = min(bare.wall, bare.cpu) or bare.wall
        line_budget = max(LINE_LEAST, LINE_SHARE * own)
        look = partial(
            observe_lines,
            box,
            self.target,
            sites=sites,
            budget=min(LINE_BUDGET, line_budget),
            stdin=stdin,
            states_address=server.address,
            expected=own,
        )
        measured = look(functions=timed, limit=self.limit(tracing_limit, bare, deadline))
        if isinstance(measured.ended, Exited) and measured.ended != bare.end and bare.ok:
            # Tracing holds references: ndarray.resize() then fails, for one. Once without it.
            measured = look(functions=[], limit=self.limit(tracing_limit, bare, deadline))
        server.run_ended()
        return measured

    def side_by_side(
        self,
        box: Sandbox,
        bare: RunResult,
        stdin: Path,
        sources: Mapping[Path, Source],
        server: StateServer,
        deadline: Deadline,
    ) -> tuple[ScaleneResult, LinesResult] | None:
        """Both profiled runs at a time, all loops looked at; None where they come in turn."""
        found = everything(sources)
        alone = bare.wall < SHORT_RUN or not may_run_twice(sources, bare, self.machine, box)
        if found is None or alone or uses_gpu(sources.values()):
            return None
        with self.stages.stage(TOGETHER):
            limit = self.limit(tracing_limit, bare, deadline)
            aside = SampledAside(box, self.target, stdin, limit=limit, bare_wall=bare.wall)

            def here() -> LinesResult:
                measured = self.measure(
                    box, bare, stdin, found.functions, found.sites, server, deadline
                )
                rules()  # loaded while the other run ends
                return measured

            return both(aside.run, here, aside.end)

    def trace(
        self,
        box: Sandbox,
        bare: RunResult,
        stdin: Path,
        sources: Mapping[Path, Source],
        deadline: Deadline,
    ) -> tuple[GpuWork | None, tuple[str, ...]]:
        """What the GPU does at each line; nothing for programs that use none."""
        if not self.machine.gpus or not uses_gpu(sources.values()):
            return None, ()
        with self.stages.stage("GPU trace"):
            limit = self.limit(tracing_limit, bare, deadline)
            return gather(box, self.target, limit=limit, stdin=stdin)

    def limit(
        self, share: Callable[[float, float], float], bare: RunResult, deadline: Deadline
    ) -> float | None:
        """Seconds that a profiled run may take: the user's limit, and its share of the budget."""
        limits = [self.options.time_limit]
        if deadline.seconds is not None:
            # What the rules need is no part of what is shared out.
            left = max(0.0, deadline.remaining() - LOADING * deadline.outside)
            limits.append(share(left, bare.wall))
        return min((limit for limit in limits if limit is not None), default=None)

    def sample(
        self,
        box: Sandbox,
        bare: RunResult,
        stdin: Path,
        deadline: Deadline,
    ) -> ScaleneResult:
        """Function totals from scalene; none of a short run."""
        if bare.wall < SHORT_RUN:
            return EMPTY
        with self.stages.stage("scalene"):
            limit = self.limit(sampling_limit, bare, deadline)
            return run_scalene(box, self.target, limit=limit, stdin=stdin, bare_wall=bare.wall)

    def or_by_lines(
        self,
        sampled: ScaleneResult,
        box: Sandbox,
        bare: RunResult,
        stdin: Path,
        sources: Mapping[Path, Source],
        deadline: Deadline,
    ) -> ScaleneResult:
        """Function totals from line_profiler where sampling says too little."""
        if sampled.functions:
            return sampled
        with self.stages.stage("first line profile"):
            limit = self.limit(sampling_limit, bare, deadline)
            look = partial(observe_lines, box, self.target, budget=LINE_BUDGET, limit=limit)
            everything = look(sites=(), functions=None, stdin=stdin)
        alone = merge(bare, None, everything, sources)
        why = "too short a run for sampling" if bare.wall < SHORT_RUN else "no samples"
        note = f"{why}: functions are ranked by line_profiler alone; shares are of what it timed"
        return replace(sampled, functions=alone.functions, notes=(*sampled.notes, note))

    # ------------------------------------------------------------- report
    def failed(self, bare: RunResult, sources: Mapping[Path, Source]) -> Report:
        """The script failed; where that may be for want of a GPU, what its text alone shows."""
        report = self.report(Outcome.SCRIPT_FAILED, failed_run(self.target, bare))
        if self.machine.gpus or not uses_gpu(sources.values()):
            return report
        return replace(report, sources=dict(sources), advice=unmeasured.advice(sources.values()))

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
        advice = still_there(tried.advice, chosen.findings)
        found = chosen.patched or unconfirmed(chosen) or advice
        outcome = Outcome.ADVICE if found else Outcome.NOTHING
        report = self.report(
            outcome, conclusion(looked.profile, looked.chains, chosen, deadline, advice)
        )
        notes = (*looked.profile.notes, *looked.notes, *box.notes, *chosen.notes)
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
            advice=advice,
            gpu=looked.gpu,
        )

    def report(self, outcome: Outcome, message: str) -> Report:
        """The head that every report has."""
        return Report(
            target=self.target,
            machine=self.machine,
            started=self.started.isoformat(timespec="seconds"),
            outcome=outcome,
            message=message,
            costs=tuple(self.stages.costs),
            runs=self.options.runs,
        )

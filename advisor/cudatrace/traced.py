"""The traced run, seen from the tool: started in the sandbox, sampled beside, read back."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

from ..gpumodel import Place
from ..model import RunResult, Stopped, Target
from ..observe.plan import RunPlan, plan_to_json
from ..observe.sandbox import Sandbox
from ..observe.userfiles import user_files
from ..report.words import run_end
from .clients import outer_profiler
from .devices import nearly_full, worked_on
from .records import Trace, load
from .sampling import Sampler, Samples

SESSION = "gpuadvise.cudatrace.session"
GRACE = 15.0
"""Seconds that a stopped run has for writing down what it recorded."""


@dataclass(frozen=True)
class TracedRun:
    """One run under the recorder."""

    run: RunResult
    trace: Trace | None
    """None where nothing could be recorded; ``notes`` say why."""
    samples: Samples
    notes: tuple[str, ...]


def trace_run(
    box: Sandbox, target: Target, *, limit: float | None = None, stdin: Path | None = None
) -> TracedRun:
    """Run the program once in the sandbox, recording CUDA work and lines.

    ``limit``: wall seconds after which the run is asked to end; it then writes what it recorded.
    Raises nothing of the program's.
    """
    out = box.own / "trace.npz"
    for old in (out, out.with_suffix(".why")):
        old.unlink(missing_ok=True)
    config = box.own / "trace.json"
    plan = RunPlan(
        script=str(box.path(target.script)),
        module=target.module,
        args=tuple(box.arguments()),
        files=(),
        user_files=tuple(str(box.path(path)) for path in sorted(user_files(target))),
        budget=0.0,
        limit=limit,
        out=str(out),
        argv0=box.script(),
    )
    config.write_text(json.dumps(plan_to_json(plan)), encoding="utf-8")
    runner = Path(__file__).parent.with_name("observe") / "runner.py"
    with Sampler() as sampler:
        command = [target.python, str(runner), str(config), SESSION]
        run = box.run(command, limit=limit, stdin=stdin, grace=GRACE)
    trace, notes = _read(box, out)
    if isinstance(run.end, Stopped):
        notes = (f"the traced run was stopped after {run.end.limit:.3g} s", *notes)
    elif not run.ok:
        notes = (*notes, _failure(run))
    if trace is None and (outer := outer_profiler(os.environ)):
        notes = (outer,)  # whatever else went wrong, this comes first
    samples, of_devices = worked_on(sampler.samples(), trace)
    return TracedRun(run, trace, samples, (*notes, *of_devices, *nearly_full(samples)))


def _failure(run: RunResult) -> str:
    """The bare run went well: the recorder takes device memory of its own, for one."""
    lines = (run.stderr or b"").decode("utf-8", "replace").strip().splitlines()
    last = f": {lines[-1].strip()[:200]}" if lines else ""
    return f"under the recorder, the script {run_end(run.end)}{last}"


def _read(box: Sandbox, out: Path) -> tuple[Trace | None, tuple[str, ...]]:
    reason = out.with_suffix(".why")
    if reason.exists():
        return None, tuple(reason.read_text(encoding="utf-8").splitlines())
    try:
        trace = load(out)
    except OSError:
        return None, ("the traced run ended without leaving its records",)
    except ValueError as problem:
        return None, (str(problem),)
    places = tuple(Place(str(box.original(Path(p.file))), p.line, p.function) for p in trace.places)
    return replace(trace, places=places), trace.notes

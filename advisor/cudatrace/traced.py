"""The traced run, seen from the tool: started in the sandbox, sampled beside, read back."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from ..gpumodel import Place
from ..model import RunResult, Stopped, Target
from ..observe.plan import RunPlan, plan_to_json
from ..observe.sandbox import Sandbox
from ..observe.userfiles import user_files
from .records import Trace, load
from .sampling import Sampler, Samples

SESSION = "gpuadvise.cudatrace.session"


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

    ``limit``: wall seconds after which the run is stopped; what it had recorded by then is lost.
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
        run = box.run([target.python, str(runner), str(config), SESSION], limit=limit, stdin=stdin)
    trace, notes = _read(box, out)
    if isinstance(run.end, Stopped):
        # CUPTI may hand a buffer over in a thread of its own, which then waits for Python's lock,
        # while the thread that has it waits for CUPTI's: seen where a thread of the script ends.
        notes = (f"the traced run was stopped after {run.end.limit:g} s", *notes)
    return TracedRun(run, trace, sampler.samples(), notes)


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

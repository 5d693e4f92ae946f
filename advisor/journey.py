"""What the main command does around the pipeline: check first, show, write, apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from .deadline import process_age
from .diff import unified_diff
from .errors import UsageProblem
from .model import Outcome, Report, Source
from .observe.numbacache import CompiledFunction
from .observe.sandbox import Sandbox
from .options import Options
from .outputs import check_outputs, write, write_json
from .pipeline import advise
from .progress import Stages
from .report.json import to_json
from .report.terminal import render, render_unmeasured
from .target import resolve
from .undo import UndoError, keep_compiled
from .undo import apply as write_files


def journey(
    command: tuple[str, ...],
    module: str | None,
    options: Options,
    console: Console,
    *,
    apply: bool = False,
    patch: Path | None = None,
    json: Path | None = None,
    quiet: bool = False,
) -> Report:
    """Look at one program and leave what was asked for.

    Raises UsageProblem or UserError, before the program runs wherever that can be known.
    """
    target = resolve(command, module)
    check_outputs((patch, json), target.script)
    compiled: list[CompiledFunction] = []

    def remember(box: Sandbox, stdin: Path, report: Report) -> None:
        compiled.extend(box.compiled.of(report.patched))

    report = advise(target, options, Stages(console), process_age(), remember)
    refused: UndoError | None = None
    if apply and report.patched:
        try:
            report = applied(report, compiled)
        except UndoError as error:  # a file was edited meanwhile
            refused = error
    obstacle: UsageProblem | None = None
    try:
        if json is not None:
            write_json(json, to_json(report))
        if patch is not None and report.outcome is not Outcome.SCRIPT_FAILED:
            text = unified_diff(report.sources, report.patched, target.cwd)
            write(patch, text.encode("utf-8", "surrogateescape"))
    except UsageProblem as error:  # the report is still worth having
        obstacle = error
    if report.outcome is Outcome.SCRIPT_FAILED:
        console.print(f"gpuadvise: {report.message}", soft_wrap=True, markup=False)
        if report.advice and not quiet:
            render_unmeasured(report, console)
        if obstacle is not None:
            raise obstacle
        return report
    # An obstacle is told in a line of its own, below.
    asked = apply and refused is None
    written = tuple(report.patched) if asked else ()
    view = {"verbose": options.verbose, "quiet": quiet, "asked": asked}
    render(report, console, applied=written, **view)
    problem = refused or obstacle
    if problem is not None:
        raise problem
    return report


def applied(report: Report, compiled: Sequence[CompiledFunction]) -> Report:
    """Write the patch, and what its trials compiled. Raises UndoError."""
    sources = changed_sources(report)
    journal = write_files(report.patched, sources)
    journal = keep_compiled(journal, compiled, sources, report.target.python)
    paths = tuple(path for kept in journal.compiled for path in kept.paths)
    return replace(report, kept_compiled=paths)


def changed_sources(report: Report) -> Mapping[Path, Source]:
    """The analysed text of the files that the patch changes."""
    return {path: report.sources[path] for path in report.patched}

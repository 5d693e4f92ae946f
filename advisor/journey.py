"""What the main command does around the pipeline: check first, show, write, apply."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from .deadline import process_age
from .diff import unified_diff
from .errors import UsageProblem
from .model import Outcome, Report, Source
from .options import Options
from .outputs import check_outputs, write, write_json
from .pipeline import advise
from .progress import Stages
from .report.json import to_json
from .report.terminal import render, render_unmeasured
from .target import resolve
from .undo import UndoError
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
    report = advise(target, options, Stages(console), process_age())
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
    applied: tuple[Path, ...] = ()
    refused: UndoError | None = None
    if apply and report.patched:
        try:
            write_files(report.patched, changed_sources(report))
            applied = tuple(report.patched)
        except UndoError as error:  # a file was edited meanwhile
            refused = error
    # An obstacle is told in a line of its own, below.
    asked = apply and refused is None
    view = {"verbose": options.verbose, "quiet": quiet, "asked": asked}
    render(report, console, applied=applied, **view)
    problem = refused or obstacle
    if problem is not None:
        raise problem
    return report


def changed_sources(report: Report) -> Mapping[Path, Source]:
    """The analysed text of the files that the patch changes."""
    return {path: report.sources[path] for path in report.patched}

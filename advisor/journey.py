"""What the main command does around the pipeline: check first, show, write, apply."""

from __future__ import annotations

import json as jsonlib
import os
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from .deadline import process_age
from .diff import unified_diff
from .errors import UsageProblem
from .model import Outcome, Report, Source
from .options import Options
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
    for file in (patch, json):
        if file is not None:
            check_output(file)
    report = advise(target, options, Stages(console), process_age())
    if json is not None:
        json.write_text(jsonlib.dumps(to_json(report), indent=1) + "\n", encoding="utf-8")
    if report.outcome is Outcome.SCRIPT_FAILED:
        console.print(f"gpuadvise: {report.message}", soft_wrap=True, markup=False)
        if report.advice and not quiet:
            render_unmeasured(report, console)
        return report
    if patch is not None:
        text = unified_diff(report.sources, report.patched, target.cwd)
        patch.write_bytes(text.encode("utf-8", "surrogateescape"))
    applied: tuple[Path, ...] = ()
    obstacle: UndoError | None = None
    if apply and report.patched:
        try:
            write_files(report.patched, changed_sources(report))
            applied = tuple(report.patched)
        except UndoError as error:  # a file was edited meanwhile: the report is still worth having
            obstacle = error
    # An obstacle is told in a line of its own, below.
    asked = apply and obstacle is None
    view = {"verbose": options.verbose, "quiet": quiet, "asked": asked}
    render(report, console, applied=applied, **view)
    if obstacle is not None:
        raise obstacle
    return report


def changed_sources(report: Report) -> Mapping[Path, Source]:
    """The analysed text of the files that the patch changes."""
    return {path: report.sources[path] for path in report.patched}


def check_output(file: Path) -> None:
    """Raises UsageProblem if the file cannot be written; known before the program runs."""
    folder = file.parent
    if file.is_dir():
        raise UsageProblem(f"{file} is a directory")
    if not folder.is_dir():
        raise UsageProblem(f"there is no folder {folder} to write {file.name} into")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise UsageProblem(f"{file} cannot be written")

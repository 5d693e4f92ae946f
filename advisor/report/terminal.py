"""The report on a terminal, or in a file: a pure function of the `Report`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from ..conditions import turn
from ..model import Finding, Outcome, Report, Verified
from . import words
from .findings import finding_view, refused_view
from .gpu import advice_view, gpu_view
from .layout import Hanging, bullet, labelled, paragraph
from .outlook import outlook_view
from .profile import ASCII, Glyphs, profile_view

_KEPT = "what the trials compiled is kept in __pycache__: the first run starts like a later one"


def render(
    report: Report,
    console: Console,
    *,
    verbose: bool = False,
    quiet: bool = False,
    applied: Sequence[Path] = (),
    asked: bool = False,
) -> None:
    """Print the report. ``quiet`` leaves only the last line; ``applied``: files just written.

    ``asked``: the user wanted the rewrites to be written, whether there are any or not.
    """
    if not quiet:
        for part in _sections(report, console, verbose):
            console.print(part)
        if report.kept_compiled:
            console.print(paragraph(_KEPT))
            console.print()
    message = Text(report.message, style=_outcome_style(report))
    if report.partial:
        message.append(" (partial: not everything could be tried)")
    if applied:
        names = ", ".join(words.place(path, report.target.cwd) for path in applied)
        message.append(f"; written to {names}")
    elif asked:
        message.append("; nothing was changed")
    follow_up = next_command(report, applied)
    if follow_up is None:
        console.print(paragraph(message))
        return
    line = Text.assemble(message, "  next: ", (follow_up, "bold"))
    if line.cell_len <= console.width:
        console.print(line)
    else:
        console.print(paragraph(message))
        # A command to be copied is never broken in two by us.
        last = Text.assemble("next: ", (follow_up, "bold"))
        console.print(last, soft_wrap=True)


def render_unmeasured(report: Report, console: Console) -> None:
    """What the text of a GPU program shows that could not run: no share and no cost is known."""
    number = len(report.advice)
    console.print()
    console.print(_heading("Mistakes in GPU code, from the text alone"))
    for advice in report.advice:
        for part in advice_view(report, advice, evidence=False):
            console.print(part)
    named = f"{number} mistake{'s' * (number > 1)} in GPU code named"
    console.print(
        paragraph(
            f"{named}, not measured: run gpuadvise where the script runs, with an NVIDIA GPU, to "
            "see what they cost and to have them rewritten"
        )
    )


def next_command(report: Report, applied: Sequence[Path] = ()) -> str | None:
    """What to type next; None if there is nothing useful to type."""
    if applied:
        return "gpuadvise undo"
    match report.outcome:
        case Outcome.ADVICE:
            return words.command(report.target, "--apply") if report.patched else None
        case Outcome.NOTHING:
            if any(_only_unsafe(finding) for finding in report.findings):
                return words.command(report.target, "--unsafe")
            if more := _more_runs(report):
                return words.command(report.target, "--runs", str(more))
            return words.command(report.target, "--verbose") if report.refused else None
        case Outcome.SCRIPT_FAILED:
            return None


def _more_runs(report: Report) -> int | None:
    """The number of runs from which on something would be offered; None if there is none."""
    turns = [found for f in report.findings if (found := turn(f, report.runs)) is not None]
    return min((found.runs for found in turns if found.runs > 1), default=None)


def _only_unsafe(finding: Finding) -> bool:
    return any(
        isinstance(trial.region_verdict, Verified) and not trial.candidate.match.safe
        for trial in finding.others
    )


def _outcome_style(report: Report) -> str:
    match report.outcome:
        case Outcome.ADVICE:
            # Green is for what was verified, never for what is only likely.
            return "bold green" if isinstance(report.script_verdict, Verified) else "bold"
        case Outcome.NOTHING:
            return "bold"
        case Outcome.SCRIPT_FAILED:
            return "bold red"


def _sections(report: Report, console: Console, verbose: bool) -> Iterator[RenderableType]:
    yield Hanging(Text("gpuadvise ", style="bold"), Text(words.program(report.target)))
    yield from _what_ran(report)
    yield Text()
    if report.profile is not None and report.profile.functions:
        glyphs = ASCII if console.options.ascii_only else Glyphs()
        yield _heading("Where the time goes")
        yield profile_view(report, report.profile, console.width, glyphs)
    if report.findings:
        yield _heading("What was tried")
        for number, finding in enumerate(report.findings, start=1):
            yield finding_view(number, finding, report, verbose)
    if outlook := list(outlook_view(report)):
        yield _heading("Where a GPU may pay")
        yield from outlook
        yield Text()
    if report.gpu is not None:
        yield _heading("On the GPU")
        yield from gpu_view(report, report.gpu)
    if report.advice:
        yield _heading("Mistakes in GPU code, without a rewrite")
        for advice in report.advice:
            yield from advice_view(report, advice)
    refused = refused_view(report, verbose)
    if refused is not None:
        yield _heading("What was left alone, and why")
        yield refused
    notes = (*(report.profile.notes if report.profile else ()), *report.notes)
    if notes:
        yield _heading("Notes")
        for note in dict.fromkeys(notes):
            yield bullet(note)
        yield Text()
    yield from _conclusion(report, verbose)


def _what_ran(report: Report) -> Iterator[RenderableType]:
    machine = report.machine
    if report.profile is not None:
        bare = report.profile.bare
        took = f"{words.seconds(bare.wall)} ({words.seconds(bare.cpu)} of CPU time)"
        memory = f"{words.size(bare.max_rss)} of memory"
        yield labelled("ran", took, words.run_end(bare.end), memory, width=6)
    cores = f"{machine.cores} core{'s' * (machine.cores != 1)}"
    host = f"{machine.node}: {machine.cpu}, {cores}, {words.size(machine.memory)}, {machine.system}"
    yield labelled("on", "; ".join((host, *machine.gpus)), width=6)
    packages = (f"{name} {version}" for name, version in machine.packages.items())
    yield labelled("with", f"Python {machine.python}", *packages, width=6)
    yield labelled("at", report.started, width=6)


def _conclusion(report: Report, verbose: bool) -> Iterator[RenderableType]:
    """The whole script with all of the patch, and what the advice cost."""
    if report.script_verdict is not None:
        yield _heading("Whole script with all changes")
        verdict = report.script_verdict
        text = Text(words.verdict(verdict), style=words.verdict_style(verdict))
        if isinstance(verdict, Verified):
            if words.runs(verdict):
                text.append(f": {words.runs(verdict)}", style="not bold")
            yield paragraph(text)
            yield paragraph(f"compared {words.states(verdict)}: {words.error_size(verdict.error)}")
            if verdict.later is not None:
                later = words.speedup(verdict.later)
                yield paragraph(f"later runs, which find the compiled code: {later}")
            if verbose and words.usage(verdict.speedup):
                yield paragraph(words.usage(verdict.speedup))
        else:
            yield paragraph(text)
        yield Text()
    if report.costs:
        total = sum(cost.seconds for cost in report.costs)
        stages = ", ".join(f"{c.stage} {words.seconds(c.seconds)}" for c in report.costs)
        bare = report.profile.bare.wall if report.profile else 0.0
        relation = f", {words.factor(total / bare)} times the bare run" if bare > 0 else ""
        yield paragraph(f"This advice took {words.seconds(total)}{relation}: {stages}")
        yield Text()


def _heading(text: str) -> Text:
    return Text(text, style="bold underline")

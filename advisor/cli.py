"""The command line: options to values, errors to exit codes, and no logic of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from . import __version__
from .commands import (
    Allowed,
    ModuleName,
    NoColor,
    ScriptWords,
    Unsafe,
    crossover_app,
    roofline_app,
    trace_app,
)
from .errors import UsageProblem, UserError
from .exits import ExitCode, complain, report_console
from .model import Outcome, Report
from .options import Options, parse_allow

EXIT_HELP = (
    "Exit status: 0 advice found (or applied), 1 nothing to gain, 2 usage, "
    "3 the script failed, 4 internal error, 130 interrupted."
)
ADVISE_HELP = (
    "Run SCRIPT, find the lines where its time goes, and try rewrites that make it faster.\n\n"
    "The script runs once as usual; all other runs happen in a scratch copy. Every rewrite "
    "offered was executed on the script's own data, compared with the original, and timed "
    "against it. Files change only under [bold]--apply[/], and [bold]gpuadvise undo[/] "
    "restores them."
)
TOOLS_HELP = (
    "Other commands: [bold]gpuadvise undo[/] (restore what the last --apply changed), "
    "[bold]trace[/] (what the GPU does, by source line), "
    "[bold]crossover[/] (from which problem size on which version wins), "
    "[bold]roofline[/] (the machine's ceilings, and how far hot loops are from them), "
    "[bold]rules[/] (the table of rules), [bold]explain CODE[/] (a rule's page), "
    "[bold]examples[/] (list, show, copy the bundled scripts), "
    "[bold]doctor[/] (what works on this machine). "
    "For a script with one of these names write ./rules, or -- before it."
)


advise_app = typer.Typer(add_completion=False, rich_markup_mode="rich")
tools_app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="rich")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the ``gpuadvise`` command. Raises SystemExit with an `ExitCode`."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    app, arguments, name = choose_app(arguments)
    try:
        app(arguments, prog_name=name)
    except SystemExit as end:
        # Said here, because typer ends without a word where the interrupt meets its own code.
        if end.code == ExitCode.INTERRUPTED:
            complain("interrupted; your files are as the script's own run left them")
        raise
    except KeyboardInterrupt:  # while the options are read: nothing was run yet
        complain("interrupted; nothing was run")
        raise SystemExit(ExitCode.INTERRUPTED) from None
    except BrokenPipeError:
        # Whoever read our output has gone (`gpuadvise rules | head`): no traceback at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(ExitCode.ADVICE) from None
    except UsageProblem as problem:
        complain(str(problem))
        raise SystemExit(ExitCode.USAGE) from None
    except UserError as problem:
        complain(str(problem))
        raise SystemExit(ExitCode.SCRIPT_FAILED) from None
    except Exception as error:  # the boundary: a bug of ours must not bury the user in a traceback
        complain(f"internal error: {type(error).__name__}: {error}")
        if os.environ.get("GPUADVISE_DEBUG"):
            raise
        complain("please report it, with what GPUADVISE_DEBUG=1 prints; your files are unchanged")
        raise SystemExit(ExitCode.INTERNAL) from None


def choose_app(arguments: list[str]) -> tuple[typer.Typer, list[str], str]:
    """The command meant, its arguments, and how it calls itself."""
    first = arguments[0] if arguments else ""
    if first in TOOLS:
        return tools_app, arguments, "gpuadvise"
    if first == "crossover":
        return crossover_app, protect_script(arguments[1:]), "gpuadvise crossover"
    if first == "roofline":
        return roofline_app, protect_script(arguments[1:]), "gpuadvise roofline"
    if first == "trace":
        return trace_app, protect_script(arguments[1:]), "gpuadvise trace"
    return advise_app, protect_script(arguments), "gpuadvise"


def protect_script(arguments: list[str]) -> list[str]:
    """Put ``--`` where the script's own arguments begin, so that they are never taken for ours."""
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        if argument == "--":
            return arguments
        if argument == "-m" and position + 1 < len(arguments):
            return [*arguments[: position + 2], "--", *arguments[position + 2 :]]
        if not argument.startswith("-") or argument == "-":
            return [*arguments[:position], "--", *arguments[position:]]
        position += 2 if argument in VALUE_OPTIONS else 1
    return arguments


VALUE_OPTIONS = frozenset(
    {
        "--export",
        "--patch",
        "--json",
        "--allow",
        "--budget",
        "--runs",
        "--size",
        "--time-limit",
        "--min-speedup",
    }
)


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"gpuadvise {__version__}")
        raise typer.Exit()


@advise_app.command(
    no_args_is_help=True,
    help=ADVISE_HELP,
    epilog=f"{TOOLS_HELP}\n\n{EXIT_HELP}",
)
def advise(
    command: ScriptWords = None,
    module: ModuleName = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write the verified rewrites into the files.")
    ] = False,
    patch: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write them as one unified diff (git apply, patch -p1)."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the whole report as JSON.")
    ] = None,
    allow: Allowed = None,
    unsafe: Unsafe = False,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="Bound on all the time beyond the script's own run "
            "(default: three times that, and 15 s).",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="Stop the script there in every run, and advise on what was seen.",
        ),
    ] = None,
    min_speedup: Annotated[
        float,
        typer.Option(metavar="X", min=1.0, help="Least gain of the whole script worth offering."),
    ] = 1.1,
    runs: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="How often you will run the script. What a compiler costs in the first run is "
            "spread over so many, as later runs find the compiled code.",
        ),
    ] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the outcome.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also what was not rewritten, in full.")
    ] = False,
    no_color: NoColor = False,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show version.")
    ] = False,
) -> None:
    """The main job; its help is `ADVISE_HELP`."""
    options = Options(
        allow=parse_allow(allow),
        unsafe=unsafe,
        budget=budget,
        time_limit=time_limit,
        min_speedup=min_speedup,
        runs=runs,
        verbose=verbose,
    )
    console = report_console(no_color)
    try:
        from .journey import journey  # numpy and the profilers load only when they are needed

        report = journey(
            tuple(command or ()),
            module,
            options,
            console,
            apply=apply,
            patch=patch,
            json=json,
            quiet=quiet,
        )
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    raise typer.Exit(exit_code(report))


def exit_code(report: Report) -> ExitCode:
    """The status that tells how the journey ended."""
    match report.outcome:
        case Outcome.ADVICE:
            return ExitCode.ADVICE
        case Outcome.NOTHING:
            return ExitCode.NOTHING
        case Outcome.SCRIPT_FAILED:
            return ExitCode.SCRIPT_FAILED


@tools_app.command()
def undo() -> None:
    """Restore the files that the last --apply below this folder changed."""
    from .target import working_folder
    from .undo import undo as restore

    for path in restore(working_folder()):
        typer.echo(f"restored {path}")


@tools_app.command()
def rules() -> None:
    """Show the table of rules."""
    from .registry import table

    Console().print(table())


@tools_app.command()
def explain(
    code: Annotated[str, typer.Argument(metavar="CODE", help="For example NP201.")],
) -> None:
    """Show the page of one rule: what it rewrites, why that is faster, what it leaves alone."""
    from .registry import explain as page

    Console().print(page(code))


@tools_app.command()
def examples(
    name: Annotated[str | None, typer.Argument(metavar="NAME")] = None,
    copy: Annotated[
        Path | None, typer.Option("--copy", metavar="DIR", help="Copy it into this folder.")
    ] = None,
) -> None:
    """List the bundled scripts; show one; copy one into a folder."""
    from .targets import catalogue
    from .targets import copy as copy_example

    known = {example.name: example for example in catalogue()}
    if name is None:
        wanted = copy is not None
        if wanted:
            raise UsageProblem("say which example to copy: gpuadvise examples NAME --copy DIR")
        table = Table("name", "what it is", box=None, pad_edge=False)
        for example in known.values():
            needs = f" Needs {example.needs}." if example.needs else ""
            table.add_row(example.name, example.summary + needs)
        Console().print(table)
        return
    if name not in known:
        raise UsageProblem(f"no example is called {name!r}; there are: {', '.join(known)}")
    if copy is None:
        typer.echo(known[name].path.read_text(encoding="utf-8"), nl=False)
        return
    typer.echo(f"wrote {copy_example(name, copy)}")


@tools_app.command()
def doctor() -> None:
    """Say what works on this machine, what is missing, and how to get it."""
    from .observe.machine import checks

    console = Console()
    table = Table("", "what", "found", box=None, pad_edge=False)
    found = checks()
    for check in found:
        # Text, not markup: a remedy may name an extra in square brackets.
        detail = Text(check.detail)
        if check.remedy:
            detail.append(f"\n{check.remedy}", style="bold")
        table.add_row(Text(check.state, style=STATE_STYLE[check.state]), check.name, detail)
    console.print(table)
    if any(check.state == "broken" for check in found):
        raise typer.Exit(ExitCode.NOTHING)


STATE_STYLE = {"ok": "green", "missing": "magenta", "broken": "bold red", "optional": "cyan"}
TOOLS = frozenset({"undo", "rules", "explain", "examples", "doctor"})

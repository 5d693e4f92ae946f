"""The commands that run a program for another purpose than advice: trace, crossover, roofline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .exits import ExitCode, report_console
from .options import BACK_ENDS, Options, parse_allow

ScriptWords = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SCRIPT [ARGS]...",
        help="The script to look at, and its own arguments: all that follows SCRIPT is its.",
    ),
]
ModuleName = Annotated[
    str | None, typer.Option("-m", metavar="MODULE", help="A module instead of a script.")
]
Allowed = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help=f"Packages the rewrites may use, of {','.join(BACK_ENDS)} "
        "(default: all that are installed).",
    ),
]
Unsafe = Annotated[
    bool, typer.Option("--unsafe", help="Also rewrites whose equality is assumed in part.")
]
FiguresFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write all figures as JSON.")
]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours.")]

TRACE_HELP = (
    "Run SCRIPT and show what the GPU does, by source line: kernels, copies, waiting, idle time."
    "\n\n"
    "The script runs once as usual and once, in a scratch copy, under the recorder (CUPTI, "
    "through cupti-python). Works for CuPy, numba.cuda and PyTorch in one script."
)
TRACE_EXIT = (
    "Exit status: 0 traced, 1 nothing could be recorded (the notes say why), 2 usage, "
    "3 the script failed, 4 internal error, 130 interrupted."
)

CROSSOVER_HELP = (
    "Say from which problem size on NumPy, numba or a GPU is worth it for SCRIPT.\n\n"
    "Finds the number that sets the problem size, runs the original and its rewrites over a range "
    "of sizes in a scratch copy (first runs and later ones, in fresh processes, in turn), "
    "compares the results at each size, and closes in on the sizes at which the lead changes."
)
CROSSOVER_EXIT = (
    "Exit status: 0 measured, 1 there is no rewrite to compare with, 2 usage, or no size was "
    "found, 3 the script failed, 4 internal error, 130 interrupted."
)

ROOFLINE_HELP = (
    "Measure what this machine can do at most (copy bandwidth, multiply-adds by dtype; one core, "
    "all cores and the GPU), and with SCRIPT say how far its hot loops and their verified rewrites "
    "are from that.\n\n"
    "The ceilings are measured once and kept in the user's state folder."
)
ROOFLINE_EXIT = (
    "Exit status: 0 measured, 1 nothing could be measured, 2 usage, 3 the script failed, "
    "4 internal error, 130 interrupted."
)

trace_app = typer.Typer(add_completion=False, rich_markup_mode="rich")
crossover_app = typer.Typer(add_completion=False, rich_markup_mode="rich")
roofline_app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@trace_app.command(no_args_is_help=True, help=TRACE_HELP, epilog=TRACE_EXIT)
def trace(
    command: ScriptWords = None,
    module: ModuleName = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a timeline (Chrome Trace JSON) for Perfetto."),
    ] = None,
    json: FiguresFile = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.1, help="Stop the script there in both runs."),
    ] = None,
    tables: Annotated[
        bool, typer.Option("--tables/--no-tables", help="Also the five tables nsys stats gives.")
    ] = True,
    no_color: NoColor = False,
) -> None:
    """Its help is `TRACE_HELP`."""
    try:
        from .cudatrace.journey import trace as run

        report = run(
            tuple(command or ()),
            module,
            report_console(no_color),
            export=export,
            json=json,
            time_limit=time_limit,
            tables=tables,
        )
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    raise typer.Exit(ExitCode.NOTHING if report.trace is None else ExitCode.ADVICE)


@crossover_app.command(no_args_is_help=True, help=CROSSOVER_HELP, epilog=CROSSOVER_EXIT)
def crossover(
    command: ScriptWords = None,
    module: ModuleName = None,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[=10,100,..]",
            help="The number to sweep, by the name it has in the script or on its command line, "
            "and its values (default: the extent of the hot loops' arrays, halved and doubled).",
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="Bound on all the time beyond the script's own run; what was measured by then is "
            "shown (default: 21 times that, and 135 s).",
        ),
    ] = None,
    allow: Allowed = None,
    unsafe: Unsafe = False,
    json: FiguresFile = None,
    no_color: NoColor = False,
) -> None:
    """Its help is `CROSSOVER_HELP`."""
    from .crossover.journey import crossover as run

    options = Options(allow=parse_allow(allow), unsafe=unsafe, budget=budget)
    try:
        result = run(
            tuple(command or ()),
            module,
            report_console(no_color),
            options=options,
            size=size,
            json=json,
        )
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    raise typer.Exit(ExitCode.ADVICE if len(result.versions) > 1 else ExitCode.NOTHING)


@roofline_app.command(help=ROOFLINE_HELP, epilog=ROOFLINE_EXIT)
def roofline(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCRIPT [ARGS]...]", help="A script whose hot loops are placed."),
    ] = None,
    module: ModuleName = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure the ceilings again.")] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0.0, help="Bound on the time beyond the script's own run."
        ),
    ] = None,
    json: FiguresFile = None,
    no_color: NoColor = False,
) -> None:
    """Its help is `ROOFLINE_HELP`."""
    from .roofline.journey import roofline as run

    try:
        result = run(
            tuple(command or ()),
            module,
            report_console(no_color),
            options=Options(budget=budget),
            fresh=fresh,
            json=json,
        )
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    raise typer.Exit(ExitCode.ADVICE if result.ceilings.roofs else ExitCode.NOTHING)

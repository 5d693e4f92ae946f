"""How the command ends and where it speaks: exit codes, one-line complaints, the console."""

from __future__ import annotations

import sys
from enum import IntEnum

from rich.console import Console

NARROWEST = 40
"""Columns of a report at least: nothing of it can be read in fewer."""


class ExitCode(IntEnum):
    """What the process returns; part of the contract with scripts that call us."""

    ADVICE = 0
    NOTHING = 1
    USAGE = 2
    SCRIPT_FAILED = 3
    INTERNAL = 4
    INTERRUPTED = 130


def report_console(no_color: bool) -> Console:
    """Where reports go: standard error, so that the script's own output stays a clean pipe."""
    console = Console(stderr=True, no_color=no_color or None, highlight=False)
    if console.width < NARROWEST:  # COLUMNS=0, as some programs that start others set it
        console.width = NARROWEST
    return console


def complain(text: str) -> None:
    """One line on standard error."""
    print(f"gpuadvise: {text}", file=sys.stderr)

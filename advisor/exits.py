"""How the command ends and where it speaks: exit codes, one-line complaints, the console."""

from __future__ import annotations

import sys
from enum import IntEnum

from rich.console import Console


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
    return Console(stderr=True, no_color=no_color or None, highlight=False)


def complain(text: str) -> None:
    """One line on standard error."""
    print(f"gpuadvise: {text}", file=sys.stderr)

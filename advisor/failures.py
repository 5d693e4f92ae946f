"""One line that says why the user's script did not come to its end."""

from __future__ import annotations

import ast
import signal
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from .model import Exited, Killed, RunResult, Stopped, Target


def failed_run(target: Target, bare: RunResult) -> str:
    """The line for a bare run that did not end with status 0."""
    name = target.module or target.script.name
    match bare.end:
        case Exited(code=code):
            if missing := missing_imports(target.script):
                return (
                    f"{name} ended with status {code}: it imports {', '.join(missing)}, which "
                    f"{target.python} does not have; install gpuadvise in the script's environment"
                )
            return f"{name} ended with status {code}; there is nothing to compare a rewrite with"
        case Killed(signal=number):
            return f"{name} was killed by {_signal_name(number)}"
        case Stopped(limit=limit):
            return f"{name} was stopped after {limit:g} s"


def failed_copy(bare: RunResult, copied: RunResult | None) -> str | None:
    """A sentence on a run in the scratch copy that failed where the real run did not."""
    if copied is None or not bare.ok or not isinstance(copied.end, Exited) or copied.ok:
        return None
    said = (copied.stderr or b"").decode("utf-8", "replace").strip().splitlines()
    reason = f": {said[-1][:200]}" if said else ""
    return (
        f"in the scratch copy the script ended with status {copied.end.code}, so that little of "
        f"it was seen and no rewrite can be confirmed{reason}"
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def missing_imports(script: Path) -> tuple[str, ...]:
    """Top-level packages that the script imports and this Python cannot find."""
    names: dict[str, None] = {}
    for node in ast.walk(ast.parse(script.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(dict.fromkeys(alias.name.partition(".")[0] for alias in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names[node.module.partition(".")[0]] = None
    search = [str(script.parent), *sys.path]
    return tuple(
        name
        for name in names
        if name not in sys.stdlib_module_names and PathFinder.find_spec(name, search) is None
    )

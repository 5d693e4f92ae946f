"""Function and line shares of the whole run, sampled by scalene in the scratch copy."""

from __future__ import annotations

import ast
import html
import json
import math
import os
import re
import signal
import site
import sysconfig
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..model import Exited, FunctionTime, Killed, LineTime, RunResult, Stopped, Target
from .sandbox import Sandbox

INTERVAL = 0.01
"""scalene's own sampling interval, seconds."""

MIN_INTERVAL = 0.001
"""Seconds; the handler is Python code, and below this it would be most of what is measured."""

WANTED_SAMPLES = 60
"""Enough for shares within some 6 points; the line profiler refines them."""

GRACE = 8.0
WRITING = 0.3
"""At the end of its limit the run is interrupted, to write the profile: so many seconds at most,
and such a part of the limit."""


@dataclass(frozen=True)
class ScaleneResult:
    """What one scalene run said. Shares are of all samples of the run, library code included."""

    functions: tuple[FunctionTime, ...]
    """The user's functions, the most expensive first."""
    lines: tuple[LineTime, ...]
    """The user's lines with any time, by file and line."""
    samples: int
    """Roughly how many samples the shares rest on: elapsed time over the interval."""
    elapsed: float
    """Seconds of the program under scalene; 0.0 if nothing came out."""
    partial: bool
    """The run was stopped at the limit: the shares are of what ran until then."""
    notes: tuple[str, ...] = ()
    libraries: tuple[FunctionTime, ...] = ()
    """Functions of files that are not the user's: shown, never rewritten."""
    by: str = "scalene"
    """What the shares come from, in words for the report."""


EMPTY = ScaleneResult((), (), 0, 0.0, False)


def profile(
    box: Sandbox,
    target: Target,
    *,
    limit: float | None,
    stdin: Path | None,
    bare_wall: float | None = None,
) -> ScaleneResult:
    """Profile the program in the sandbox, CPU only.

    Args:
        limit: seconds for all of it; the run is interrupted in time to use what was sampled.
        stdin: recorded standard input.
        bare_wall: wall time of the real run; sets the sampling interval for short programs.

    A run that gives no samples gives an empty result with a note, never an exception. Raises
    FileNotFoundError if the interpreter does not exist.
    """
    interval = _interval(bare_wall)
    if obstacle := _obstacle(target):
        return replace(EMPTY, notes=(obstacle,))
    outfile = box.own / "scalene.json"
    notes: list[str] = []
    began = time.monotonic()
    for attempt in (1, 2):
        outfile.unlink(missing_ok=True)
        left = None if limit is None else limit - (time.monotonic() - began)
        if left is not None and left <= 0:
            break
        writing = GRACE if left is None else min(GRACE, WRITING * left)
        result = box.run(
            _command(box, target, outfile, interval),
            # Without this scalene starts itself a second time to set it.
            env={"SCALENE_ALLOCATION_SAMPLING_WINDOW": "1048576", "NO_COLOR": "1"},
            limit=None if left is None else left - writing,
            stdin=stdin,
            stop_signal=signal.SIGINT,
            grace=writing,
        )
        # scalene keeps its locks in /tmp, whatever TMPDIR says; that is not the program's doing.
        box.escapes = [path for path in box.escapes if not path.name.startswith("scalene-")]
        data = _load(outfile)
        if data.get("files"):
            return _read(box, data, interval, isinstance(result.end, Stopped), tuple(notes))
        if attempt == 1 and not _crashed(result):
            break
        notes.append(f"scalene gave no profile at attempt {attempt}: {_last_line(result)}")
    notes.append("scalene took no samples in the program's own files")
    return replace(EMPTY, notes=tuple(notes))


# ------------------------------------------------------------ running it
def _interval(bare_wall: float | None) -> float:
    if bare_wall is None:
        return INTERVAL
    return min(INTERVAL, max(MIN_INTERVAL, bare_wall / WANTED_SAMPLES))


def _obstacle(target: Target) -> str | None:
    # scalene takes the first argument that ends in .py for the program: with `tool gen.py` it
    # would run gen.py.
    named = target.script.name.endswith(".py")
    if target.module is None and not named and any(arg.endswith(".py") for arg in target.args):
        return "scalene cannot tell the script from an argument that ends in .py; it was left out"
    return None


def _command(box: Sandbox, target: Target, outfile: Path, interval: float) -> list[str]:
    # -P: files beside the script named like a module that scalene imports must not shadow it.
    # A module is looked up from the working directory, so there the path must stay.
    safe = [] if target.module else ["-P"]
    options = ["--cpu-only", "--no-stacks", "--no-async", "--program-path", _program_path(box)]
    options += ["--cpu-sampling-rate", f"{interval:g}", "-o", str(outfile)]
    program = ["-m", target.module] if target.module else [box.script()]
    arguments = box.arguments()
    head = [target.python, *safe, "-m", "scalene", "run", *options]
    if target.module:
        return [*head, "---", *program, *arguments]
    return [*head, *program, "---", *arguments]


def _program_path(box: Sandbox) -> str:
    """The one folder below which scalene attributes time to lines."""
    script, cwd = box.target.script.parent, box.target.cwd
    root = cwd if script.is_relative_to(cwd) else script
    return os.path.realpath(box.path(root))


def _load(outfile: Path) -> dict[str, Any]:
    try:
        data = json.loads(outfile.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _crashed(result: RunResult) -> bool:
    """Whether scalene itself failed, as it does now and then on Python 3.11 (KeyError)."""
    error = result.stderr or b""
    return b"KeyError" in error or b"Scalene failed to initialize" in error or not result.ok


def _last_line(result: RunResult) -> str:
    lines = (result.stderr or b"").decode("utf-8", "replace").strip().splitlines()
    plain = [line for line in lines if not line.startswith(("Scalene", "  to ", "By default"))]
    if plain:
        return plain[-1][:200]
    match result.end:
        case Stopped(limit=limit):
            return f"stopped after {limit:.3g} s"
        case Killed(signal=number):
            return f"killed by signal {number}"
        case Exited(code=code):
            return f"it ended with status {code}"


# ------------------------------------------------------------ reading it
def _read(
    box: Sandbox, data: Mapping[str, Any], interval: float, partial: bool, notes: tuple[str, ...]
) -> ScaleneResult:
    functions: list[FunctionTime] = []
    libraries: list[FunctionTime] = []
    lines: list[LineTime] = []
    for name, entry in data["files"].items():
        path = Path(html.unescape(name))
        if not path.is_absolute():
            path = box.path(box.target.cwd) / path
        file = box.original(path)
        found = [line for line in _lines(file, entry) if _share(line) > 0]
        if _is_users(file, box.folders):
            lines += found
            functions += _functions(file, path, found)
        else:
            libraries += _functions(file, path, found)
    elapsed = _number(data.get("elapsed_time_sec"))
    return ScaleneResult(
        functions=tuple(sorted(functions, key=lambda f: -f.share)),
        lines=tuple(sorted(lines, key=lambda line: (str(line.file), line.line))),
        samples=round(elapsed / interval),
        elapsed=elapsed,
        partial=partial,
        notes=notes,
        libraries=tuple(sorted(libraries, key=lambda f: -f.share)),
    )


def _number(value: object) -> float:
    number = float(value) if isinstance(value, int | float) else 0.0
    return number if math.isfinite(number) else 0.0


def _share(line: LineTime) -> float:
    return line.python_share + line.native_share + line.system_share


def _lines(file: Path, entry: Mapping[str, Any]) -> Iterator[LineTime]:
    for line in entry.get("lines", ()):
        yield LineTime(
            file=file,
            line=int(line.get("lineno", 0)),
            python_share=_number(line.get("n_cpu_percent_python")) / 100.0,
            native_share=_number(line.get("n_cpu_percent_c")) / 100.0,
            system_share=_number(line.get("n_sys_percent")) / 100.0,
        )


def _is_users(file: Path, folders: tuple[Path, ...]) -> bool:
    """In a copied folder, and not in an environment that lies in it."""
    if {"site-packages", "dist-packages"} & set(file.parts):
        return False
    libraries = [sysconfig.get_path("stdlib"), *site.getsitepackages()]
    if any(file.is_relative_to(library) for library in libraries if library):
        return False
    return any(file.is_relative_to(folder) for folder in folders)


def _functions(file: Path, copy: Path, lines: list[LineTime]) -> list[FunctionTime]:
    """Totals by function, added up from the lines.

    scalene's own function totals leave out native time (seen on 2.4: half of a loop that calls
    ``math.sqrt``) and module-level code.
    """
    spans = _spans(file if file.exists() else copy)
    totals: dict[tuple[str, int, int], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for line in lines:
        inner = [span for span in spans if span[1] <= line.line <= span[2]]
        owner = max(inner, key=lambda span: (span[1], -span[2]))
        total = totals[owner]
        total[0] += line.python_share
        total[1] += line.native_share
        total[2] += line.system_share
    return [FunctionTime(file, name, *span, *total) for (name, *span), total in totals.items()]


def _spans(path: Path) -> list[tuple[str, int, int]]:
    """Qualified name, first and last line of every function of a file, the module itself first."""
    try:
        data = path.read_bytes()
        tree = ast.parse(data)
    except (OSError, SyntaxError, ValueError):
        return [("<module>", 1, 1 << 30)]
    last = len(re.findall(rb"\r\n|\r|\n", data)) + 1
    spans = [("<module>", 1, last)]

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                name = prefix + child.name
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                spans.append((name, first, child.end_lineno or child.lineno))
                visit(child, f"{name}.<locals>.")
            elif isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")
            else:
                visit(child, prefix)

    visit(tree, "")
    return spans

"""Files that the user wants written: looked at before the program runs, written at the end."""

from __future__ import annotations

import json as jsonlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .errors import UsageProblem

_PROGRAMS = (".py", ".pyw", ".pyx", ".ipynb")


def check_outputs(files: Iterable[Path | None], script: Path | None = None) -> None:
    """Raises UsageProblem if one cannot be written, or should not; before the program runs.

    ``script``: the program's own file.
    """
    seen: list[Path] = []
    for file in files:
        if file is None:
            continue
        try:
            _check(file, script)
        except OSError as error:
            raise _unwritten(file, error) from error
        resolved = file.resolve()
        # What is no file may be named twice: /dev/stdout
        if resolved in seen and (file.is_file() or not file.exists()):
            raise UsageProblem(f"{file} is named twice: each output needs a file of its own")
        seen.append(resolved)


def _check(file: Path, script: Path | None) -> None:
    folder = file.parent
    if file.is_dir():
        raise UsageProblem(f"{file} is a directory")
    if not folder.is_dir():
        raise UsageProblem(f"there is no folder {folder} to write {file.name} into")
    # gpuadvise --json s.py: the name of the file was forgotten, and the program would be lost.
    own = script is not None and file.exists() and file.samefile(script)
    if own or (file.is_file() and file.suffix in _PROGRAMS):
        raise UsageProblem(f"{file} is a program, which would be overwritten; name another file")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise UsageProblem(f"{file} cannot be written")


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write a report. Raises UsageProblem where that fails."""
    write(file, (jsonlib.dumps(content, indent=1) + "\n").encode("utf-8"))


def write(file: Path, data: bytes) -> None:
    """Write a file. Raises UsageProblem where that fails: the disk may be full by now."""
    try:
        file.write_bytes(data)
    except OSError as error:
        raise _unwritten(file, error) from error


def _unwritten(file: Path, error: OSError) -> UsageProblem:
    return UsageProblem(f"{file} cannot be written: {error.strerror}")

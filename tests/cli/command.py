"""Runs the real command, as its own process, in a folder of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-m", "gpuadvise"]
UNHURRIED = ["--budget", "120"]
"""For tests of what comes out in the end: on a busy machine the usual budget may be too little."""
NUMPY_ALONE = [*UNHURRIED, "--allow", "numpy"]
"""The same where any rewrite will do: no time goes to rivals that have to be compiled."""

HOT = """\
def total(values):
    s = 0
    for v in values:
        s = (s * 31 + v) % 1000003
    return s

"""
"""A function that takes about 0.1 s per million values; its loop is a recurrence."""


@dataclass(frozen=True)
class Run:
    """What one call of the command left."""

    code: int
    out: str
    err: str
    folder: Path


def leftovers(scratch: Path) -> list[str]:
    """What was not removed from the temporary folder."""
    return sorted(entry.name for entry in scratch.iterdir() if entry.name.startswith("gpuadvise"))


def processes(word: str) -> list[str]:
    """Command lines of running processes whose TMPDIR or arguments name the scratch folder."""
    found = []
    for entry in Path("/proc").iterdir() if Path("/proc").exists() else ():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            where = str((entry / "cwd").readlink())
        except OSError:
            continue
        if word in line or word in where:
            found.append(line)
    return found


def write(folder: Path, name: str, text: str) -> Path:
    """Write a script."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(folder: Path) -> Sequence[str]:
    """The entries of a folder, without what Python itself may leave."""
    return sorted(entry.name for entry in folder.iterdir() if entry.name != "__pycache__")

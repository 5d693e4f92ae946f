"""The roofs over this machine's programs: measured once, kept in the user's state folder.

The model is that of Williams, Waterman and Patterson (2009): a loop that does I operations for each
byte it moves cannot exceed ``min(peak, I * bandwidth)``; both meet at the ridge point.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ..model import Machine
from ..undo import state_dir
from .cpu import environment

LIMIT = 120.0
"""Seconds that one measuring process may take."""
VERSION = 1
"""Part of the name of what is kept: ceilings measured in another way are measured anew."""


@dataclass(frozen=True)
class Roof:
    """The ceilings of one device, used by so many threads."""

    device: str
    """``"one core"``, ``"all 16 cores"``, or the GPU's name."""
    bandwidth: float
    """Bytes per second, read and written, of a copy far beyond the caches."""
    peak: Mapping[str, float]
    """Floating-point operations per second by dtype."""
    how: Mapping[str, str]
    """What gave each figure: ``"bandwidth"`` and the dtypes to the method, n and the spread."""

    def ridge(self, dtype: str) -> float:
        """Operations per byte from which on arithmetic is the limit."""
        return self.peak[dtype] / self.bandwidth

    def roof(self, intensity: float, dtype: str) -> float:
        """Operations per second that are possible at an arithmetic intensity (operation/byte)."""
        return min(self.peak[dtype], intensity * self.bandwidth)


@dataclass(frozen=True)
class Ceilings:
    """All roofs of a machine."""

    roofs: tuple[Roof, ...]
    measured: str
    """When, ISO 8601."""
    busy: float = 0.0
    """Mean number of other running processes while it was measured (the load of the minute before):
    above a few tenths of the cores the figures are too low."""
    missing: str = ""
    """Why there is no roof of a GPU."""


Runner = Callable[[list[str], Mapping[str, str]], dict[str, Any]]


def run_worker(arguments: list[str], env: Mapping[str, str]) -> dict[str, Any]:
    """A measuring process; what it printed. An entry ``"missing"`` says why it failed."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", *arguments],
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return {"missing": f"measuring took more than {LIMIT:.0f} s"}
    try:
        found = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        last = done.stderr.strip().splitlines()
        return {"missing": last[-1][:200] if last else f"it ended with status {done.returncode}"}
    assert isinstance(found, dict)
    return found


def measure(cores: int, gpu: bool, run: Runner = run_worker) -> Ceilings:
    """Measure one core, all cores and, where ``gpu``, the GPU: some ten seconds each."""
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    roofs: list[Roof] = []
    missing = "" if gpu else "this machine has no CUDA device"
    for threads in sorted({1, cores}):
        name = "one core" if threads == 1 else f"all {threads} cores"
        found = run(["gpuadvise.roofline.cpu", str(threads)], environment(threads))
        if "missing" not in found:
            roofs.append(roof_of(name, found))
        else:
            missing = f"{name} could not be measured: {found['missing']}"
    if gpu:
        found = run(["gpuadvise.roofline.gpu"], {})
        if "missing" in found:
            missing = str(found["missing"])
        else:
            roofs.append(roof_of(str(found["name"]), found))
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    return Ceilings(tuple(roofs), now, busy, missing)


def roof_of(device: str, found: Mapping[str, Any]) -> Roof:
    """The best of all repetitions of the best method: a ceiling is what was reached once."""
    best: dict[str, float] = {}
    how: dict[str, str] = {}
    for what in ("bandwidth", "float32", "float64"):
        method, values = max(found[what].items(), key=lambda entry: max(entry[1]))
        best[what] = max(values)
        spread = 100.0 * (max(values) - min(values)) / max(values)
        how[what] = f"{method}, best of {len(values)}, range {spread:.0f} %"
    peaks = {dtype: best[dtype] for dtype in ("float32", "float64")}
    return Roof(device, best["bandwidth"], peaks, how)


# -------------------------------------------------------------------- cache
def cached(machine: Machine, cores: int) -> Ceilings | None:
    """What was measured on this machine before; None if nothing was, or it cannot be read."""
    try:
        data = json.loads(_file(machine, cores).read_text(encoding="utf-8"))
        roofs = tuple(Roof(**roof) for roof in data["roofs"])
        return Ceilings(roofs, data["measured"], data["busy"], data["missing"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep(machine: Machine, cores: int, found: Ceilings) -> None:
    """Write it into the user's state folder; a folder that cannot be written is no matter."""
    path = _file(machine, cores)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    except OSError:
        return


def _file(machine: Machine, cores: int) -> Path:
    marks = (
        VERSION,
        machine.node,
        machine.cpu,
        cores,
        machine.gpus,
        sorted(machine.packages.items()),
    )
    name = hashlib.sha256(repr(marks).encode()).hexdigest()[:16]
    return state_dir() / "roofline" / f"{name}.json"

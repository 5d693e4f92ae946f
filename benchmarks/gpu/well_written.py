"""Well-written programs for a GPU, traced: the rules must say nothing of them.

    python benchmarks/gpu/well_written.py [--only NAMES] [--seconds S] [--output FILE]

Runs the programs of ``tests/gpu_rules/*_clean`` and the bundled well-written ones once under the
recorder, and asks every rule on GPU code with what was traced. Needs an NVIDIA GPU, CuPy,
numba-cuda, PyTorch and cupti-python.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from trace_overhead import FOLDER, header

from gpuadvise.cudatrace.attribute import attribute
from gpuadvise.cudatrace.findings import findings
from gpuadvise.cudatrace.traced import trace_run
from gpuadvise.model import Target
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.target import read_sources

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ("cupy_resident.py", "numba_resident.py", "torch_well_fed.py")
LIMIT = 30.0
"""Seconds of one traced run."""


def main() -> None:
    """Trace all, print the table; the exit status is the number of programs with a finding."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[], help="names of programs")
    parser.add_argument("--seconds", type=float, default=200.0, help="for all of them together")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        "| program | traced s | kernels | copies | synchronisations | findings |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    end, named = time.monotonic() + options.seconds, 0
    for path in programs():
        if options.only and path.stem not in options.only:
            continue
        if time.monotonic() > end:
            print(f"{path.name}: not run, out of time", flush=True)
            continue
        text, found = row(path)
        named += found
        lines.append(text)
        print(text, flush=True)
    if options.output:
        options.output.write_text(f"{header()}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    sys.exit(min(named, 100))


def programs() -> list[Path]:
    """The programs, by family."""
    found = sorted((ROOT / "tests/gpu_rules").glob("*_clean/*.py"))
    return [*found, *(FOLDER / name for name in BUNDLED)]


def row(path: Path) -> tuple[str, int]:
    """One line of the table, and whether anything was found."""
    target = Target(path, cwd=path.parent, python=sys.executable)
    with Sandbox(target) as box:
        sources = read_sources(target)
        traced = trace_run(box, target, limit=LIMIT)
    if traced.trace is None or not traced.run.ok:
        said = "; ".join(traced.notes) or (traced.run.stderr or b"")[-150:].decode()
        return f"| {path.stem} | failed: {said} | | | | |", 0
    work = attribute(traced.trace)
    advice = findings(traced.trace, work, traced.run, sources)
    named = ", ".join(f"{a.rule}:{a.mistake.line} ({a.mistake.evidence})" for a in advice)
    counts = " | ".join(str(len(traced.trace[kind])) for kind in ("kernels", "copies", "syncs"))
    cells = f"{traced.run.wall:.1f} | {counts} | {named or 'none'}"
    return f"| {path.stem} | {cells} |", bool(advice)


if __name__ == "__main__":
    main()

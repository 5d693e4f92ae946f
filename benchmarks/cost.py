"""What advice costs: seconds by stage, the share of verification, and how the budget is kept.

    python benchmarks/cost.py [--only NAME ...] [--loops] [--output FILE]

Runs ``gpuadvise --json`` on every bundled program with the default budget and, with ``--loops``,
on loops of known length with budgets of 10, 20 and 60 s. "over" is how far the whole of the tool,
from its start to its exit and without the program's own run, went past the budget: not at all if
negative. Exit status 1 if the tool failed, or went past a budget by more than a tenth.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuadvise import targets
from gpuadvise.model import Outcome, Report
from gpuadvise.pipeline import default_budget
from gpuadvise.progress import START
from gpuadvise.report.json import from_json

TOLERATED = 0.10
LIMIT = 900
"""Seconds after which one gpuadvise run counts as hung."""
VERIFICATION = "trials"
"""The stage in which rewrites are run, compared and timed."""
BEFORE = (
    *("bare run", "scalene", "first line profile", "line profile", "scalene beside line profile"),
    "rewrites",
)
LOOPS = ((0.2, 10), (1.0, 10), (3.0, 10), (3.0, 20), (3.0, 60), (10.0, 20), (10.0, 60), (30.0, 60))
"""(seconds of the loop, budget)."""
LOOP = """\
import time

def work(n):
    s = 0.0
    for i in range(n):
        s += (i % 7) * 0.5 - (i % 3)
    return s


def count(n):
    t = 0
    for i in range(n):
        t += i * i % 11
    return t


s = t = rounds = 0
while rounds < ROUNDS:
    s += work(40_000)
    t += count(20_000)
    rounds += 1
print(s, t)
"""
ROUND = 0.0045
"""CPU seconds of a round of ``LOOP``, about."""


@dataclass(frozen=True)
class Cost:
    """One run of the tool."""

    name: str
    total: float
    """Seconds from the start of the command to its exit."""
    budget: float
    """What it was allowed beyond the program's own run."""
    report: Report | None
    trouble: str = ""

    @property
    def stages(self) -> dict[str, float]:
        """Seconds by stage."""
        costs = self.report.costs if self.report else ()
        return {c.stage: c.seconds for c in costs if c.stage != START}

    @property
    def bare(self) -> float:
        """Seconds of the program's own run."""
        return self.stages.get("bare run", 0.0)

    @property
    def over(self) -> float:
        """Part of the budget by which it was passed; negative if it was not."""
        return (self.total - self.bare) / self.budget - 1.0


def measure(program: Path, folder: Path, budget: float | None) -> Cost:
    """Run the tool on a program in ``folder``; the program is not changed."""
    out = folder / "report.json"
    options = ["--json", str(out), *(["--budget", str(budget)] if budget else [])]
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "gpuadvise", *options, program.name],
        cwd=program.parent,
        env=os.environ | {"GPUADVISE_STATE_DIR": str(folder / "state")},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    total = time.perf_counter() - begin
    if done.returncode not in (0, 1) or not out.exists():
        tail = " / ".join(done.stderr.strip().splitlines()[-3:])
        return Cost(
            program.stem, total, budget or 1.0, None, f"ended with {done.returncode}: {tail}"
        )
    report = from_json(json.loads(out.read_text(encoding="utf-8")))
    cost = Cost(program.stem, total, budget or 1.0, report)
    if budget:
        return cost
    return Cost(program.stem, total, default_budget(cost.bare), report)


def row(cost: Cost) -> str:
    """One line of the table."""
    if cost.report is None:
        return f"| {cost.name} | **FAILED** {cost.trouble} |"
    stages = cost.stages
    profiling = sum(stages.get(name, 0.0) for name in BEFORE[1:5])
    trials = stages.get(VERIFICATION, 0.0)
    rest = cost.total - sum(stages.values())
    said = "advice" if cost.report.outcome is Outcome.ADVICE else str(cost.report.outcome)
    if cost.report.outcome is Outcome.ADVICE and not cost.report.patched:
        said = "unverified advice"
    cells = [
        cost.name,
        f"{cost.bare:.1f}",
        f"{cost.total:.1f}",
        f"{profiling:.1f}",
        f"{stages.get('rewrites', 0.0):.1f}",
        f"{trials:.1f}",
        f"{rest:.1f}",
        f"{100 * trials / cost.total:.0f} %",
        f"{cost.budget:.1f}",
        f"{100 * cost.over:+.0f} %",
        said + (", partial" if cost.report.partial else ""),
    ]
    return "| " + " | ".join(cells) + " |"


HEAD = """\
| program | bare s | total s | profiling s | rewrites s | verification s | start, copy, report s \
| verification | budget s | over | outcome |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|
"""


def loops(box: Path) -> list[tuple[Path, float | None]]:
    """Programs of known length, each with its budget."""
    found: list[tuple[Path, float | None]] = []
    for seconds, budget in LOOPS:
        folder = box / f"loop_{seconds:g}_budget_{budget}"
        folder.mkdir()
        program = folder / f"loop_{seconds:g}s.py"
        program.write_text(LOOP.replace("ROUNDS", str(max(1, round(seconds / ROUND)))))
        found.append((program, float(budget)))
    return found


def bundled(box: Path, only: Sequence[str]) -> list[tuple[Path, float | None]]:
    """Copies of the bundled programs, with the default budget."""
    found: list[tuple[Path, float | None]] = []
    for example in targets.catalogue():
        if example.needs:
            continue  # another machine
        if not only or example.name in only:
            folder = box / example.name
            folder.mkdir()
            found.append((targets.copy(example.name, folder), None))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them all; print, and write if asked to. Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="these only")
    parser.add_argument("--loops", action="store_true", help="loops of known length, with budgets")
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write the table here")
    options = parser.parse_args(arguments)
    costs = []
    with tempfile.TemporaryDirectory(prefix="gpuadvise-cost-") as name:
        box = Path(name)
        programs = [] if options.loops and not options.only else bundled(box, options.only)
        programs += loops(box) if options.loops else []
        print(HEAD, end="")
        for program, budget in programs:
            costs.append(measure(program, box, budget))
            print(row(costs[-1]), flush=True)
    late = [c.name for c in costs if c.report is None or c.over > TOLERATED]
    told = [c for c in costs if c.report is not None]
    share = sum(c.stages.get(VERIFICATION, 0.0) for c in told) / max(
        1e-9, sum(c.total for c in told)
    )
    said = (
        f"\nVerification takes {100 * share:.0f} % of all the time together; the budget was kept "
        f"within a tenth by {len(costs) - len(late)} of {len(costs)}"
        f"{', not by ' + ', '.join(late) if late else ''}.\n"
    )
    print(said)
    if options.output:
        words = " --loops" * options.loops + "".join(f" --only {name}" for name in options.only)
        head = (
            f"# What advice costs\n\n`python benchmarks/cost.py{words}`, "
            f"{time.strftime('%Y-%m-%d')}, {platform.machine()}, {os.cpu_count()} cores, load "
            f"{os.getloadavg()[1]:.1f}, Python {platform.python_version()}.\n\n"
        )
        options.output.write_text(head + HEAD + "\n".join(map(row, costs)) + f"\n{said}", "utf-8")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())

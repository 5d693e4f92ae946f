"""Whole scripts of about five seconds that no rule was written for: the tool against an expert.

    python benchmarks/unseen.py [NAME ...] [--programs DIR] [--jobs N] [--runs N] [--budget S]
                                [--output FILE]

``unseen_programs`` holds the scripts as their users wrote them, ``unseen_programs/by_hand`` each as
somebody who knows NumPy rewrites it, without a compiler. ``--programs`` takes another folder of the
kind (``unseen_later``), whose versions by hand may be missing. For every script the whole tool runs
with ``--apply``; then the original, the rewritten script and the one by hand run in fresh
processes, in turn. A script that the tool leaves alone counts as 1x. Exit status 1 if an output
differs.

Two figures tell what the tool gains. ``tool``: the rewritten text alone in a fresh folder, as if it
were copied to another machine: whatever is compiled is compiled in that run. ``after --apply``: the
run that a user makes next, from the folder as ``--apply`` left it, with what numba compiled in the
trials. They differ for compiled rewrites only.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median

from corpus import advise, difference, plain_run, reasons_against, winning_rules

from gpuadvise.model import Report
from gpuadvise.pipeline import default_budget

PROGRAMS = Path(__file__).resolve().parent / "unseen_programs"


@dataclass(frozen=True)
class Side:
    """One version of a script: its times, and how its output differs from the original's."""

    seconds: tuple[float, ...]
    cpu: tuple[float, ...]
    trouble: str = ""

    @property
    def middle(self) -> float:
        """Median of the wall seconds."""
        return median(self.seconds)


@dataclass(frozen=True)
class Result:
    """What came of one script."""

    name: str
    report: Report | None
    failure: str
    """What the tool said where it failed; else empty."""
    advice: float
    """Seconds of the whole tool."""
    original: Side
    rewritten: Side | None
    """None where the tool changed nothing."""
    applied: Side | None
    """The rewritten script with the compiled code that ``--apply`` kept; None where none was."""
    by_hand: Side | None
    """None where nobody has rewritten it."""

    @property
    def gain(self) -> float:
        """Whole-script speed-up of what the tool leaves behind."""
        return 1.0 if self.rewritten is None else self.original.middle / self.rewritten.middle

    @property
    def next_gain(self) -> float:
        """Whole-script speed-up of the run that follows ``--apply``."""
        return self.gain if self.applied is None else self.original.middle / self.applied.middle

    @property
    def experts(self) -> float:
        """Whole-script speed-up of the version by hand; not a number without one."""
        by_hand = self.by_hand
        return math.nan if by_hand is None else self.original.middle / by_hand.middle

    @property
    def cpu(self) -> tuple[float, float]:
        """Both in CPU time, which other jobs on the machine change less."""
        mine = 1.0 if self.rewritten is None else _ratio(self.original.cpu, self.rewritten.cpu)
        by_hand = self.by_hand
        return mine, math.nan if by_hand is None else _ratio(self.original.cpu, by_hand.cpu)

    @property
    def trouble(self) -> str:
        """In words, what went wrong; empty if nothing."""
        by_tool = [side.trouble for side in (self.rewritten, self.applied) if side is not None]
        by_hand = self.by_hand.trouble if self.by_hand is not None else ""
        by_hand = by_hand and f"by hand: {by_hand}"
        return "; ".join(filter(None, (self.failure, *dict.fromkeys(by_tool), by_hand)))


def _ratio(original: Sequence[float], other: Sequence[float]) -> float:
    return median(original) / max(median(other), 1e-3)


def names(programs: Path) -> list[str]:
    """The scripts there are in a folder."""
    return sorted(path.stem for path in programs.glob("*.py"))


def try_script(program: Path, runs: int, budget: float | None) -> Result:
    """The whole tool on a copy of the script, then all versions ``runs`` times in turn."""
    with tempfile.TemporaryDirectory(prefix="gpuadvise-unseen-") as folder:
        box = Path(folder)
        more = [] if budget is None else ["--budget", f"{budget:g}"]
        report, failure, seconds = advise(program, box / "advised", more=more)
        versions = {"original": program}
        by_hand = program.parent / "by_hand" / program.name
        if by_hand.exists():
            versions["by_hand"] = by_hand
        if report is not None and report.patched:
            versions["rewritten"] = box / "advised" / program.name
        kept = report.kept_compiled if report is not None else ()
        if kept:
            versions["applied"] = versions["rewritten"]
        sides = measure(versions, box, runs, kept)
        return Result(
            program.stem,
            report,
            failure,
            seconds,
            sides["original"],
            sides.get("rewritten"),
            sides.get("applied"),
            sides.get("by_hand"),
        )


def measure(
    versions: dict[str, Path], box: Path, runs: int, kept: Sequence[Path]
) -> dict[str, Side]:
    """All versions in turn, each run in a fresh folder; outputs compared with the first original.

    numba's compiled code lies beside the script, so every run of the rewritten one is a cold one;
    only the ``applied`` one starts with what was ``kept``.
    """
    seconds: dict[str, list[float]] = {version: [] for version in versions}
    cpu: dict[str, list[float]] = {version: [] for version in versions}
    troubles: dict[str, str] = {}
    reference = None
    for number in range(runs):
        for version, path in versions.items():
            folder = box / f"{version}-{number}"
            run = plain_run(path, folder, compiled=kept if version == "applied" else ())
            shutil.rmtree(folder)
            seconds[version].append(run.seconds)
            cpu[version].append(run.cpu)
            reference = reference or run
            if trouble := difference(reference, run):
                troubles[version] = trouble
    return {v: Side(tuple(seconds[v]), tuple(cpu[v]), troubles.get(v, "")) for v in versions}


# ------------------------------------------------------------------- the table
HEAD = (
    "| script | original s | outcome | tool | after --apply | by hand | in CPU time | advice s "
    "| allowed s |\n|---|---:|---|---:|---:|---:|---:|---:|---:|"
)


def row(result: Result) -> str:
    """One line of the table."""
    bare = result.report.profile.bare.wall if result.report and result.report.profile else math.nan
    cells = [
        result.name,
        f"{result.original.middle:.1f}",
        outcome(result).replace("|", "\\|").replace("\n", " "),
        times(result.gain),
        times(result.next_gain),
        times(result.experts),
        " / ".join(map(times, result.cpu)),
        f"{result.advice:.0f}",
        f"{bare + default_budget(bare):.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def times(ratio: float) -> str:
    """``12x``, ``3.4x``; a dash for what is not known."""
    if math.isnan(ratio):
        return "-"
    return f"{ratio:.0f}x" if ratio >= 10.0 else f"{ratio:.1f}x"


def outcome(result: Result) -> str:
    """The rules that won, or the first reason why the hottest loop was left alone."""
    if result.trouble or result.report is None:
        return f"**WRONG**: {result.trouble}"
    report = result.report
    if report.patched:
        return winning_rules(report)
    return next(iter(reasons_against(report)), report.message)


def summary(results: Sequence[Result]) -> str:
    """How many gained, and the geometric means."""
    gained = [result for result in results if result.rewritten is not None]
    wrong = [result.name for result in results if result.trouble]
    columns = zip(*((r.gain, r.next_gain, r.experts, *r.cpu) for r in results), strict=True)
    known = ([ratio for ratio in column if not math.isnan(ratio)] for column in columns)
    means = [times(geometric_mean(column) if column else math.nan) for column in known]
    return (
        f"{len(gained)} of {len(results)} scripts rewritten, {len(wrong)} wrong"
        f"{': ' + ', '.join(wrong) if wrong else ''}. Geometric mean of all, those left alone as "
        f"1x: {means[0]} in a fresh folder, {means[1]} after --apply; by hand: {means[2]}; in CPU "
        f"time {means[3]} (fresh folder) and {means[4]}."
    )


def in_turn(wanted: Sequence[Path], jobs: int, runs: int, budget: float | None) -> Iterator[Result]:
    """The results in the scripts' order, ``jobs`` at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda program: try_script(program, runs, budget), wanted)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; print, and write if asked to. Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--programs", type=Path, default=PROGRAMS, metavar="DIR")
    parser.add_argument("--jobs", type=int, default=1, help="scripts at the same time")
    parser.add_argument("--runs", type=int, default=3, help="plain runs of each version")
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write the table here")
    parser.add_argument("--budget", type=float, help="the tool's, for machines with other jobs")
    options = parser.parse_args(arguments)
    there = names(options.programs)
    if unknown := sorted(set(options.names) - set(there)):
        parser.error(f"no such script: {', '.join(unknown)}")

    results: list[Result] = []
    print(HEAD)
    wanted = [options.programs / f"{name}.py" for name in options.names or there]
    for result in in_turn(wanted, options.jobs, options.runs, options.budget):
        results.append(result)
        print(row(result), flush=True)
    print(f"\n{summary(results)}")
    if options.output:
        head = (
            "# Scripts that no rule was written for\n\n"
            f"`python benchmarks/unseen.py {' '.join(arguments or sys.argv[1:])}`, "
            f"{time.strftime('%Y-%m-%d')}, {platform.machine()}, {os.cpu_count()} cores, "
            f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}.\n\n"
            f"{summary(results)}\n\n"
        )
        lines = [HEAD, *map(row, results)]
        options.output.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    return 1 if any(result.trouble for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())

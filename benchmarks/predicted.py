"""The roofline model's predictions against measured times, for rewrites of the bundled programs.

    python benchmarks/predicted.py [NAME ..] [--output FILE]

Each program is surveyed by the tool itself: every rewrite of its hot loops that is equal is timed
on the program's own states. Floor and estimate are what ``gpuadvise.roofline.predict`` gives from
the loop's operations and bytes and this machine's ceilings, before anything is run.
"""

from __future__ import annotations

import argparse
import io
import math
import platform
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from gpuadvise import targets
from gpuadvise.crossover.versions import Kind, kind_of
from gpuadvise.loopnest.ir import Nest
from gpuadvise.model import Candidate, NotFaster, Report, Verified
from gpuadvise.observe.machine import describe
from gpuadvise.options import Options
from gpuadvise.pipeline import advise
from gpuadvise.progress import Stages
from gpuadvise.roofline.ceilings import Ceilings, cached, keep, measure
from gpuadvise.roofline.journey import cores
from gpuadvise.roofline.place import roof_for
from gpuadvise.roofline.predict import predict
from gpuadvise.roofline.work import Work, work_of
from gpuadvise.target import resolve

PROGRAMS = {
    "heat": ["300", "4"],
    "life_naive": ["120", "20"],
    "mandelbrot": ["150", "60"],
    "matrix_chain": ["50", "3"],
    "module_filter": ["60000"],
    "monte_carlo": ["8000", "20"],
    "nbody": ["60", "10"],
    "pairwise": ["300"],
}
"""Bundled programs with a loop whose work can be counted, or not; arguments that keep it short."""


@dataclass(frozen=True)
class Row:
    """One rewrite of one loop."""

    program: str
    line: int
    rule: str
    kind: Kind
    limit: str
    floor: float
    expected: float
    measured: float

    @property
    def error(self) -> float:
        """Measured time over the estimate."""
        return self.measured / self.expected


def ceilings() -> Ceilings:
    """This machine's, kept or measured now."""
    machine = describe()
    known = cached(machine, cores())
    if known is None:
        known = measure(cores(), bool(machine.gpus))
        keep(machine, cores(), known)
    return known


def survey(program: Path, arguments: Sequence[str], budget: float) -> Report:
    """All rewrites of a program, tried on its states in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="gpuadvise-predicted-") as name:
        copy = Path(shutil.copy(program, name))
        quiet = Stages(Console(file=io.StringIO()))
        options = Options(survey=True, budget=budget)
        return advise(resolve((str(copy), *arguments), None), options, quiet, 0.0)


def rows_of(name: str, report: Report, known: Ceilings) -> Iterator[Row]:
    """The rewrites that were timed, of loops whose work can be counted."""
    for finding in report.findings:
        for trial in (finding.winner, *finding.others):
            if trial is None or not isinstance(trial.region_verdict, Verified | NotFaster):
                continue
            region, kind = trial.candidate.region, kind_of(trial.candidate)
            work = work_of(region.nest) if isinstance(region.nest, Nest) else None
            roof, times = roof_for(kind, known), trial.region_verdict.speedup.candidate
            if not isinstance(work, Work) or not work.operations or roof is None or not times:
                continue
            assert isinstance(region.nest, Nest)
            product = is_product(trial.candidate)
            told = predict(region.nest, work, kind, roof, product=product)
            rule, line = trial.candidate.rule, region.loop.lineno
            measured = statistics.median(times)
            yield Row(name, line, rule, kind, told.limit, told.seconds, told.expected, measured)


def is_product(candidate: Candidate) -> bool:
    """Whether BLAS does the work of a rewrite."""
    text = "".join(edit.text for edit in candidate.match.edits)
    return re.search(r" @ |\.(matmul|dot|einsum|tensordot)\(", text) is not None


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown, then the model's error for each kind."""
    lines = [
        "| program | line | rewrite | limit | floor | predicted | measured | over predicted |",
        "|---|---:|---|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        what = f"{row.rule} ({row.kind})"
        lines.append(
            f"| {row.program} | {row.line} | {what} | {row.limit} | {1e6 * row.floor:.4g} us "
            f"| {1e6 * row.expected:.4g} us | {1e6 * row.measured:.4g} us | {row.error:.2g} |"
        )
    lines += [
        "",
        "| version | n | measured over predicted, geometric mean | factor of error | range |",
        "|---|---:|---:|---:|---|",
    ]
    for kind in dict.fromkeys(row.kind for row in rows):
        mine = [row.error for row in rows if row.kind is kind]
        logs = [math.log(error) for error in mine]
        mean, off = math.exp(statistics.fmean(logs)), math.exp(statistics.fmean(map(abs, logs)))
        spread = f"{min(mine):.2g}-{max(mine):.2g}"
        lines.append(f"| {kind} | {len(mine)} | {mean:.2g} | {off:.2g} | {spread} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Survey the programs one after the other and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="these programs only")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for each program")
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write the table here")
    options = parser.parse_args()
    known, found = ceilings(), []
    paths = {example.name: example.path for example in targets.catalogue()}
    for name in options.names or PROGRAMS:
        report = survey(paths[name], PROGRAMS.get(name, []), options.budget)
        rows = list(rows_of(name, report, known))
        print(f"{name}: {len(rows)} rewrites", flush=True)
        found += rows
    roofs = ", ".join(f"{roof.device} {roof.bandwidth / 1e9:.3g} GB/s" for roof in known.roofs)
    head = (
        "# Predicted against measured\n\n"
        f"`python benchmarks/predicted.py`, {time.strftime('%Y-%m-%d')}, "
        f"{describe().cpu}, {cores()} cores, Python {platform.python_version()}; copy {roofs}.\n\n"
    )
    print(head + table(found))
    if options.output is not None:
        options.output.write_text(head + table(found), encoding="utf-8")


if __name__ == "__main__":
    main()

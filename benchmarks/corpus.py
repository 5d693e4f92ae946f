"""What gpuadvise makes of programs that no rule was written for: one table.

    python benchmarks/corpus.py [--only NAME ...] [--no-targets] [--output FILE]

Runs ``gpuadvise --json --apply`` on every program of ``tests/corpus`` and on the bundled targets,
each in an empty folder, then the original and the rewritten program once more, and compares
their standard output, exit status and files. Exit status 1 if any rewritten program differs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuadvise import targets
from gpuadvise.model import Refused, Report, Verified
from gpuadvise.report.json import from_json

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "corpus"
LIMIT = 600
"""Seconds after which one gpuadvise run counts as hung."""


@dataclass(frozen=True)
class Run:
    """One plain run of a program in an otherwise empty folder."""

    seconds: float
    code: int
    stdout: str
    files: dict[str, bytes]
    cpu: float = 0.0
    """CPU seconds, of all processes that ended meanwhile: its own if nothing runs beside."""


@dataclass(frozen=True)
class Result:
    """What came of one program."""

    name: str
    expected: str
    bare: float
    total: float
    """Seconds of the whole gpuadvise run."""
    report: Report | None
    trouble: str
    """What went wrong: the tool failed, or the rewritten program differs; empty if nothing."""
    measured: float | None = None
    """Plain run of the original over plain run of the rewritten program, one of each."""


def plain_run(
    program: Path, folder: Path, arguments: Sequence[str] = (), *, compiled: Sequence[Path] = ()
) -> Run:
    """Run a copy of ``program`` in ``folder``, which is made, and look at what it leaves.

    ``compiled``: files of compiled code that are copied along, with their times.
    """
    folder.mkdir()
    copied = shutil.copy2(program, folder / program.name)
    for path in compiled:
        (folder / "__pycache__").mkdir(exist_ok=True)
        shutil.copy2(path, folder / "__pycache__" / path.name)
    begin, before = time.perf_counter(), _children_cpu()
    done = subprocess.run(
        [sys.executable, Path(copied).name, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    seconds, cpu = time.perf_counter() - begin, _children_cpu() - before
    made = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != program.name and "__pycache__" not in path.parts
    }
    return Run(seconds, done.returncode, done.stdout, made, cpu)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def advise(
    program: Path, folder: Path, *, apply: bool = True, more: Sequence[str] = ()
) -> tuple[Report | None, str, float]:
    """Run gpuadvise on a copy in ``folder``: its report, what it said if it failed, its time.

    ``more``: further options of the command.
    """
    folder.mkdir()
    shutil.copy(program, folder / program.name)
    report = folder.parent / f"{program.stem}.report.json"
    state = {"GPUADVISE_STATE_DIR": str(folder.parent / "state")}
    options = ["--json", str(report), *(["--apply"] if apply else []), *more]
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "gpuadvise", *options, program.name],
        cwd=folder,
        env=os.environ | state,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    seconds = time.perf_counter() - begin
    if done.returncode not in (0, 1) or not report.exists():
        tail = " / ".join(done.stderr.strip().splitlines()[-3:])
        return None, f"gpuadvise ended with {done.returncode}: {tail}", seconds
    return from_json(json.loads(report.read_text(encoding="utf-8"))), "", seconds


def difference(original: Run, rewritten: Run) -> str:
    """In words, what a user would see differ; empty if nothing."""
    if original.code != rewritten.code:
        return f"exit status {original.code} became {rewritten.code}"
    if original.stdout != rewritten.stdout:
        pairs = zip(original.stdout.splitlines(), rewritten.stdout.splitlines(), strict=False)
        shown = next((f"{a!r} became {b!r}" for a, b in pairs if a != b), "more or fewer lines")
        return f"output differs: {shown}"
    if original.files != rewritten.files:
        return "the files written differ"
    return ""


def try_program(program: Path, expected: str = "", more: Sequence[str] = ()) -> Result:
    """Bare run, advice, rewritten run, in folders of their own that are removed afterwards.

    ``more``: further options of the command.
    """
    with tempfile.TemporaryDirectory(prefix="gpuadvise-corpus-") as name:
        box = Path(name)
        original = plain_run(program, box / "original")
        report, trouble, total = advise(program, box / "advised", more=more)
        if report is None:
            return Result(program.stem, expected, original.seconds, total, None, trouble)
        rewritten = plain_run(box / "advised" / program.name, box / "rewritten")
        trouble = difference(original, rewritten)
        gain = original.seconds / rewritten.seconds
        return Result(program.stem, expected, original.seconds, total, report, trouble, gain)


# ------------------------------------------------------------------- the table
def table(results: Sequence[Result]) -> str:
    """The results as a Markdown table."""
    lines = [
        "| program | bare s | outcome | rule | script speed-up, or why not | "
        "once by hand | cost / bare | expected |",
        "|---|---:|---|---|---|---:|---:|---|",
    ]
    lines += [_row(result) for result in results]
    return "\n".join(lines) + "\n"


def _row(result: Result) -> str:
    report = result.report
    if result.trouble or report is None:
        cells = ["**WRONG**" if report else "**FAILED**", "", result.trouble]
    else:
        cells = [str(report.outcome), winning_rules(report), _gain(report)]
    once = f"{result.measured:.1f}x" if result.measured and report and report.patched else ""
    return (
        "| "
        + " | ".join(
            cell.replace("|", "\\|").replace("\n", " ")
            for cell in [
                result.name,
                f"{result.bare:.2f}",
                *cells,
                once,
                f"{result.total / result.bare:.1f} ({result.total:.0f} s)",
                result.expected,
            ]
        )
        + " |"
    )


def winning_rules(report: Report) -> str:
    """The codes of the rules whose rewrites are in the patch."""
    winners = (finding.winner for finding in report.findings)
    return ", ".join(dict.fromkeys(w.candidate.rule for w in winners if w is not None))


def _gain(report: Report) -> str:
    verdict = report.script_verdict
    if report.patched and isinstance(verdict, Verified):
        ratio = verdict.speedup
        n = min(len(ratio.original), len(ratio.candidate))
        return f"{ratio.value:.1f}x ({ratio.low:.1f}-{ratio.high:.1f}x, n={n})"
    return "; ".join(reasons_against(report)[:2]) or report.message


def reasons_against(report: Report) -> list[str]:
    """What became of the rewrites that were tried, then why hot loops were left alone."""
    return [*dict.fromkeys(_tried(report)), *_reasons(report)]


def _tried(report: Report) -> Iterator[str]:
    """What became of the candidates: ``NP220 was tried: NotFaster``."""
    for finding in report.findings:
        for trial in finding.others:
            verdict = trial.region_verdict
            if isinstance(verdict, Verified) and trial.script_verdict is not None:
                verdict = trial.script_verdict
            yield f"{trial.candidate.rule} was tried: {type(verdict).__name__}"


def _reasons(report: Report) -> Iterator[str]:
    """Why the hottest regions were left alone, each reason once."""
    seen: set[str] = set()
    for refused in sorted(report.refused, key=_share, reverse=True):
        reason = refused.refusal.reason
        if reason not in seen:
            seen.add(reason)
            line = refused.refusal.line
            yield reason if line is None else f"{reason} (line {line})"


def _share(refused: Refused) -> float:
    return refused.region.share


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them all; print, and write if asked to. Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these programs only")
    parser.add_argument("--no-targets", action="store_true", help="leave out the bundled targets")
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write the table here")
    options = parser.parse_args(arguments)

    expected = json.loads((CORPUS / "expected.json").read_text(encoding="utf-8"))
    programs = [(path, expected[path.stem]["expect"]) for path in sorted(CORPUS.glob("*.py"))]
    if not options.no_targets:
        programs += [(example.path, "") for example in targets.catalogue() if not example.needs]
    if options.only:
        programs = [(path, e) for path, e in programs if path.stem in options.only]
    results = []
    for path, expectation in programs:
        result = try_program(path, expectation)
        results.append(result)
        print(_row(result), flush=True)

    wrong = [result.name for result in results if result.trouble]
    head = (
        f"# What gpuadvise makes of programs\n\n"
        f"`python benchmarks/corpus.py`, {time.strftime('%Y-%m-%d')}, {platform.machine()}, "
        f"{os.cpu_count()} cores, Python {platform.python_version()}.\n"
        f"The rewritten program was run once more by hand (last but two columns) and its output "
        f"compared: {len(results) - len(wrong)} of {len(results)} equal"
        f"{', not: ' + ', '.join(wrong) if wrong else ''}.\n\n"
    )
    if options.output:
        options.output.write_text(head + table(results), encoding="utf-8")
    print(f"\n{len(results) - len(wrong)} of {len(results)} programs came out equal")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

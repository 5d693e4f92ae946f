"""Mutation test of the verifier: faults injected into correct rewrites, and how many are caught.

    python benchmarks/mutants.py [--program NAME ...] [--rule CODE ...] [--operator NAME ...]
                                 [--each N] [--jobs N] [--fresh] [--output FILE]

Every program of ``benchmarks/mutants_programs`` goes through the tool as far as its rewrites. Each
rewrite is tried as it is (it must pass) and then with one fault at a time, on the held states, on
perturbed ones, and as a whole script. What nobody can tell from the rewrite is *equivalent*: those
are listed by hand, with the argument, in ``mutants_reviewed.json``; all else that is not caught is
an escape. Outcomes are kept in the temporary folder: a second run goes on where the first stopped.
What escaped is tried again whenever the verifier has changed.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutant_operators import OPERATORS
from mutant_pool import parallel
from mutant_run import EACH, EACH_COMPILED, NO_FAULT, PROGRAMS, Kept, Row, Selection, results
from mutant_table import report, reviews, sort

KEPT = Path(tempfile.gettempdir()) / "gpuadvise-mutants.json"
LONG = 86_400.0
"""Seconds; no limit."""
LEGEND = """\
Who caught a fault. `text`: the ledger promises a test, or the original loop behind it, that the new
text does not hold; `region`: a held state of the program; `perturbed`: an input made from one;
`script`: the whole run; `no gain`: equal, and not faster, so that it is not offered; `refused`: it
could not be compared. `equivalent`: no input that the program's text and the guards admit can tell
the mutant from the rewrite, as a person argues below. Faults that only change the last digits are
not injected into rewrites that promise no more.

"""


@dataclass(frozen=True)
class Measured:
    """Where and how long; the first line of a file of rows."""

    machine: str
    python: str
    date: str
    command: str
    seconds: float

    @classmethod
    def here(cls, seconds: float) -> Measured:
        """This process's machine and command."""
        return cls(
            _processor(),
            platform.python_version(),
            time.strftime("%Y-%m-%d"),
            shlex.join(["python", "benchmarks/mutants.py", *_telling(sys.argv[1:])]),
            round(seconds),
        )


def _telling(words: list[str]) -> list[str]:
    """The options without the names of files."""
    files = ("--kept", "--rows", "--output")
    return [
        word
        for before, word in zip(["", *words], words, strict=False)
        if word not in files and before not in files
    ]


def _processor() -> str:
    place = Path("/proc/cpuinfo")
    lines = place.read_text(encoding="utf-8").splitlines() if place.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    if not names:
        return platform.processor() or platform.machine()
    return f"{names[0]}, {len(names)} logical processors"


def write_rows(place: Path, measured: Measured, rows: list[Row]) -> None:
    """Every mutant and its outcome, as lines of JSON."""
    lines = [json.dumps(asdict(entry)) for entry in (measured, *rows)]
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_rows(place: Path) -> tuple[Measured, list[Row]]:
    """What ``write_rows`` wrote."""
    head, *lines = place.read_text(encoding="utf-8").splitlines()
    return Measured(**json.loads(head)), [Row(**json.loads(line)) for line in lines]


def tried(options: argparse.Namespace) -> Iterator[Row]:
    """The rows of a run."""
    if options.fresh:
        options.kept.unlink(missing_ok=True)
    programs = sorted(PROGRAMS.glob("*.py"))
    if options.program:
        programs = [path for path in programs if path.stem in options.program]
    selection = Selection(
        frozenset(options.rule) if options.rule else None,
        frozenset(options.operator) if options.operator else None,
        options.each,
        options.each_compiled,
    )
    kept = Kept(options.kept)
    if options.jobs == 1:
        yield from results(programs, selection, kept=kept, progress=True)
        return
    done = parallel(programs, selection, jobs=options.jobs, limit=options.limit, kept=kept)
    for task in done:
        kept.add(task.new)
        print(".", end="", file=sys.stderr, flush=True)
        yield from task.rows
    print(file=sys.stderr)


def measure(options: argparse.Namespace) -> tuple[Measured, list[Row]]:
    """A run, or what an earlier one found."""
    if options.read is not None:
        return read_rows(options.read)
    start, rows = time.perf_counter(), []
    for row in tried(options):
        rows.append(row)
        if options.sample is not None and len(rows) >= options.sample:
            break
        if options.jobs == 1 and time.perf_counter() - start > options.limit:
            break
    return Measured.here(time.perf_counter() - start), rows


# ------------------------------------------------------------------ command
def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    made.add_argument("--program", nargs="+", metavar="NAME")
    made.add_argument("--rule", nargs="+", metavar="CODE")
    made.add_argument("--operator", nargs="+", metavar="NAME", choices=list(OPERATORS))
    made.add_argument("--each", type=int, default=EACH, help="mutants of an operator a rewrite")
    made.add_argument("--each-compiled", type=int, default=EACH_COMPILED)
    made.add_argument("--sample", type=int, help="stop after so many mutants")
    made.add_argument("--jobs", type=int, default=1, help="processes")
    made.add_argument("--limit", type=float, default=LONG, help="seconds; begin nothing later")
    made.add_argument("--fresh", action="store_true", help="forget earlier outcomes")
    made.add_argument("--kept", type=Path, default=KEPT, help="outcomes of earlier runs")
    made.add_argument("--output", type=Path, help="the table")
    made.add_argument("--rows", type=Path, help="every mutant and its outcome, as JSON lines")
    made.add_argument("--read", type=Path, help="no run: the table of a file that --rows wrote")
    return made


def main() -> int:
    """Run or read, and write the table; 1 if an escape is not explained."""
    options = parser().parse_args()
    measured, rows = measure(options)
    if options.rows is not None:
        write_rows(options.rows, measured, rows)
    found = sort(rows, reviews())
    text = (
        f"# Mutation test of the verifier\n\n{measured.machine}, Python {measured.python}, "
        f"{measured.date}, {measured.seconds:.0f} s, `{measured.command}`\n\n{LEGEND}"
        + report(found, [row for row in rows if row.operator == NO_FAULT])
    )
    print(text)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    return int(any(review is None for _, review in found.escaped))


if __name__ == "__main__":
    sys.exit(main())

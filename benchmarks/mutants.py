"""Mutation test of the verifier: faults injected into correct rewrites, and how many are caught.

    python benchmarks/mutants.py [--program NAME ...] [--rule CODE ...] [--operator NAME ...]
                                 [--each N] [--sample N] [--fresh] [--output FILE]

Every program of ``benchmarks/mutants_programs`` goes through the tool as far as its rewrites. Each
rewrite is tried as it is (it must pass) and then with one fault at a time, on the held states, on
perturbed ones, and as a whole script. What nobody can tell from the rewrite is *equivalent*: those
are listed by hand, with the argument, in ``mutants_reviewed.json``; all else that is not caught is
an escape. Results are kept in the temporary folder: a second run goes on where the first stopped.
What escaped is tried again whenever the verifier has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutant_operators import OPERATORS, mutants
from mutant_text import Mutant, Rewritten
from mutant_trials import Outcome, Subject, subject

import gpuadvise
from gpuadvise.model import Candidate

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "mutants_programs"
REVIEWED = HERE / "mutants_reviewed.json"
KEPT = Path(tempfile.gettempdir()) / "gpuadvise-mutants.json"
EACH = 4
"""Mutants of one operator on one rewrite; those that need a compiler cost seconds: fewer."""
EACH_COMPILED = 1
COMPILED = frozenset(
    {
        *("collatz_while", "edit_table", "escape_time", "histogram", "iir_filter", "monte_carlo"),
        *("matrix_product", "running_extremes"),
    }
)
"""Programs whose compiled rewrites are tried: those that have few others."""
STAGES = ("text", "region", "perturbed", "script", "no gain", "refused")
CAUGHT = frozenset(STAGES)


@dataclass(frozen=True)
class Row:
    """One injected fault and what came of it."""

    program: str
    rule: str
    operator: str
    line: int
    what: str
    stage: str
    words: str
    fixed: bool = False
    """The loop is at module level, and the program reads no input: all runs have this one state."""


@dataclass(frozen=True)
class Review:
    """What a person found out about a mutant that is not caught."""

    program: str
    rule: str
    operator: str
    what: str
    verdict: str
    """``equivalent``: nobody can tell it from the rewrite; ``escape``: a known hole."""
    reason: str

    def matches(self, row: Row) -> bool:
        """``*`` as program or rule stands for all."""
        return (
            self.program in ("*", row.program)
            and self.rule in ("*", row.rule)
            and self.operator == row.operator
            and self.what == row.what
        )


def reviews() -> tuple[Review, ...]:
    """The hand-reviewed list."""
    entries = json.loads(REVIEWED.read_text(encoding="utf-8"))
    return tuple(Review(**entry) for entry in entries)


# ------------------------------------------------------------------- choice
def rank(candidate: Candidate, name: str, mutant: Mutant) -> str:
    """A fixed order that looks random: which mutants a sample takes."""
    key = f"{name}/{candidate.rule}/{mutant.operator}/{mutant.line}/{mutant.what}"
    return hashlib.sha256(key.encode()).hexdigest()


def chosen(
    candidate: Candidate, code: Rewritten, name: str, each: int, operators: frozenset[str] | None
) -> list[Mutant]:
    """Up to ``each`` mutants of every operator."""
    groups: dict[str, list[Mutant]] = {}
    for mutant in mutants(code, operators):
        groups.setdefault(mutant.operator, []).append(mutant)
    picked = []
    for group in groups.values():
        group.sort(key=lambda mutant: rank(candidate, name, mutant))
        picked += group[:each]
    return picked


def rewritten(subject: Subject, candidate: Candidate) -> Rewritten:
    """Both texts of a program."""
    region = candidate.region
    return Rewritten(
        region.source.data, subject.text(candidate), region.site.qualname, region.site.line
    )


# ------------------------------------------------------------------ results
class Kept:
    """Results of earlier runs, by the texts they are about."""

    def __init__(self, place: Path | None) -> None:
        self.place = place
        self.verifier = _digest(Path(gpuadvise.__file__).parent / "verify")
        self.known: dict[str, dict[str, str]] = {}
        if place is not None and place.exists():
            self.known = json.loads(place.read_text(encoding="utf-8"))

    def get(self, key: str) -> Outcome | None:
        """A known result; an escape counts only for the verifier it escaped from."""
        found = self.known.get(key)
        if found is None or (found["stage"] == "escaped" and found["verifier"] != self.verifier):
            return None
        return Outcome(found["stage"], found["words"])

    def put(self, key: str, outcome: Outcome) -> None:
        """Remember, on disk at once."""
        self.known[key] = {**asdict(outcome), "verifier": self.verifier}
        if self.place is not None:
            self.place.write_text(json.dumps(self.known), encoding="utf-8")


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def results(
    programs: Iterable[Path],
    *,
    rules: frozenset[str] | None = None,
    operators: frozenset[str] | None = None,
    each: int = EACH,
    each_compiled: int = EACH_COMPILED,
    kept: Kept | None = None,
    progress: bool = False,
) -> Iterator[Row]:
    """Try the mutants of the programs' rewrites, one after the other."""
    kept = kept or Kept(None)
    for program in programs:
        with tempfile.TemporaryDirectory(prefix="gpuadvise-mutants-") as folder:
            script = Path(shutil.copy(program, folder))
            with subject(script) as held:
                for candidate in held.candidates:
                    compiled = "numba" in candidate.match.needs
                    if compiled and held.name not in COMPILED:
                        continue
                    if rules is None or candidate.rule in rules:
                        number = each_compiled if compiled else each
                        yield from _of_candidate(held, candidate, number, operators, kept, progress)


def _of_candidate(
    held: Subject,
    candidate: Candidate,
    each: int,
    operators: frozenset[str] | None,
    kept: Kept,
    progress: bool,
) -> Iterator[Row]:
    code = rewritten(held, candidate)
    start, counts = time.perf_counter(), Counter[str]()
    right = _outcome(held, candidate, Mutant("none", 0, "", code.new), code, kept)
    if right.stage != "escaped":
        # A rewrite that does not pass proves nothing about faults in it.
        yield Row(held.name, candidate.rule, "no fault", 0, "", right.stage, right.words)
        return
    for mutant in chosen(candidate, code, held.name, each, operators):
        outcome = _outcome(held, candidate, mutant, code, kept)
        counts[outcome.stage] += 1
        if progress:
            seconds = time.perf_counter() - start
            print(
                f"\r{held.name} {candidate.rule}: {dict(counts)}, {seconds:.0f} s ",
                end="",
                file=sys.stderr,
                flush=True,
            )
        yield Row(
            held.name,
            candidate.rule,
            mutant.operator,
            mutant.line,
            mutant.what,
            outcome.stage,
            outcome.words,
            fixed=candidate.region.site.qualname == "<module>",
        )
    if progress:
        print(file=sys.stderr)


def _outcome(
    held: Subject, candidate: Candidate, mutant: Mutant, code: Rewritten, kept: Kept
) -> Outcome:
    texts = b"\0".join((code.old, code.new, mutant.text, candidate.rule.encode()))
    key = hashlib.sha256(texts).hexdigest()
    known = kept.get(key)
    if known is None:
        known = held.judge(candidate, mutant.text, slow=mutant.slow)
        kept.put(key, known)
    return known


# -------------------------------------------------------------------- table
@dataclass(frozen=True)
class Sorted:
    """Rows with the reviews applied."""

    rows: tuple[Row, ...]
    equivalent: tuple[tuple[Row, Review], ...]
    fixed: tuple[Row, ...]
    """Never to be seen in a run of this program, whose one state was compared; with other data at
    the top of its text they might be."""
    escaped: tuple[tuple[Row, Review | None], ...]

    @property
    def faults(self) -> int:
        """Mutants that are not equivalent to the rewrite."""
        return len(self.rows) - len(self.equivalent) - len(self.fixed)

    @property
    def caught(self) -> int:
        """Faults that do not come out verified."""
        return self.faults - len(self.escaped)


def sort(rows: Iterable[Row], known: Sequence[Review]) -> Sorted:
    """Tell what is equivalent, what has escaped, and why."""
    rows = tuple(row for row in rows if row.operator != "no fault")
    equivalent: list[tuple[Row, Review]] = []
    fixed: list[Row] = []
    escaped: list[tuple[Row, Review | None]] = []
    for row in rows:
        if row.stage in CAUGHT:
            continue
        review = next((r for r in known if r.matches(row)), None)
        if review is not None and review.verdict == "equivalent":
            equivalent.append((row, review))
        elif row.fixed:
            fixed.append(row)
        else:
            escaped.append((row, review))
    return Sorted(rows, tuple(equivalent), tuple(fixed), tuple(escaped))


def table(found: Sorted) -> str:
    """Per operator: how many were injected, and who caught them."""
    head = ("operator", "injected", *STAGES, "equivalent", "one state", "escaped")
    lines = [_line(head), _line(["---"] + ["---:"] * (len(head) - 1))]
    names = [name for name in OPERATORS if any(row.operator == name for row in found.rows)]
    for name in [*names, "all"]:
        mine = [row for row in found.rows if name in (row.operator, "all")]
        counts = Counter(row.stage for row in mine)
        alike = sum(name in (row.operator, "all") for row, _ in found.equivalent)
        same = sum(name in (row.operator, "all") for row in found.fixed)
        lost = sum(name in (row.operator, "all") for row, _ in found.escaped)
        cells = [len(mine), *(counts[stage] for stage in STAGES), alike, same, lost]
        lines.append(_line([name, *(str(cell) if cell else "" for cell in cells)]))
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def report(found: Sorted, broken: Sequence[Row]) -> str:
    """Table, totals, escapes with reasons, and the arguments for the equivalent ones."""
    share = 100.0 * found.caught / max(1, found.faults)
    rules = Counter(row.rule for row in found.rows)
    programs = {row.program for row in found.rows}
    parts = [
        table(found),
        f"{len(found.rows)} mutants of {len(programs)} programs' rewrites "
        f"({', '.join(f'{rule}: {n}' for rule, n in sorted(rules.items()))}); "
        f"{len(found.equivalent)} are equivalent to the rewrite, by hand; {len(found.fixed)} "
        f"cannot be told in any run of the program (a loop at module level, no input: its one "
        f"state was compared, and the whole run); of the other {found.faults}, "
        f"**{found.caught} are caught ({share:.1f} %)**, {len(found.escaped)} escaped.\n",
    ]
    if found.escaped:
        parts.append("Escaped:\n")
        parts += [
            f"- {_key(row)}: {review.reason if review else 'not yet explained'}"
            for row, review in found.escaped
        ]
    if found.equivalent:
        reasons = Counter(review.reason for _, review in found.equivalent)
        parts.append("\nEquivalent, with the argument (mutants):\n")
        parts += [f"- {reason} ({count})" for reason, count in reasons.most_common()]
    if broken:
        parts.append("\nRewrites that did not pass without a fault, and were left out:\n")
        parts += [f"- {row.program}, {row.rule}: {row.stage}: {row.words}" for row in broken]
    return "\n".join(parts) + "\n"


def _key(row: Row) -> str:
    what = row.what if len(row.what) < 160 else row.what[:157] + "..."
    return f"{row.program}, {row.rule}, {row.operator}, line {row.line}: `{what}`"


# ------------------------------------------------------------------ command
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", nargs="+", metavar="NAME")
    parser.add_argument("--rule", nargs="+", metavar="CODE")
    parser.add_argument("--operator", nargs="+", metavar="NAME", choices=list(OPERATORS))
    parser.add_argument("--each", type=int, default=EACH, help="mutants of an operator a rewrite")
    parser.add_argument("--each-compiled", type=int, default=EACH_COMPILED)
    parser.add_argument("--sample", type=int, help="stop after so many mutants")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--rows", type=Path, help="every mutant and its outcome, as JSON lines")
    options = parser.parse_args()
    if options.fresh:
        KEPT.unlink(missing_ok=True)
    if options.rows is not None:
        options.rows.unlink(missing_ok=True)
    start = time.perf_counter()
    programs = sorted(PROGRAMS.glob("*.py"))
    if options.program:
        programs = [path for path in programs if path.stem in options.program]
    rows: list[Row] = []
    for row in results(
        programs,
        rules=frozenset(options.rule) if options.rule else None,
        operators=frozenset(options.operator) if options.operator else None,
        each=options.each,
        each_compiled=options.each_compiled,
        kept=Kept(KEPT),
        progress=True,
    ):
        rows.append(row)
        if options.rows is not None:
            with options.rows.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(row)) + "\n")
        if options.sample is not None and len(rows) >= options.sample:
            break
    found = sort(rows, reviews())
    seconds = time.perf_counter() - start
    text = (
        f"# Mutation test of the verifier\n\n{platform.processor() or platform.machine()}, "
        f"Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}, {seconds:.0f} s, "
        f"`python benchmarks/mutants.py`\n\n"
        + report(found, [row for row in rows if row.operator == "no fault"])
    )
    print(text)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    return int(any(review is None for _, review in found.escaped))


if __name__ == "__main__":
    sys.exit(main())

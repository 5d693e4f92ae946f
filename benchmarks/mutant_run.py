"""Trying mutants: which ones, on which rewrites, and what is remembered of earlier runs."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from mutant_operators import mutants
from mutant_text import Mutant, Rewritten
from mutant_trials import Outcome, Subject, subject

import gpuadvise
from gpuadvise.model import Candidate, Exactness

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "mutants_programs"
EACH = 4
"""Mutants of one operator on one rewrite; those that need a compiler cost seconds: fewer."""
EACH_COMPILED = 1
COMPILED = frozenset(
    {
        *("collatz_while", "edit_table", "escape_time", "histogram", "iir_filter", "monte_carlo"),
        *("matrix_product", "running_extremes", "gauss_seidel", "knapsack", "pair_forces"),
        *("shortest_paths", "mixing", "moving_median"),
        *("early_answers", "marbles", "neighbour_lists", "standardise", "two_products"),
    }
)
"""Programs whose compiled rewrites are tried: those that have few others."""
NO_FAULT = "no fault"


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
    place: str = ""
    """Qualified name of the function with the rewritten loop; ``<module>`` outside of all."""


@dataclass(frozen=True)
class Selection:
    """Which mutants are tried."""

    rules: frozenset[str] | None = None
    operators: frozenset[str] | None = None
    each: int = EACH
    each_compiled: int = EACH_COMPILED
    part: int = 0
    parts: int = 1
    """Of a program's mutants, those whose number leaves ``part`` when divided by ``parts``."""

    def takes(self, candidate: Candidate, name: str) -> bool:
        """Whether a rewrite of a program is one of them."""
        if "numba" in candidate.match.needs and name not in COMPILED:
            return False
        return self.rules is None or candidate.rule in self.rules

    def of_each(self, candidate: Candidate) -> int:
        """Mutants of one operator on this rewrite."""
        return self.each_compiled if "numba" in candidate.match.needs else self.each


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
    exact = candidate.match.exactness is Exactness.BITS
    for mutant in mutants(code, operators):
        if mutant.digits and not exact:
            continue  # the candidate promises no last digit
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

    def __init__(
        self, place: Path | None, known: Mapping[str, dict[str, str]] | None = None
    ) -> None:
        self.place = place
        self.verifier = _digest(Path(gpuadvise.__file__).parent / "verify")
        self.known: dict[str, dict[str, str]] = dict(known or {})
        self.new: dict[str, dict[str, str]] = {}
        """What was found out since."""
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
        self.add({key: {**asdict(outcome), "verifier": self.verifier}})

    def add(self, new: Mapping[str, dict[str, str]]) -> None:
        """Remember what another process found out."""
        self.known.update(new)
        self.new.update(new)
        if self.place is not None:
            self.place.write_text(json.dumps(self.known), encoding="utf-8")


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def results(
    programs: Iterable[Path],
    selection: Selection,
    *,
    kept: Kept | None = None,
    progress: bool = False,
) -> Iterator[Row]:
    """Try the mutants of the programs' rewrites, one after the other.

    Raises RuntimeError if a program does not run.
    """
    kept = kept or Kept(None)
    for program in programs:
        counts = Counter[str]()
        for row in _of_program(program, selection, kept):
            yield row
            counts[row.stage] += 1
            if progress:
                said = f"\r{program.stem}: {dict(counts)} "
                print(said, end="", file=sys.stderr, flush=True)
        if progress and counts:
            print(file=sys.stderr)


def _of_program(program: Path, selection: Selection, kept: Kept) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="gpuadvise-mutants-") as folder:
        script = Path(shutil.copy(program, folder))
        with subject(script) as held:
            number = 0
            for candidate in held.candidates:
                if not selection.takes(candidate, held.name):
                    continue
                code, each = rewritten(held, candidate), selection.of_each(candidate)
                picked = chosen(candidate, code, held.name, each, selection.operators)
                mine = [
                    mutant
                    for at, mutant in enumerate(picked, number)
                    if at % selection.parts == selection.part
                ]
                number += len(picked)
                yield from _of_candidate(held, candidate, code, mine, kept)


def _of_candidate(
    held: Subject, candidate: Candidate, code: Rewritten, picked: list[Mutant], kept: Kept
) -> Iterator[Row]:
    if not picked:
        return
    right = _outcome(held, candidate, Mutant("none", 0, "", code.new), code, kept)
    if right.stage != "escaped":
        # A rewrite that does not pass proves nothing about faults in it.
        yield Row(held.name, candidate.rule, NO_FAULT, 0, "", right.stage, right.words)
        return
    for mutant in picked:
        outcome = _outcome(held, candidate, mutant, code, kept)
        yield Row(
            held.name,
            candidate.rule,
            mutant.operator,
            mutant.line,
            mutant.what,
            outcome.stage,
            outcome.words,
            candidate.region.site.qualname,
        )


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

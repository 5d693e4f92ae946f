"""What came of the mutants: reviews applied, the table, the escapes with their reasons."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutant_operators import OPERATORS
from mutant_run import HERE, NO_FAULT, Row

REVIEWED = HERE / "mutants_reviewed.json"
STAGES = ("text", "region", "perturbed", "script", "no gain", "refused")
CAUGHT = frozenset(STAGES)
LONGEST = 160
"""Characters of a mutant that are shown."""


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
    place: str = "*"
    """The same fault may be one in a function and none at module level, where the text makes the
    data."""

    def matches(self, row: Row) -> bool:
        """``*`` as program, rule or place stands for all."""
        return (
            self.program in ("*", row.program)
            and self.rule in ("*", row.rule)
            and self.place in ("*", row.place)
            and self.operator == row.operator
            and self.what == row.what
        )


def reviews(place: Path = REVIEWED) -> tuple[Review, ...]:
    """The hand-reviewed list."""
    entries = json.loads(place.read_text(encoding="utf-8"))
    return tuple(Review(**entry) for entry in entries)


@dataclass(frozen=True)
class Sorted:
    """Rows with the reviews applied."""

    rows: tuple[Row, ...]
    equivalent: tuple[tuple[Row, Review], ...]
    escaped: tuple[tuple[Row, Review | None], ...]

    @property
    def faults(self) -> int:
        """Mutants that are not equivalent to the rewrite."""
        return len(self.rows) - len(self.equivalent)

    @property
    def caught(self) -> int:
        """Faults that do not come out verified."""
        return self.faults - len(self.escaped)


def sort(rows: Iterable[Row], known: Sequence[Review]) -> Sorted:
    """Tell what is equivalent, what has escaped, and why."""
    rows = tuple(row for row in rows if row.operator != NO_FAULT)
    equivalent: list[tuple[Row, Review]] = []
    escaped: list[tuple[Row, Review | None]] = []
    for row in rows:
        if row.stage in CAUGHT:
            continue
        review = next((r for r in known if r.matches(row)), None)
        if review is not None and review.verdict == "equivalent":
            equivalent.append((row, review))
        else:
            escaped.append((row, review))
    return Sorted(rows, tuple(equivalent), tuple(escaped))


def table(found: Sorted) -> str:
    """Per operator: how many were injected, and who caught them."""
    head = ("operator", "injected", *STAGES, "equivalent", "escaped")
    lines = [_line(head), _line(["---"] + ["---:"] * (len(head) - 1))]
    names = [name for name in OPERATORS if any(row.operator == name for row in found.rows)]
    for name in [*names, "all"]:
        mine = [row for row in found.rows if name in (row.operator, "all")]
        counts = Counter(row.stage for row in mine)
        alike = sum(name in (row.operator, "all") for row, _ in found.equivalent)
        lost = sum(name in (row.operator, "all") for row, _ in found.escaped)
        cells = [len(mine), *(counts[stage] for stage in STAGES), alike, lost]
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
        f"{len(found.equivalent)} are equivalent to the rewrite, by hand; of the other "
        f"{found.faults}, **{found.caught} are caught ({share:.1f} %)**, "
        f"{len(found.escaped)} escaped.\n",
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
        lines = [f"- {row.program}, {row.rule}: {row.stage}: {row.words}" for row in broken]
        parts += dict.fromkeys(lines)
    return "\n".join(parts) + "\n"


def _key(row: Row) -> str:
    what = row.what if len(row.what) < LONGEST else row.what[: LONGEST - 3] + "..."
    return f"{row.program}, {row.rule}, {row.operator}, line {row.line}: `{what}`"

"""What was found for each hot region on a terminal: verdict, diff, ledger, runners-up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from ..conditions import turn
from ..model import (
    Basis,
    Condition,
    Finding,
    NotFaster,
    Purpose,
    Refused,
    Report,
    Trial,
    Verdict,
    Verified,
)
from ..patch import PatchError, apply_edits, file_diff
from ..registry import names
from . import words
from .code import diff_lines
from .layout import Hanging, joined, labelled, paragraph

LINE = re.compile(r"\blines? \d")
ONE_LINE = re.compile(r"\blines (\d+)-\1\b")
MAX_REFUSED = 6
"""Regions shown among the refused unless ``--verbose``."""


def rule_title(code: str) -> str:
    """``"NP201 loops-to-numpy"``; the code alone if this installation has no such rule."""
    return f"{code} {names().get(code, '')}".rstrip()


def finding_view(number: int, finding: Finding, report: Report, verbose: bool) -> RenderableType:
    """One finding: what is offered and what that rests on, or what was tried in vain."""
    region, winner = finding.region, finding.winner
    shown = winner or finding.unconfirmed
    title = rule_title(shown.candidate.rule) if shown else "nothing offered"
    if winner is None and shown is not None:
        title += ", unverified as a whole script: not in the patch"
    head = Text.assemble((f"{number}. {title}", "bold"))
    whole = words.whole(report.profile)
    bound = _bound(finding) if whole == "the run" else ""
    share = f"{words.percent(region.share)} of {whole}{bound}"
    place = paragraph(f"{words.where(region, report.target.cwd)}: {share}")
    parts: list[RenderableType] = [head, place]
    if shown is not None:
        parts += _offered(shown, report.target.cwd, verbose)
    if others := [trial for trial in finding.others if trial is not shown]:
        heading = "Others tried:" if shown else "Tried:"
        parts += [Text(heading, style="bold"), _trials(others, verbose)]
    if (other := turn(finding, report.runs)) is not None:
        parts.append(paragraph(words.turned(other, other.trial.candidate.rule)))
    return Group(*parts, Text())


def _bound(finding: Finding) -> str:
    """Amdahl's bound, unless the measurement went past it: the share is sampled, time is not."""
    bound = finding.region.max_speedup
    measured = finding.winner.script_verdict if finding.winner else None
    if isinstance(measured, Verified) and measured.speedup.value > bound:
        return ""
    limit = f"{words.factor(bound)}x" if bound < 1000 else "over 1000x"
    return f", so at most {limit} for the whole script (Amdahl)"


def _offered(trial: Trial, root: Path, verbose: bool) -> Iterator[RenderableType]:
    match = trial.candidate.match
    yield labelled("region", *_verdict(trial.region_verdict))
    if trial.script_verdict is not None:
        alone = ("this change alone",) if _timed(trial.script_verdict) else ()
        yield labelled("script", *_verdict(trial.script_verdict), *alone)
    seen = trial.region_verdict
    if verbose:
        yield from _used(trial)
    if isinstance(seen, Verified):
        yield labelled("compared", f"{words.states(seen)}: {words.error_size(seen.error)}")
        yield labelled("first call", words.first_call(seen))
    gains = match.purpose is Purpose.GAIN
    yield labelled("why slow" if gains else "why wrong", match.why)
    yield labelled("change", match.change)
    yield labelled(
        "needs", ", ".join(sorted(match.needs)) or "nothing beyond what the file imports"
    )
    yield labelled("exactness", words.exactness(match.exactness))
    yield Text("The change:", style="bold")
    yield _diff(trial, root)
    yield Text("What equality rests on:", style="bold")
    yield ledger_view(match.ledger)
    if seen_with := words.signatures(trial.candidate.region):
        yield paragraph(f"  {seen_with}")
    if match.differences:
        yield Text("What differs although the results are equal:", style="bold")
        yield Group(*(Hanging(Text("  "), Text(d), hang=4) for d in match.differences))


def _verdict(value: Verdict) -> tuple[str | Text, ...]:
    text = Text(words.verdict(value), style=words.verdict_style(value))
    match value:
        case Verified() | NotFaster() if words.runs(value):
            return text, words.runs(value)
        case _:
            return (text,)


def _timed(value: Verdict) -> bool:
    return isinstance(value, Verified | NotFaster)


def _used(trial: Trial) -> Iterator[RenderableType]:
    """CPU time and page faults of both sides."""
    for name, value in (("region", trial.region_verdict), ("script", trial.script_verdict)):
        match value:
            case Verified(speedup=ratio) | NotFaster(speedup=ratio) if words.usage(ratio):
                yield labelled(f"{name} took", words.usage(ratio))
            case _:
                pass


def _diff(trial: Trial, root: Path) -> RenderableType:
    source = trial.candidate.region.source
    try:
        new = apply_edits(source, trial.candidate.match.edits)
    except PatchError as error:
        return paragraph((f"  cannot be shown: {error}", "bold red"))
    lines = diff_lines(file_diff(source.data, new))
    rows = [Hanging(Text("  "), line, _indent(line) + 10) for line in lines]
    return Group(paragraph((f"  {words.place(source.path, root)}", "bold")), *rows)


def _indent(line: Text) -> int:
    code = line.plain[1:]
    return len(code) - len(code.lstrip())


# ------------------------------------------------------------------- ledger
def ledger_view(ledger: Iterable[Condition]) -> RenderableType:
    """Every condition with how it is known; assumed ones are called unverified."""
    conditions = tuple(ledger)
    rows: list[RenderableType] = []
    for condition in conditions:
        label, remark = _basis(condition)
        given = f"given {condition.given}" if condition.given else ""
        known = (words.entries(condition), condition.evidence, given, remark)
        evidence = ONE_LINE.sub(r"line \1", "; ".join(part for part in known if part))
        rows.append(labelled(label, condition.text + (f" ({evidence})" if evidence else "")))
    if any(c.basis is Basis.OBSERVED and c.guarded for c in conditions):
        rows.append(paragraph(f"  {GUARDED}"))
    return Group(*rows or [Text("  nothing beyond the comparison of the results")])


GUARDED = "guarded: seen in this run; the new code tests it and else runs the original"
"""Said once below the list, as there may be many."""


def _basis(condition: Condition) -> tuple[str, str]:
    match condition.basis:
        case Basis.PROVED:
            return "proved", ""
        case Basis.OBSERVED if condition.guarded:
            return "guarded", ""
        case Basis.OBSERVED:
            return "observed", "in this run only, unverified for others"
        case Basis.ASSUMED:
            return "assumed", "unverified"


# --------------------------------------------------------------- runners-up
def _trials(trials: Iterable[Trial], verbose: bool) -> RenderableType:
    rows = []
    for trial in trials:
        head = Text(f"  {rule_title(trial.candidate.rule)}: ")
        rows.append(Hanging(head, joined("; ", tuple(_trial_parts(trial, verbose))), hang=8))
    return Group(*rows)


def _trial_parts(trial: Trial, verbose: bool) -> Iterator[str | Text]:
    yield joined(" ", ("region", joined(": ", _verdict(trial.region_verdict))))
    if trial.script_verdict is not None:
        yield joined(" ", ("script", joined(": ", _verdict(trial.script_verdict))))
    elif trial.predicted_script_seconds is not None:
        yield f"script would take about {words.seconds(trial.predicted_script_seconds)}, unverified"
    if trial.left_out and trial.left_out != _said(trial):
        yield f"not in the patch: {trial.left_out}"
    match = trial.candidate.match
    if not match.safe:
        unsafe = [c.text for c in match.ledger if not (c.basis is Basis.PROVED or c.guarded)]
        yield f"only with --unsafe, as it is unverified that {' and '.join(unsafe)}"
    if verbose:
        yield match.change


def _said(trial: Trial) -> str:
    return "" if trial.script_verdict is None else words.verdict(trial.script_verdict)


# ------------------------------------------------------------------ refusals
def refused_view(report: Report, verbose: bool) -> RenderableType | None:
    """Regions that were left alone with the reasons; None if there is nothing to say."""
    groups = list(_grouped(report, verbose))
    if not groups:
        return None
    shown = groups if verbose else groups[:MAX_REFUSED]
    parts: list[RenderableType] = []
    for refusals in shown:
        region = refusals[0].region
        share = words.percent(region.share)
        place = words.where(region, report.target.cwd)
        parts.append(paragraph(f"{place}: {share} of {words.whole(report.profile)}"))
        parts.append(_reasons(refusals))
    if len(groups) > len(shown):
        more = f"and {len(groups) - len(shown)} more; --verbose shows them"
        parts.append(Text(more))
    return Group(*parts, Text())


def _grouped(report: Report, verbose: bool) -> Iterator[list[Refused]]:
    """Refusals by region, the hottest first.

    Without ``--verbose`` regions inside a rewritten one are left out, and inner loops whose
    reasons were given for the loop around them already.
    """
    won = [f.region for f in report.findings if f.winner is not None]
    by_region: dict[str, list[Refused]] = {}
    for refused in report.refused:
        region = refused.region
        covered = any(
            other.site.file == region.site.file
            and other.lines[0] <= region.lines[0]
            and region.lines[1] <= other.lines[1]
            for other in won
        )
        if verbose or not covered:
            by_region.setdefault(region.site.key, []).append(refused)
    told: set[tuple[str, int | None]] = set()
    for refusals in sorted(by_region.values(), key=lambda r: -r[0].region.share):
        reasons = {(r.refusal.reason, r.refusal.line) for r in refusals}
        if verbose or not reasons <= told:
            yield refusals
        told |= reasons


def _reasons(refusals: list[Refused]) -> RenderableType:
    rules: dict[tuple[str, int | None, str | None], list[str]] = {}
    for refused in refusals:
        refusal = refused.refusal
        key = (refusal.reason, refusal.line, refusal.suggestion)
        rules.setdefault(key, []).append(refused.rule or "")
    rows = []
    for (reason, line, suggestion), codes in rules.items():
        # A reason that names its own lines says it better: "(line 13) (line 12)" is a riddle.
        at = f" (line {line})" if line is not None and not LINE.search(reason) else ""
        advice = f". Try: {suggestion}" if suggestion else ""
        names = ", ".join(dict.fromkeys(code for code in codes if code))
        head = Text(f"  {names}: " if names else "  ")
        rows.append(Hanging(head, Text(f"{reason}{at}{advice}"), hang=4))
    return Group(*rows)

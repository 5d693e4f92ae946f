"""The rows and the table of ``benchmarks/kernels.py``."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from kernels_measure import SLOW, Timed
from kernels_quick import Quick

from gpuadvise.model import NotFaster, Report, Verified
from gpuadvise.targets.kernels import Kernel

HAND = ("numpy", "njit", "prange")
COMPILED = ("NB401", "NB403", "NB405", "NB403 or NB401")
NUMPY = ("NP201", "NP202", "NP203", "NP202 or NP201")
"""What needs no more than NumPy."""
TOLERATED = 1e-9
"""Relative difference from the loops above which a form counts as wrong: a sum in another order
is within 1e-12 on these kernels."""


@dataclass(frozen=True)
class Row:
    """What came of one kernel. Speed-ups are of the kernel's function, after its first call."""

    title: str
    kind: str
    timed: Mapping[str, Timed]
    """By form: ``loops``, the forms by hand, and each rule whose rewrite was verified."""
    regions: Mapping[str, str]
    """The tool's own verdicts on recorded calls, by rule: one speed-up for each loop nest."""
    applied: str
    """Rules in the patch that the tool wrote; empty if it wrote none."""
    script: float | None
    """Whole-script speed-up of that patch."""
    why: str
    """Why nothing was verified, or why what was verified is not in the patch."""
    date: str
    load: float
    """Load average when the row was measured."""
    trouble: str = ""
    took: float = 0.0
    """Seconds of the gpuadvise run."""

    def speedup(self, form: str) -> float | None:
        """The loops' time over this form's; None if it was not measured or failed."""
        loops, other = self.timed.get("loops"), self.timed.get(form)
        if loops is None or other is None or other.trouble or not other.seconds:
            return None
        return loops.seconds / other.seconds

    def best(self, forms: Iterable[str]) -> tuple[str, float] | None:
        """The fastest of these forms that is right."""
        measured = {form: self.speedup(form) for form in forms}
        known = {form: s for form, s in measured.items() if s is not None}
        return max(known.items(), key=lambda pair: pair[1], default=None)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules whose rewrites were verified."""
        return tuple(form for form in self.timed if form not in ("loops", *HAND))

    def _slow(self) -> list[str]:
        """The forms that were stopped."""
        return [f"{form}: {SLOW}" for form, t in self.timed.items() if t.trouble == SLOW]

    @property
    def line(self) -> str:
        """The row of the table."""
        tool, hand = self.best(self.rules), self.best(HAND)
        ratio = f"{tool[1] / hand[1]:.2f}" if tool and hand else ""
        cells = [
            f"{self.title} {self.kind}",
            tool[0] if tool else "**refused**",
            times(tool[1]) if tool else "",
            times(self.speedup("NP201")),
            times(compiled[1]) if (compiled := self.best(COMPILED)) else "",
            times(numpy[1]) if (numpy := self.best(NUMPY)) else "",
            self.regions.get(tool[0], "") if tool else "",
            *(times(self.speedup(form)) for form in HAND),
            ratio,
            self.applied,
            times(self.script),
            "; ".join(filter(None, (self.trouble, *self._slow(), self.why))),
        ]
        return (
            "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
        )


def times(value: float | None) -> str:
    """``"12.3x"``, three digits at most; empty for nothing."""
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:.0f}x" if value >= 100 else f"{value:.3g}x"


def row(
    kernel: Kernel,
    found: Report | None,
    timed: Mapping[str, Timed],
    regions: Mapping[str, str],
) -> Row:
    """A row from the tool's report and the measured forms."""
    applied, script = "", None
    if found is not None and found.patched:
        winners = (finding.winner for finding in found.findings)
        applied = ", ".join(dict.fromkeys(w.candidate.rule for w in winners if w is not None))
        if isinstance(found.script_verdict, Verified):
            script = found.script_verdict.speedup.value
    wrong = [
        f"{form} differs by {t.error:.1e}" if t.error > TOLERATED else f"{form} failed: {t.trouble}"
        for form, t in timed.items()
        if t.error > TOLERATED or t.trouble not in ("", SLOW)
    ]
    return Row(
        title=kernel.title,
        kind=kernel.kind,
        timed=timed,
        regions=regions,
        applied=applied,
        script=script,
        why="" if found is None or found.patched else _why(found),
        date=time.strftime("%Y-%m-%d"),
        load=os.getloadavg()[0],
        trouble="; ".join(wrong),
    )


def _why(found: Report) -> str:
    """Why there is no patch: what the trials said, or the refusal of the hottest loop."""
    said = []
    for finding in found.findings:
        for trial in finding.others:
            verdict = trial.region_verdict
            if isinstance(verdict, Verified) and trial.script_verdict is not None:
                verdict = trial.script_verdict
            word = type(verdict).__name__
            if isinstance(verdict, NotFaster):
                word = f"not faster ({verdict.speedup.value:.2f}x)"
            said.append(f"{trial.candidate.rule}: {word}")
    for refused in sorted(found.refused, key=lambda r: r.region.share, reverse=True):
        line = refused.refusal.line or refused.region.loop.lineno
        said.append(f"{refused.rule or 'engine'}: {refused.refusal.reason} (line {line})")
    return "; ".join(list(dict.fromkeys(said))[:2]) or found.message


# ------------------------------------------------------------------ the table
HEAD = (
    "| kernel | rewrite | hot | NP201 | numba | NumPy only | region verdict | NumPy by hand "
    "| njit by hand | prange by hand | of the best by hand | applied | whole script | why not |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|---|"
)


def report(rows: Sequence[Row], options: Sequence[str]) -> str:
    """The whole text: how it was measured, the table, and the means by kind."""
    dates = sorted({r.date for r in rows})
    loads = sorted(r.load for r in rows)
    shown = " ".join(options)
    tool = (
        '"Rewrite" is the fastest of those that the rules write, compared with the loops at that '
        "size; gpuadvise's own trials did not run."
        if "--untried" in options
        else '"Rewrite" is the fastest that gpuadvise verified, "region verdict" what it measured '
        'itself, loop nest by loop nest; "whole script" is the patch that it wrote, start-up and '
        "compilation included."
    )
    lines = [
        "# The kernels, rewritten and by hand",
        "",
        f"`python benchmarks/kernels.py {shown}`, {' to '.join(dict.fromkeys(dates))}, "
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; load "
        f"average {loads[0]:.1f} to {loads[-1]:.1f} meanwhile.",
        "",
        "Speed-ups over the loops in CPython, of the kernel's function on the program's own data "
        "after the first call: medians over fresh processes, in turn, BLAS with one thread. "
        f"{tool} NP201 and numba keep every bit (NB401, or NB403 with NB401 for the other loops), "
        'NP202 adds in another order (`@`): "NumPy only" is the fastest of NP201, and of NP202 '
        "with NP201 for the other loops. List kernels by hand make arrays and give lists back.",
        "",
        HEAD,
        *(r.line for r in rows),
        "",
        *_summary(rows),
    ]
    return "\n".join(lines) + "\n"


def _summary(rows: Sequence[Row]) -> list[str]:
    lines = []
    for kind in dict.fromkeys(r.kind for r in rows):
        mine = [r for r in rows if r.kind == kind]
        tool = [best[1] for r in mine if (best := r.best(r.rules))]
        hand = [best[1] for r in mine if (best := r.best(HAND))]
        numpy = [s for r in mine if (s := r.speedup("numpy"))]
        bits = [best[1] for r in mine if (best := r.best(("NP201", *COMPILED)))]
        arrays = [(a[1], b) for r in mine if (a := r.best(NUMPY)) and (b := r.speedup("numpy"))]
        scripts = [r.script for r in mine if r.script]
        below = [r.title for r in mine if _below(r)]
        lines.append(
            f"- {kind}: {len(tool)} of {len(mine)} rewritten, hot {_mean(tool)}; best by hand "
            f"{_mean(hand)}, NumPy by hand {_mean(numpy)}; whole script {_mean(scripts)} over "
            f"{len(scripts)}. Bit for bit {_mean(bits)}. NumPy only "
            f"{_mean([a for a, _ in arrays])} on {len(arrays)}, by hand "
            f"{_mean([b for _, b in arrays])} on the same. Below 0.8 of the best by hand: "
            f"{', '.join(below) or 'none'}. "
            f"Wrong: {', '.join(r.title for r in mine if r.trouble) or 'none'}."
        )
    return lines


def _below(r: Row) -> bool:
    tool, hand = r.best(r.rules), r.best(HAND)
    return tool is not None and hand is not None and tool[1] < 0.8 * hand[1]


def _mean(values: Sequence[float]) -> str:
    return times(geometric_mean(values)) if values else "none"


def quick_row(found: Quick) -> str:
    """The answers of the quick look, one line a rule, refusals below."""
    lines = [f"{found.kernel.title} ({found.kernel.kind})"]
    for answer in found.answers:
        gain = answer.wrong or times(answer.speedup)
        unsafe = "" if answer.safe else " (only with --unsafe)"
        lines.append(
            f"  {answer.rule}  {answer.whole} whole + {answer.inner} inner of "
            f"{found.nests}{unsafe}  {gain}"
        )
    seen = dict.fromkeys(found.refusals)
    lines += [f"    {rule}, line {line}: {reason}" for rule, line, reason in seen]
    return "\n".join(lines)

"""What gpuadvise makes of the 60 kernels, beside the same by hand: one table.

    python benchmarks/kernels.py [--only NAME ...] [--kind arrays|lists] [--numpy-only] [--quick]
                                 [--untried]
                                 [--budget SECONDS] [--rounds N] [--serial] [--jobs N]
                                 [--cache DIR] [--cached] [--fresh] [--output FILE]

Runs ``gpuadvise --json --apply`` on each bundled kernel in an empty folder, then times the
kernel's function on the program's own data in fresh processes, in turn: the loops, each verified
rewrite, and the NumPy and numba versions in ``benchmarks/kernels_by_hand`` (``--serial``: nothing
in threads, by hand or by rule). What was measured is
kept in DIR, so that the run can be stopped and taken up again. ``--quick`` only asks the rules and
runs their rewrites once, on small data; ``--untried`` measures what the rules write as above, but
without gpuadvise's trials, and what several rules write together. ``--jobs N`` measures N kernels
at a time, each on a core of its own. Exit status 1 if any result was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import Queue
from typing import Any

from kernels_by_hand.numba_forms import forms as numba_forms
from kernels_measure import ROUNDS, Timed, race
from kernels_quick import Written, outermost, quick, write
from kernels_table import Row, quick_row, report, row, times

from gpuadvise.model import Candidate, Report, Trial, Verified
from gpuadvise.patch import PatchError, combine
from gpuadvise.report.json import from_json
from gpuadvise.targets.kernels import KINDS, POLYBENCH, Kernel, kernels

CACHE = Path(tempfile.gettempdir()) / "gpuadvise-kernels"
THREADED = "NB402"
LIMIT = 600
"""Seconds after which one gpuadvise run counts as hung."""
BUDGET = 60.0
"""Seconds a gpuadvise run may take: its default, four bare runs and 15 s, leaves part of the
candidates untried where other jobs share the cores."""


@dataclass(frozen=True)
class Setting:
    """How each kernel is tried."""

    allow: str
    """``"numpy,numba"`` or ``"numpy"``."""
    budget: float
    rounds: int
    """Processes of each form."""
    serial: bool
    """Leave out what runs in threads, by hand and by rule."""
    untried: bool
    """Measure what the rules write, without gpuadvise's own trials."""

    @property
    def key(self) -> str:
        """Names what is kept under this setting."""
        return self.allow.replace(",", "-") + ("-untried" if self.untried else "")

    def file(self, kernel: Kernel, folder: Path) -> Path:
        """Where a kernel's row is kept."""
        return folder / f"{kernel.kind}-{kernel.function}-{self.key}.json"

    def leaves_out(self, rule: str) -> bool:
        """A rule's rewrite that runs in threads, and is not to be measured."""
        return self.serial and THREADED in rule

    def forms(self, kernel: Kernel) -> dict[str, str]:
        """The forms by hand to measure."""
        names = ["numpy"] if self.allow == "numpy" else ["numpy", *numba_forms(kernel)]
        return {name: f"by-hand:{name}" for name in names if not (self.serial and name == "prange")}


# ------------------------------------------------------------------ the tool
def advise(kernel: Kernel, folder: Path, setting: Setting) -> tuple[Report | None, str]:
    """Run gpuadvise on a copy in ``folder``: its report, or what it said if it failed."""
    shutil.copy(kernel.path, folder)
    file = folder.parent / "report.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "gpuadvise", "--allow", setting.allow, "--apply"),
            *("--budget", str(setting.budget)),
            *("--json", str(file), kernel.path.name),
        ],
        cwd=folder,
        env=os.environ | {"GPUADVISE_STATE_DIR": str(folder.parent / "state")},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    if done.returncode not in (0, 1) or not file.exists():
        tail = " / ".join(done.stderr.strip().splitlines()[-3:])
        return None, f"gpuadvise ended with {done.returncode}: {tail}"
    return from_json(json.loads(file.read_text(encoding="utf-8"))), ""


def default_size(kernel: Kernel) -> int:
    """The size that the program takes when it is started without arguments."""
    text = kernel.source.partition("len(sys.argv) > 1 else ")[2]
    return int(text.split()[0])


def verified(found: Report) -> dict[str, list[Candidate]]:
    """The candidates that passed on recorded calls, by rule, none inside another."""
    passed: dict[str, list[Candidate]] = {}
    for trial in _trials(found):
        if isinstance(trial.region_verdict, Verified):
            passed.setdefault(trial.candidate.rule, []).append(trial.candidate)
    return {rule: outermost(candidates) for rule, candidates in passed.items()}


def fastest(found: Report) -> dict[str, list[Candidate]]:
    """The fastest verified rewrites that go together, where they are of several rules."""
    passed = [
        (trial.region_verdict.speedup.value, trial.candidate)
        for trial in _trials(found)
        if isinstance(trial.region_verdict, Verified)
    ]
    chosen: list[Candidate] = []
    for _, candidate in sorted(passed, key=lambda pair: -pair[0]):
        try:
            combine(candidate.region.source, [c.match.edits for c in (*chosen, candidate)])
        except PatchError:
            continue  # it changes lines that a faster one changes
        chosen.append(candidate)
    rules = sorted({candidate.rule for candidate in chosen})
    return {" and ".join(rules): chosen} if len(rules) > 1 else {}


def _trials(found: Report) -> Iterator[Trial]:
    for finding in found.findings:
        yield from (finding.winner, *finding.others) if finding.winner else finding.others


def region_speedups(found: Report, candidates: Sequence[Candidate]) -> str:
    """The tool's own verdicts, each on the call of the function with one loop nest rewritten."""
    chosen = {candidate.id for candidate in candidates}
    return " + ".join(
        times(trial.region_verdict.speedup.value)
        for trial in _trials(found)
        if trial.candidate.id in chosen and isinstance(trial.region_verdict, Verified)
    )


def try_kernel(kernel: Kernel, setting: Setting) -> Row:
    """Advice and measurement of one kernel, in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="gpuadvise-kernels-") as name:
        box = Path(name)
        (box / "run").mkdir()
        begin = time.perf_counter()
        found, trouble = advise(kernel, box / "run", setting)
        took = time.perf_counter() - begin
        if found is None:
            return replace(row(kernel, None, {}, {}), trouble=trouble, took=took)
        forms = setting.forms(kernel)
        regions = {}
        for rule, candidates in (verified(found) | fastest(found)).items():
            if setting.leaves_out(rule):
                continue
            file = box / f"{kernel.function}_{rule.replace(' and ', '_')}.py"
            edits = [candidate.match.edits for candidate in candidates]
            file.write_bytes(combine(candidates[0].region.source, edits))
            forms[rule] = str(file)
            regions[rule] = region_speedups(found, candidates)
        timed = race(kernel, default_size(kernel), forms, box, setting.rounds)
        return replace(row(kernel, found, timed, regions), took=took)


def measure_untried(kernel: Kernel, setting: Setting) -> Row:
    """What the rules write, compared with the loops at the default size and timed."""
    with tempfile.TemporaryDirectory(prefix="gpuadvise-kernels-") as name:
        box = Path(name)
        written = write(kernel, box, safe_only=True, size=default_size(kernel))
        forms = setting.forms(kernel)
        forms |= {r: str(f) for r, f in written.files.items() if not setting.leaves_out(r)}
        timed = race(kernel, default_size(kernel), forms, box, setting.rounds)
        return replace(row(kernel, None, timed, {}), why=why_not(written))


def why_not(written: Written) -> str:
    """The first refusal of each serial back end that wrote nothing."""
    said = []
    for rule in ("NP201", "NB401"):
        refusals = [(line, why) for r, line, why in written.refusals if r == rule]
        if rule not in written.files and refusals:
            line, why = refusals[0]
            said.append(f"{rule}: {why}" + ("" if "(line" in why else f" (line {line})"))
    return "; ".join(said)


# ----------------------------------------------------------------- resumable
def cached(kernel: Kernel, setting: Setting, folder: Path, *, fresh: bool) -> Row:
    """The row as it was measured before, or measured now and kept."""
    file = setting.file(kernel, folder)
    if file.exists() and not fresh:
        return _read(json.loads(file.read_text(encoding="utf-8")))
    measured = (measure_untried if setting.untried else try_kernel)(kernel, setting)
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(measured)), encoding="utf-8")
    return measured


def ahead(chosen: Sequence[Kernel], told: Sequence[str], folder: Path, jobs: int) -> None:
    """Fill the cache, ``jobs`` kernels at a time, each in a process on a core of its own."""
    free: Queue[int] = Queue()
    for core in sorted(os.sched_getaffinity(0))[-jobs:]:
        free.put(core)

    def one(kernel: Kernel) -> None:
        core = free.get()
        only = ["--only", kernel.title, "--kind", kernel.kind, "--core", str(core)]
        command = [sys.executable, __file__, *told, "--cache", str(folder), *only]
        try:
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        finally:
            free.put(core)

    with ThreadPoolExecutor(free.qsize()) as pool:
        list(pool.map(one, chosen))


def _read(data: dict[str, Any]) -> Row:
    timed = {name: Timed(**value) for name, value in data.pop("timed").items()}
    return Row(timed=timed, **data)


_CHILD = ("numpy_only", "untried", "serial", "rounds", "budget", "fresh")
_SHOWN = ("only", "kind", "numpy_only", "untried", "serial", "rounds", "budget", "jobs")


def _told(options: argparse.Namespace, flags: Sequence[str] = _SHOWN) -> list[str]:
    """Options as they would be typed; those that change what is measured."""
    told = []
    for name in flags:
        value = getattr(options, name)
        if value:
            told.append("--" + name.replace("_", "-"))
            values = value if isinstance(value, list) else [value]
            told += (
                []
                if value is True
                else [f"{v:g}" if isinstance(v, float) else str(v) for v in values]
            )
    return told


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; print, and write if asked to. Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these kernels only")
    parser.add_argument("--kind", choices=KINDS, help="one form only")
    parser.add_argument("--numpy-only", action="store_true", help="the tool may not use numba")
    parser.add_argument("--quick", action="store_true", help="ask the rules, no trials")
    parser.add_argument("--untried", action="store_true", help="what the rules write, no trials")
    parser.add_argument("--budget", type=float, default=BUDGET, metavar="SECONDS")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    parser.add_argument("--core", type=int, help="the only core to run on")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="kernels at a time")
    parser.add_argument("--serial", action="store_true", help="nothing that runs in threads")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR")
    parser.add_argument("--cached", action="store_true", help="only what was measured before")
    parser.add_argument("--fresh", action="store_true", help="measure again what is in the cache")
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write the table here")
    options = parser.parse_args(arguments)
    wanted = {POLYBENCH.get(name, name) for name in options.only or POLYBENCH}
    if unknown := wanted - set(POLYBENCH.values()):
        parser.error(f"no kernel is called {', '.join(sorted(unknown))}")
    chosen = [k for k in kernels() if k.function in wanted and options.kind in (None, k.kind)]
    if options.quick:
        wrong = 0
        for answers in quick(chosen):
            print(quick_row(answers), flush=True)
            wrong += any(answer.wrong for answer in answers.answers)
        return 1 if wrong else 0
    allow = "numpy" if options.numpy_only else "numpy,numba"
    setting = Setting(
        allow, options.budget, options.rounds, serial=options.serial, untried=options.untried
    )
    if options.cached:
        chosen = [k for k in chosen if setting.file(k, options.cache).exists()]
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    if options.jobs > 1:
        ahead(chosen, _told(options, _CHILD), options.cache, options.jobs)
    rows = []
    for kernel in chosen:
        rows.append(
            cached(kernel, setting, options.cache, fresh=options.fresh and not options.jobs > 1)
        )
        print(rows[-1].line, flush=True)
    text = report(rows, _told(options))
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    return 1 if any(r.trouble for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

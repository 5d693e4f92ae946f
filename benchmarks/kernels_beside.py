"""The kernels' NumPy forms beside those by hand, call by call in one process: one table.

    python benchmarks/kernels_beside.py [--only NAME ...] [--kind arrays|lists] [--numba]
                                        [--seconds S] [--output FILE]

For a machine that is shared: the forms take turns, each on fresh data, so that what else runs
slows all of them alike, and the fastest call of each is compared. Speed-ups over the loops are in
``kernels.py``. ``--numba`` adds what the rules compile. Exit status 1 if a result was wrong.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported

from kernels import default_size
from kernels_measure import error, form_of
from kernels_quick import load, write
from kernels_table import TOLERATED

from gpuadvise.targets.kernels import KINDS, POLYBENCH, Kernel, kernels

NUMPY = ("NP201", "NP202", "NP203", "NP202 or NP201")
COMPILED = ("NB401", "NB403", "NB405", "NB403 or NB401", "NP202 or NB403 or NB401")
BY_HAND = "by hand"
FEWEST = 3
"""Calls of each form after the first."""
SECONDS = 5.0


@dataclass(frozen=True)
class Beside:
    """One kernel, measured."""

    kernel: Kernel
    by_hand: float
    """Seconds of the fastest call."""
    forms: dict[str, float]
    calls: int
    wrong: tuple[str, ...]

    @property
    def best(self) -> str:
        """The fastest form that the rules write; empty if there is none."""
        return min(self.forms, key=lambda name: self.forms[name], default="")

    @property
    def ratio(self) -> float:
        """How many times as fast as by hand that is."""
        return self.by_hand / self.forms[self.best] if self.best else 0.0


def beside(kernel: Kernel, rules: Sequence[str], seconds: float) -> Beside:
    """Measure what the rules write for a kernel, compared with the form by hand."""
    with tempfile.TemporaryDirectory(prefix="gpuadvise-kernels-") as folder:
        size = default_size(kernel)
        written = write(kernel, Path(folder), safe_only=True, size=size)
        chosen = {BY_HAND: form_of(kernel, "by-hand:numpy")}
        for rule in rules:
            if rule in written.files:
                chosen[rule] = form_of(kernel, str(written.files[rule]))
        make = load(kernel.path, "program").data
        size = default_size(kernel)
        wrong = first_calls(chosen, lambda: make(size))
        fastest, calls = turns(chosen, lambda: make(size), seconds)
    by_hand = fastest.pop(BY_HAND)
    return Beside(kernel, by_hand, fastest, calls, wrong)


def first_calls(
    forms: dict[str, Callable[..., Any]], data: Callable[[], tuple[Any, ...]]
) -> tuple[str, ...]:
    """Compile and warm up; the names of those that are further off than rounding."""
    expected: Any = None
    wrong = []
    for name, form in forms.items():
        args = data()
        found = form(*args)
        if expected is None:
            expected = found, args
        elif error(expected, (found, args)) > TOLERATED:
            wrong.append(name)
    return tuple(wrong)


def turns(
    forms: dict[str, Callable[..., Any]], data: Callable[[], tuple[Any, ...]], seconds: float
) -> tuple[dict[str, float], int]:
    """Seconds of each form's fastest call, and how often the best were called.

    Only the form by hand and the fastest of the others go on after a few calls. Every other round
    goes backwards: fresh data lie in two places in turn, and one form would always have the same.
    """
    fastest = dict.fromkeys(forms, math.inf)
    until, calls = math.inf, 0
    while calls < FEWEST or time.perf_counter() < until:
        for name, form in forms.items():
            args = data()
            begin = time.perf_counter()
            form(*args)
            fastest[name] = min(fastest[name], time.perf_counter() - begin)
        forms = dict(reversed(forms.items()))
        calls += 1
        if calls == FEWEST:
            until = time.perf_counter() + seconds
            best = min(
                (n for n in forms if n != BY_HAND), key=lambda n: fastest[n], default=BY_HAND
            )
            forms = {name: form for name, form in forms.items() if name in (BY_HAND, best)}
    return fastest, calls


# ----------------------------------------------------------------------- table
def table(rows: Sequence[Beside], rules: Sequence[str]) -> str:
    """Markdown: one line a kernel, then the geometric means."""
    shown = [rule for rule in rules if any(rule in row.forms for row in rows)]
    lines = [
        f"| kernel | by hand, ms | {' | '.join(shown)} | fastest | calls |",
        "|---|---:|" + "---:|" * len(shown) + "---|---:|",
    ]
    for row in rows:
        ratios = [f"{row.by_hand / row.forms[r]:.2f}" if r in row.forms else "" for r in shown]
        lines.append(
            f"| {row.kernel.title} {row.kernel.kind} | {row.by_hand * 1e3:.3g} "
            f"| {' | '.join(ratios)} | {row.best} | {row.calls} |"
        )
    ratios = sorted((row.ratio for row in rows if row.best), reverse=True)
    lines += ["", f"- {len(ratios)} kernels: geometric mean of the fastest {mean(ratios):.2f}."]
    if len(ratios) > 20:
        lines.append(f"- The 20 best of them: {mean(ratios[:20]):.2f}.")
    slow = [row.kernel.title for row in rows if row.best and row.ratio < 0.8]
    lines.append(f"- Below 0.8: {', '.join(slow) or 'none'}.")
    wrong = [f"{row.kernel.title} ({', '.join(row.wrong)})" for row in rows if row.wrong]
    lines.append(f"- Wrong: {', '.join(wrong) or 'none'}.")
    return "\n".join(lines) + "\n"


def mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def heading(options: argparse.Namespace) -> str:
    """The command, the day and the machine."""
    told = ["python benchmarks/kernels_beside.py"]
    told += ["--kind", options.kind] if options.kind else []
    told += ["--only", *options.only] if options.only else []
    told += ["--numba"] if options.numba else []
    command = " ".join([*told, "--seconds", f"{options.seconds:g}"])
    cores = len(os.sched_getaffinity(0))
    load_average = os.getloadavg()[0]
    return (
        f"`{command}`, {datetime.date.today()}, {platform.machine()}, {cores} cores, Python "
        f"{platform.python_version()}; load average {load_average:.1f} at the end.\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write if asked to. Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these kernels only")
    parser.add_argument("--kind", choices=KINDS, help="one form only")
    parser.add_argument("--numba", action="store_true", help="also what the rules compile")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S")
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write the table here")
    options = parser.parse_args(arguments)
    wanted = {POLYBENCH.get(name, name) for name in options.only or POLYBENCH}
    if unknown := wanted - set(POLYBENCH.values()):
        parser.error(f"no kernel is called {', '.join(sorted(unknown))}")
    rules = (*NUMPY, *COMPILED) if options.numba else NUMPY
    rows = []
    for kernel in kernels():
        if kernel.function in wanted and options.kind in (None, kernel.kind):
            rows.append(beside(kernel, rules, options.seconds))
            print(f"{kernel.title} {kernel.kind}: {rows[-1].ratio:.2f} {rows[-1].best}", flush=True)
    text = heading(options) + "\n" + table(rows, rules)
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    return 1 if any(row.wrong for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

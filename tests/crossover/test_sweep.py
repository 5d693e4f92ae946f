"""Sweeps of real programs whose times follow a law."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuadvise.crossover.curves import Condition, Curves, Point
from gpuadvise.crossover.journey import to_json
from gpuadvise.crossover.parameters import find
from gpuadvise.crossover.result import Result, flat_words, lead_words, verdict
from gpuadvise.crossover.sweep import MOST_RUNS, SURE, Sweep
from gpuadvise.crossover.versions import Kind, Version
from gpuadvise.crossover.view import render
from gpuadvise.deadline import Deadline
from gpuadvise.model import (
    Basis,
    Candidate,
    Edit,
    Machine,
    Match,
    Outcome,
    Refusal,
    Region,
    Report,
    RunResult,
    Site,
    Source,
    Target,
)
from gpuadvise.model import (
    Condition as Ledger,
)
from gpuadvise.observe.sandbox import KERNELS, Sandbox

PROGRAM = """\
import os

N = 32


def took(seconds):
    folder = os.path.dirname(os.environ["TMPDIR"])
    with open(os.path.join(folder, "own", "seconds"), "w") as file:
        file.write(str(0.05 + seconds))


def work(n):
    for k in range(1):
        took(0.01 * n)
    return n * n


if __name__ == "__main__":
    print(work(N))
"""
LOOP = "    for k in range(1):\n        took(0.01 * n)\n"
QUICK = "    took(0.12 + 0.002 * n)\n"
"""Faster from n = 0.12 / 0.008 = 15 on."""
WRONG = "    if n > 40:\n        n += 1\n"
BROKEN = "    if n > 40:\n        raise ValueError(n)\n"


class Clocked(Sandbox):
    """Programs really run, but how long they took is what they say: nothing depends on the load."""

    def run(self, *args: Any, **named: Any) -> RunResult:
        said = self.own / "seconds"
        said.unlink(missing_ok=True)
        result = super().run(*args, **named)
        return replace(result, wall=float(said.read_text()) if said.exists() else 0.05)


def candidate(source: Source, new: str, *needs: str) -> Candidate:
    text = source.data.decode()
    start = text.index(LOOP)
    loop = next(n for n in ast.walk(source.tree) if isinstance(n, ast.For))
    region = Region(
        Site(source.path, loop.lineno, "work"), source, loop, None, None, 0.9, 0, None, Refusal("-")
    )
    edits = (Edit(start, start + len(LOOP), new),)
    ledger = (Ledger("written by hand", Basis.PROVED),)
    return Candidate("c1", "NP201", region, Match(edits, "", "", frozenset(needs), ledger))


@pytest.fixture
def sweep(tmp_path: Path) -> Iterator[Callable[..., Sweep]]:
    boxes = []

    def make(
        *rewrites: tuple[Kind, str], text: str = PROGRAM, seconds: float = 60.0, name: str = "N"
    ) -> Sweep:
        path = tmp_path / "p.py"
        path.write_text(text)
        target = Target(path, cwd=tmp_path, python=sys.executable)
        source = Source(path, text.encode())
        boxes.append(Clocked(target))
        (parameter,) = (p for p in find({path: source}, target) if p.name == name)
        versions = [Version(Kind.ORIGINAL)]
        versions += [Version(kind, (candidate(source, new),)) for kind, new in rewrites]
        box = boxes[-1].__enter__()
        sources = {path: source}
        return Sweep(box, target, None, sources, parameter, versions, Deadline(seconds))

    yield make
    for box in boxes:
        box.__exit__(None, None, None)


def result(made: Sweep, **changes: object) -> Result:
    machine = Machine("node", "Linux", "cpu", 2, 1, "3.11", {})
    report = Report(made.target, machine, "now", Outcome.NOTHING, "")
    values = {
        "report": report,
        "parameter": made.parameter,
        "fixed": (),
        "versions": tuple(made.versions),
        "elsewhere": {Kind.CUDA: "not measured here, as this machine has no CUDA device"},
        "curves": made.curves,
        "wrong": made.wrong,
        "unchecked": frozenset(made.unchecked),
        "silent": made.silent,
        "partial": False,
    }
    return Result(**{**values, **changes})  # type: ignore[arg-type]


def test_the_crossover_is_found(sweep: Callable[..., Sweep]) -> None:
    made = sweep((Kind.NUMPY, QUICK))
    made.around(32)
    lead = made.curves.lead(Condition.FIRST)
    assert lead.smallest is Kind.ORIGINAL
    assert [c.after for c in lead.changes] == [Kind.NUMPY]
    change = lead.changes[0]
    assert change.size == pytest.approx(15, rel=0.1)
    assert change.low <= change.size <= change.high
    assert not made.wrong and not made.silent
    words = lead_words(result(made), Condition.FIRST)
    assert words.startswith("original is fastest up to N = ") and words.endswith("then NumPy")


@pytest.mark.parametrize(("times", "told"), [((1.05, 0.98), True), ((1.05, 1.06), False)])
def test_a_lead_that_noise_hides_is_not_called_one(
    sweep: Callable[..., Sweep], times: tuple[float, float], told: bool
) -> None:
    """The other version's median is shorter at 20, by less than its runs differ."""
    other = (times[1] - 0.1, times[1], times[1] + 0.1)
    rows = {
        10: {Kind.ORIGINAL: Point(first=(1.0,) * 3), Kind.NUMPY: Point(first=(1.5,) * 3)},
        20: {Kind.ORIGINAL: Point(first=(times[0],) * 3), Kind.NUMPY: Point(first=other)},
    }
    words = lead_words(result(sweep(), curves=Curves(rows)), Condition.FIRST)
    assert words.startswith("original is fastest at every size from 10 to 20")
    assert ("as far as can be told from the noise" in words) == told


def test_a_wrong_result_is_not_timed_and_not_run_again(sweep: Callable[..., Sweep]) -> None:
    made = sweep((Kind.NUMPY, QUICK + WRONG))
    made.at([32, 48, 64])
    assert made.curves.rows[32][Kind.NUMPY].first
    assert made.curves.rows[48][Kind.NUMPY].first == ()
    assert made.curves.rows[64][Kind.NUMPY].first == ()
    assert "N = 48" in made.wrong[Kind.NUMPY] and "2401" in made.wrong[Kind.NUMPY]


def test_a_version_that_fails_at_a_size_is_left_out_there(sweep: Callable[..., Sweep]) -> None:
    made = sweep((Kind.NUMPY, QUICK + BROKEN))
    made.at([32, 48])
    assert made.curves.rows[32][Kind.NUMPY].first
    assert "ValueError" in made.curves.rows[48][Kind.NUMPY].why


def test_a_program_that_fails_at_a_size_gives_no_times(sweep: Callable[..., Sweep]) -> None:
    text = PROGRAM.replace("    return", "    assert n < 40\n    return")
    made = sweep((Kind.NUMPY, QUICK), text=text)
    made.at([48])
    assert all(not point.first for point in made.curves.rows[48].values())
    assert "status 1" in made.curves.rows[48][Kind.ORIGINAL].why


def test_the_budget_is_kept_and_what_was_measured_is_there(sweep: Callable[..., Sweep]) -> None:
    text = PROGRAM.replace("    return", "    import time\n    time.sleep(0.3)\n    return")
    made = sweep((Kind.NUMPY, QUICK), text=text, seconds=8.0)
    made.around(32)
    assert made.deadline.spent < 40.0
    assert made.curves.rows[32][Kind.ORIGINAL].first


def test_smaller_sizes_are_tried_where_the_users_own_gave_no_time(
    sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, tried = sweep((Kind.NUMPY, QUICK)), []

    def too_slow(size: int) -> int:
        tried.append(size)
        row = {version.kind: Point(why="the time budget ran out") for version in made.versions}
        made.curves = Curves({**made.curves.rows, size: row})
        return size

    monkeypatch.setattr(made, "measure", too_slow)
    made.around(32)
    assert tried[:4] == [32, 16, 64, 8]
    assert "nothing was measured: the time budget was spent" in verdict(result(made, partial=True))


def test_where_the_original_is_too_slow_versions_vouch_for_each_other(
    sweep: Callable[..., Sweep],
) -> None:
    made = sweep((Kind.NUMPY, QUICK), (Kind.NUMBA, QUICK.replace("0.12", "0.2")), seconds=30.0)
    made.at([16, 32, 2000])
    row = made.curves.rows[2000]
    assert "would take about" in row[Kind.ORIGINAL].why
    assert row[Kind.NUMPY].first and row[Kind.NUMBA].first
    assert made.unchecked == {2000}


def test_one_version_alone_is_not_believed(sweep: Callable[..., Sweep]) -> None:
    made = sweep((Kind.NUMPY, QUICK), seconds=20.0)
    made.at([16, 32, 2000])
    assert not any(point.first for point in made.curves.rows[2000].values())


def test_compiled_versions_have_first_and_later_runs(sweep: Callable[..., Sweep]) -> None:
    new = """\
    import os  # stands in for numba
    cached = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__pycache__", "k.nbi")
    took(0.1 if os.path.exists(cached) else 0.6)
    os.makedirs(os.path.dirname(cached), exist_ok=True)
    open(cached, "w").close()
"""
    made = sweep((Kind.NUMBA, new))
    made.at([32])
    point = made.curves.rows[32][Kind.NUMBA]
    assert point.first == pytest.approx((0.65,) * 3)
    assert point.later == pytest.approx((0.15,) * 3)


def test_compiling_is_not_taken_to_grow_with_the_size(sweep: Callable[..., Sweep]) -> None:
    """Measured at one size, seven eighths of the time there are start-up: 40 times is no matter."""
    new = """\
    import os  # stands in for numba
    cached = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__pycache__", "k.nbi")
    took(0.002 * n if os.path.exists(cached) else 0.002 * n + 1.0)
    os.makedirs(os.path.dirname(cached), exist_ok=True)
    open(cached, "w").close()
"""
    made = sweep((Kind.NUMBA, new), seconds=40.0)
    made.at([16])
    made.curves = Curves({16: made.curves.rows[16]})
    assert made._expected(made.versions[1], 640) < 60.0
    made.at([32])
    assert 1.5 < made._expected(made.versions[1], 640) < 3.5


def test_report_and_json(sweep: Callable[..., Sweep], capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    made = sweep((Kind.NUMPY, QUICK))
    made.at([8, 32])
    shown = result(made)
    render(shown, Console(width=80, no_color=True))
    out = capsys.readouterr().out
    assert "32  <- yours" in out and "o original   n NumPy" in out
    assert "at N = 32, take NumPy; not measured here: numba.cuda" in out
    assert max(map(len, out.splitlines())) <= 80
    data = json.loads(json.dumps(to_json(shown)))
    assert data["versions"][1]["points"][1]["size"] == 32
    assert len(data["versions"][1]["points"][1]["first"]) >= 2
    assert data["leads"][0]["changes"][0]["after"] == "NumPy"
    assert data["verdict"] == verdict(shown)


def test_the_verdict_on_a_gpu(sweep: Callable[..., Sweep]) -> None:
    made = sweep((Kind.NUMPY, QUICK), (Kind.CUDA, "    took(0.35)\n"))
    made.at([16, 64, 200])
    above = verdict(result(made))
    assert above.startswith("stay on the CPU at N = 32; move to the GPU above it")
    assert "numba.cuda is faster than NumPy above" in above
    larger = replace(made.parameter, value=200)
    assert verdict(result(made, parameter=larger)).startswith("move now")
    small = made.curves.__class__({s: r for s, r in made.curves.rows.items() if s < 100})
    assert verdict(result(made, curves=small)).startswith("stay on the CPU: no GPU version")


def test_importing_numpy_is_start_up_where_the_rewrite_brings_it(
    sweep: Callable[..., Sweep],
) -> None:
    asked: list[str] = []
    made = sweep((Kind.NUMPY, QUICK), (Kind.NUMBA, QUICK))
    run = made.box.run
    made.box.run = lambda argv, **named: (asked.append(argv[-1]), run(argv, **named))[1]  # type: ignore[method-assign]
    Sweep(made.box, made.target, None, made.sources, made.parameter, made.versions, made.deadline)
    assert asked == ["pass", "import numpy", "import numba"]


def test_a_gpu_that_pays_for_a_single_run_only(sweep: Callable[..., Sweep]) -> None:
    """Compiled code for the CPU is quicker once it is there."""
    compiled = """\
    import os  # stands in for numba
    cached = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__pycache__", "k.nbi")
    took(0.1 if os.path.exists(cached) else 1.5)
    os.makedirs(os.path.dirname(cached), exist_ok=True)
    open(cached, "w").close()
"""
    made = sweep((Kind.NUMBA, compiled), (Kind.CUDA, "    took(0.5)\n"))
    made.at([16, 64, 200])
    words = verdict(result(made))
    assert words.startswith("stay on the CPU: no GPU version is faster than")
    assert "up to N = 200 in later runs; for a single run, numba.cuda is fastest above N =" in words


def noisy(rng: np.random.Generator, one: float, other: float) -> dict[Kind, Point]:
    """Two runs of two versions, and one that is out of the race."""
    times = {
        Kind.ORIGINAL: tuple(one * (1.0 + 0.06 * rng.standard_normal(2))),
        Kind.NUMPY: tuple(other * (1.0 + 0.06 * rng.standard_normal(2))),
    }
    return {kind: Point(each) for kind, each in times.items()} | {Kind.NUMBA: Point((9.0,))}


def test_an_unsure_change_is_measured_again(
    sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sweep((Kind.NUMPY, QUICK), (Kind.NUMBA, QUICK))
    rng = np.random.default_rng(4)
    laws = {n: (0.7 + 0.005 * n, 1.2) for n in (50, 80, 90, 105, 120, 200)}
    made.curves = Curves({n: noisy(rng, *law) for n, law in laws.items()})
    (before,) = made.curves.lead(Condition.FIRST).changes
    asked: list[int] = []

    def race(size: int, chosen: Any, known: dict[Kind, Point]) -> dict[Kind, Point]:
        assert [version.kind for version, _ in chosen] == [Kind.ORIGINAL, Kind.NUMPY]
        asked.append(size)
        more = noisy(rng, *laws[size])
        return {k: Point((*point.first, more[k].first[0])) for k, point in known.items()}

    monkeypatch.setattr(made, "_race", race)
    made.settle()
    (after,) = made.curves.lead(Condition.FIRST).changes
    assert before.high > SURE * before.low
    assert set(asked) <= {80, 90, 105, 120} and len(asked) >= 3
    counts = [len(made.curves.rows[n][Kind.NUMPY].first) for n in set(asked)]
    assert after.high <= SURE * after.low or min(counts) == MOST_RUNS
    assert after.low <= 100 <= after.high
    assert all(len(row[Kind.NUMBA].first) == 1 for row in made.curves.rows.values())


def test_no_more_runs_than_the_budget_has(sweep: Callable[..., Sweep]) -> None:
    made = sweep((Kind.NUMPY, QUICK), seconds=0.0)
    rng = np.random.default_rng(4)
    made.curves = Curves({n: noisy(rng, 0.2 + 1e-4 * n * n, 1.2) for n in (90, 110)})
    rows = dict(made.curves.rows)
    made.settle()
    assert made.curves.rows == rows


def test_curves_that_hardly_cross_are_said_to(sweep: Callable[..., Sweep]) -> None:
    made = sweep((Kind.NUMPY, QUICK))
    rng = np.random.default_rng(1)
    flat = {n: noisy(rng, 1.0, 0.99) for n in (64, 80, 90, 100, 115, 130)}
    first = {32: noisy(rng, 0.5, 1.0), 300: noisy(rng, 2.0, 1.0)}
    words, *_ = flat_words(result(made, curves=Curves(flat | first)))
    assert "differ by less than their runs do" in words and "original and NumPy" in words
    sharp = {n: noisy(rng, 0.01 * n, 1.0) for n in (50, 90, 110, 200)}
    assert not list(flat_words(result(made, curves=Curves(sharp))))


def test_a_first_run_finds_no_kernels_of_other_programs(
    sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What CuPy keeps in the user's home would make first runs of its version later ones."""
    for variable in KERNELS:
        monkeypatch.setenv(variable, "/tmp/of-the-user")
    makes = """\
    cache = os.environ["CUPY_CACHE_DIR"]
    took(0.1 if os.path.exists(os.path.join(cache, "kernel")) else 0.9)
    os.makedirs(cache, exist_ok=True)
    open(os.path.join(cache, "kernel"), "w").close()
    compiled = "cupy"
"""
    made = sweep((Kind.CUPY, makes))
    made.at([20, 30])
    points = [made.curves.rows[n][Kind.CUPY] for n in (20, 30)]
    assert all(seconds > 0.8 for point in points for seconds in point.first)
    assert all(seconds < 0.3 for point in points for seconds in point.later)
    assert all(point.later for point in points)

"""What the command does around its sweep."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from rich.console import Console

from gpuadvise.crossover import journey
from gpuadvise.options import Options


def test_the_time_before_the_sweep_is_counted_once(tmp_path, monkeypatch) -> None:
    """Two seconds old when the command begins; the advice before the sweep takes no time here."""
    ages = iter([2.0, 40.0])
    spent: list[float] = []
    before: list[float] = []

    def advise(target, options, stages, age, then):
        before.append(age)
        then(None, None, SimpleNamespace(profile=None))
        return SimpleNamespace(outcome=None)

    def sweep(*arguments: object) -> object:
        spent.append(float(str(arguments[-1])))
        return None

    monkeypatch.setattr(journey, "process_age", lambda: next(ages))
    monkeypatch.setattr(journey, "advise", advise)
    monkeypatch.setattr(journey, "_sweep", sweep)
    monkeypatch.setattr(journey, "render", lambda result, console: None)
    script = tmp_path / "program.py"
    script.write_text("print(1)\n")
    journey.crossover((str(script),), None, Console(), options=Options(budget=90.0))
    assert before == [2.0]
    assert spent == [pytest.approx(2.0, abs=5.0)]

"""The scripts of ``benchmarks/unseen.py``: what is written by hand prints what the script does."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "unseen_programs"
SMALL = {
    "american_put": "40",
    "asian_option": "2003",
    "blur": "24",
    "brians_brain": "18",
    "collatz": "900",
    "customers": "200",
    "despeckle": "40",
    "detector": "3000",
    "dtw": "60",
    "edit_distance": "60",
    "equaliser": "0.05",
    "flooding": "40",
    "goldbach": "300",
    "great_circle": "40",
    "ising": "8",
    "julia": "40",
    "kmers": "20500",
    "knapsack": "1500",
    "lorenz": "300",
    "membrane": "24",
    "pagerank": "400",
    "polymer": "23",
    "rolling_vol": "600",
    "star_cluster": "8",
    "viterbi": "200",
}
"""Sizes at which each script takes some milliseconds."""


def test_every_script_has_a_version_by_hand_and_a_small_size() -> None:
    scripts = {path.stem for path in PROGRAMS.glob("*.py")}
    assert scripts == {path.stem for path in (PROGRAMS / "by_hand").glob("*.py")} == set(SMALL)


@pytest.mark.parametrize("name", SMALL)
def test_by_hand_prints_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for path in (PROGRAMS / f"{name}.py", PROGRAMS / "by_hand" / f"{name}.py"):
        monkeypatch.setattr(sys, "argv", [str(path), SMALL[name]])
        runpy.run_path(str(path), run_name="__main__")
        printed.append(capsys.readouterr().out)
    assert len(printed[0].splitlines()) > 1
    assert printed[0] == printed[1]

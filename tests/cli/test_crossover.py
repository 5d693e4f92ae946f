"""``gpuadvise crossover`` and ``gpuadvise roofline`` as commands."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from command import Run, names, write

SMOOTH = """\
import sys

import numpy as np

STEPS = 6


def smooth(a):
    out = np.zeros(len(a))
    for i in range(1, len(a) - 1):
        out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0
    return out


n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
a = np.random.default_rng(3).random(n)
for _ in range(STEPS):
    a = smooth(a)
with open("log.txt", "a") as log:
    log.write("done\\n")
print(f"{a.sum():.12f}")
"""


def test_a_sweep(gpuadvise: Callable[..., Run]) -> None:
    folder = gpuadvise("--version").folder
    write(folder, "s.py", SMOOTH)
    options = ("--allow", "numpy", "--budget", "60", "--json", "c.json")
    run = gpuadvise("crossover", "--size", "n=30000,90000", *options, "s.py", timeout=200)
    assert run.code == 0, run.err
    assert run.out.count("\n") == 1, "the script's own run, and no other, has its output"
    assert (folder / "log.txt").read_text() == "done\n"
    assert names(folder) == ["c.json", "log.txt", "s.py"]
    assert (folder / "s.py").read_text() == SMOOTH
    data = json.loads((folder / "c.json").read_text())
    assert data["parameter"] == {"name": "n", "value": 100_000, "where": "s.py, line 15"}
    numpy = next(v for v in data["versions"] if v["kind"] == "NumPy")
    assert [p["size"] for p in numpy["points"]] == [30_000, 90_000]
    assert all(point["first"] for point in numpy["points"]) and numpy["wrong"] is None
    assert "30000" in run.err and "at n = 90000, take NumPy" in run.err


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ("n=1,x", "whole numbers"),
        ("n=", "NAME=10,100,1000"),
        ("=4", "NAME=10,100,1000"),
        ("n=0", "NAME=10,100,1000"),
        ("cells=5", "no number is called 'cells'; there are STEPS = 6, s.py, line 5; n = 100000"),
    ],
)
def test_sizes_that_cannot_be_meant(gpuadvise: Callable[..., Run], size: str, said: str) -> None:
    write(gpuadvise("--version").folder, "s.py", SMOOTH)
    run = gpuadvise("crossover", "--size", size, "s.py")
    assert run.code == 2 and said in " ".join(run.err.split())
    assert run.out == "", "the script did not run"


def test_a_program_without_a_size(gpuadvise: Callable[..., Run]) -> None:
    write(
        gpuadvise("--version").folder, "s.py", "x = 0.1\nwhile x < 0.2:\n    x += 1e-6\nprint(x)\n"
    )
    run = gpuadvise("crossover", "--budget", "10", "s.py")
    assert run.code == 2
    assert "no problem size was found" in run.err and "--size NAME=" in run.err


def test_a_script_that_fails(gpuadvise: Callable[..., Run]) -> None:
    write(gpuadvise("--version").folder, "s.py", "N = 100\nraise SystemExit(3)\n")
    assert gpuadvise("crossover", "s.py").code == 3


@pytest.mark.parametrize("command", ["crossover", "roofline"])
def test_help_and_missing_files(gpuadvise: Callable[..., Run], command: str) -> None:
    assert gpuadvise(command, "--help").code == 0
    run = gpuadvise(command, "nothing.py")
    assert run.code == 2 and "nothing.py" in run.err

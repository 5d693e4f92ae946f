"""Roofs: the arithmetic of the model, the workers, the cache, and what the command shows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gpuadvise.model import Machine
from gpuadvise.options import Options
from gpuadvise.roofline import journey
from gpuadvise.roofline.ceilings import Ceilings, Roof, cached, keep, measure, run_worker
from gpuadvise.roofline.gpu import kernel_text
from gpuadvise.roofline.place import Bound, Spot, follows
from gpuadvise.roofline.work import Work

ROOF = Roof("one core", 10e9, {"float32": 80e9, "float64": 40e9}, {"bandwidth": "copy"})
CORES = replace(
    ROOF, device="all 8 cores", bandwidth=40e9, peak={"float32": 640e9, "float64": 320e9}
)
MACHINE = Machine("node", "Linux 6", "a CPU", 8, 1 << 34, "3.11", {"numpy": "2.4"})


def spot(seconds: float, flops: float = 1e9, moved: float = 4e9, roof: Roof = ROOF) -> Spot:
    return Spot("NP201 (NumPy)", seconds, Work(flops, 0.0, moved), roof)


def test_the_model() -> None:
    assert ROOF.ridge("float64") == 4.0
    assert ROOF.roof(0.25, "float64") == 2.5e9
    assert ROOF.roof(100.0, "float32") == 80e9


@pytest.mark.parametrize(
    ("placed", "bound", "share"),
    [
        (spot(0.8), Bound.MEMORY, 0.5),
        (spot(80.0), Bound.OVERHEAD, 0.005),
        (spot(0.05, moved=1e8), Bound.COMPUTE, 0.5),
        (spot(0.1), Bound.MEMORY, 4.0),
    ],
)
def test_what_limits_a_loop(placed: Spot, bound: Bound, share: float) -> None:
    assert placed.bound is bound
    assert placed.share == pytest.approx(share)


def test_what_follows_names_what_is_left() -> None:
    ceilings = Ceilings((ROOF, CORES), "now")
    assert "2x on one core, 8x on all 8 cores" in follows(spot(0.8), ceilings)
    assert "overhead" in follows(spot(80.0), ceilings)


def found(scale: float = 1.0) -> dict[str, Any]:
    return {
        "bandwidth": {"numpy.copyto": [9e9 * scale, 1e10 * scale], "compiled loop": [8e9]},
        "float32": {"matrix product": [8e10 * scale], "multiply-adds": [4e10]},
        "float64": {"matrix product": [3e10 * scale], "multiply-adds": [4e10 * scale]},
    }


def test_the_best_method_is_the_ceiling() -> None:
    def run(arguments: list[str], env: Mapping[str, str]) -> dict[str, Any]:
        if arguments[0].endswith("gpu"):
            return {"missing": "no device"}
        assert set(env.values()) == {arguments[1]}, "the libraries' threads are limited"
        return found(float(arguments[1]))

    ceilings = measure(4, True, run)
    assert [roof.device for roof in ceilings.roofs] == ["one core", "all 4 cores"]
    assert ceilings.roofs[0].bandwidth == 1e10
    assert ceilings.roofs[0].peak == {"float32": 8e10, "float64": 4e10}
    assert "multiply-adds, best of 1" in ceilings.roofs[0].how["float64"]
    assert ceilings.missing == "no device"


def test_a_worker_that_fails_says_why() -> None:
    assert "No module" in run_worker(["gpuadvise.roofline.nothing"], {})["missing"]


def test_without_a_gpu_the_worker_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpuadvise.roofline.gpu"], capture_output=True, text=True, timeout=60
    )
    answer = json.loads(done.stdout)
    assert "missing" in answer or answer["bandwidth"]["copy"], "an answer on every machine"


def test_the_cpu_worker_measures() -> None:
    code = (
        "import gpuadvise.roofline.cpu as c, json\n"
        "c.REPEATS, c.STEPS = 2, 100\n"
        "c.MATRIX = {'float32': 64, 'float64': 64}\n"
        "print(json.dumps(c.measure(1, 1 << 20)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    answer = json.loads(done.stdout)
    assert set(answer) == {"bandwidth", "float32", "float64"}
    assert all(1e6 < rate < 1e14 for group in answer.values() for m in group.values() for rate in m)


def test_the_kernel_has_as_many_multiply_adds_as_are_counted() -> None:
    assert kernel_text("float64").count("fma(") == 8
    assert "double" in kernel_text("float64") and "float " in kernel_text("float32")


def test_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUADVISE_STATE_DIR", str(tmp_path))
    assert cached(MACHINE, 8) is None
    kept = Ceilings((ROOF, CORES), "2026-01-01", 0.1, "no device")
    keep(MACHINE, 8, kept)
    assert cached(MACHINE, 8) == kept
    assert cached(replace(MACHINE, cpu="another"), 8) is None
    next((tmp_path / "roofline").iterdir()).write_text("{}")
    assert cached(MACHINE, 8) is None, "what cannot be read is measured again"


def test_what_a_busy_machine_gave_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPUADVISE_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(journey, "describe", lambda: MACHINE)
    for busy, kept in ((50.0, False), (0.0, True)):
        loaded = Ceilings((ROOF,), "now", busy)
        monkeypatch.setattr(journey, "measure", lambda *_, found=loaded: found)
        file = tmp_path / "r.json"
        shown = Console(width=100, no_color=True)
        journey.roofline((), None, shown, options=Options(), fresh=True, json=file)
        assert (cached(MACHINE, journey.cores()) is not None) == kept
        assert ("the true ceilings are higher" in capsys.readouterr().out) != kept
        assert json.loads(file.read_text())["ceilings"]["roofs"][0]["device"] == "one core"

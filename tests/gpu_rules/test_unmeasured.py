"""Programs for a GPU where there is none: their text is read, and nothing is called measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpuadvise.targets as targets
from gpuadvise.gpucode.unmeasured import advice, regions
from gpuadvise.model import Source
from gpuadvise.observe.machine import describe

EXAMPLES = {e.name: e for e in targets.catalogue() if e.needs}
WELL_WRITTEN = ("cupy_polynomial", "cupy_resident", "numba_resident", "torch_well_fed")


def named(text: str) -> set[tuple[str, int]]:
    return {(a.rule, a.mistake.line) for a in advice([Source(Path("x.py"), text.encode())])}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_bundled_programs(name: str) -> None:
    found = advice([Source(EXAMPLES[name].path, EXAMPLES[name].path.read_bytes())])
    assert bool(found) is (name not in WELL_WRITTEN)
    assert not any(a.mistake.measured for a in found)
    assert [a.mistake.line for a in found] == sorted(a.mistake.line for a in found)


METHOD = """\
import torch


class Trainer:
    def fit(self, model, batches):
        for x in batches:
            loss = model(x).sum()
            for _ in range(2):
                torch.cuda.synchronize()

    def none(self):
        return [x for x in ()]


for k in range(3):
    torch.cuda.synchronize()
"""


def test_loops_of_methods_and_of_the_module() -> None:
    found = list(regions(Source(Path("x.py"), METHOD.encode())))
    assert [(r.site.qualname, r.site.line, r.depth) for r in found] == [
        ("<module>", 15, 0),
        ("Trainer.fit", 6, 0),
        ("Trainer.fit", 8, 1),
    ]
    assert {line for code, line in named(METHOD) if code == "PT502"} >= {16}


@pytest.mark.skipif(bool(describe().gpus), reason="there is a GPU: the program would run")
def test_a_program_that_cannot_run_here_is_read(tmp_path: Path) -> None:
    script = targets.copy("cupy_life", tmp_path)
    command = [sys.executable, "-m", "gpuadvise", "--no-color", script.name]
    environment = os.environ | {"COLUMNS": "100"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "cupy_life.py:31 CP301: grid is copied to the host for sum()" in done.stderr
    assert "2 mistakes in GPU code named, not measured" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cupy_life.py"]


def test_a_failing_program_without_gpu_code_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("for k in range(3):\n    print(k)\nraise SystemExit(2)\n")
    command = [sys.executable, "-m", "gpuadvise", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "GPU" not in done.stderr

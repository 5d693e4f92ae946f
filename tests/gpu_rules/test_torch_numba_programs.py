"""PyTorch and numba.cuda rules on whole programs: mistakes at their lines, none in good ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuadvise.edits import apply_edits
from gpuadvise.model import Edit, Source

sys.path.insert(0, str(Path(__file__).parent))
from reading import mistakes

HERE = Path(__file__).parent
TARGETS = HERE.parents[1] / "targets" / "cuda"
FAMILY = ("PT", "NC")
FOUND = {
    TARGETS / "torch_training.py": {
        *(("PT501", 46), ("PT501", 57), ("PT502", 47), ("PT504", 40), ("PT504", 56)),
        *(("PT505", 56), ("PT507", 42), ("PT510", 39), ("PT510", 55)),
    },
    TARGETS / "torch_inference.py": {("PT501", 23), ("PT505", 22)},
    TARGETS / "numba_host_arrays.py": {("NC401", 29), ("NC403", 30)},
    HERE / "torch_programs" / "particles.py": {("PT501", 17), ("PT502", 18), ("PT503", 14)},
    HERE / "torch_programs" / "vision_training.py": {
        *(("PT501", 40), ("PT501", 49), ("PT505", 47), ("PT507", 36)),
    },
}
CLEAN = [
    *sorted((HERE / "torch_clean").glob("*.py")),
    *sorted((HERE / "numba_clean").glob("*.py")),
    TARGETS / "torch_well_fed.py",
    TARGETS / "numba_resident.py",
    TARGETS / "cupy_resident.py",
]


def read(path: Path) -> Source:
    return Source(path, path.read_bytes())


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_mistakes_get_rewrites_at_their_lines(path: Path) -> None:
    found = mistakes(read(path), FAMILY)
    kept = {(code, m.line) for code, _, m in found if m.match is not None and m.match.safe}
    assert kept == FOUND[path]


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_well_written_programs_draw_nothing(path: Path) -> None:
    assert [(code, m.line, m.what) for code, _, m in mistakes(read(path), FAMILY)] == []


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_safe_rewrites_of_a_program_go_together(path: Path) -> None:
    source = read(path)
    edits: dict[str, tuple[Edit, ...]] = {}
    for code, _, mistake in mistakes(source, FAMILY):
        if mistake.match is not None and mistake.match.safe:
            edits[code] = (*edits.get(code, ()), *mistake.match.edits)
    compile(apply_edits(source, [e for group in edits.values() for e in group]), "x", "exec")


SIMULATED = """\
import os
import numpy as np
from gpuadvise.registry import rules
for rule in rules():
    for case in rule.cases if rule.code.startswith("NC") else ():
        if getattr(case, "after", None) is None or not case.inputs:
            continue
        results = []
        for text in (case.before, case.after):
            names = {"__name__": "case", "np": np}
            exec(text, names)
            exec(case.inputs, names)
            result = names[case.function](*names["args"])
            results.append([np.asarray(v).tolist() for v in (result, *names["args"])])
        assert results[0] == results[1], (rule.code, results)
        print(rule.code)
"""


def test_numba_cases_are_equal_in_the_simulator() -> None:
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, "-W", "ignore", "-c", SIMULATED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {"NC401", "NC402", "NC403"} <= set(done.stdout.split())

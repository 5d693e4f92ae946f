from __future__ import annotations

import sys
from pathlib import Path

from gpuadvise.cudatrace.traced import trace_run
from gpuadvise.model import Stopped, Target
from gpuadvise.observe.sandbox import Sandbox


def test_a_traced_run_that_does_not_end_is_stopped_and_said(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("while True:\n    pass\n")
    target = Target(script, (), None, tmp_path, sys.executable)
    with Sandbox(target) as box:
        run = trace_run(box, target, limit=1.5)
    assert isinstance(run.run.end, Stopped)
    assert run.trace is None or not len(run.trace["kernels"])  # there may be a GPU
    assert run.notes[0] == "the traced run was stopped after 1.5 s"

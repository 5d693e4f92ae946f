"""``gpuadvise trace`` as users run it, on a CUPTI and a CuPy that are made up (`fakes`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="CUDA is recorded on Linux alone")
FAKES = Path(__file__).parent / "fakes"
SCRIPT = """\
import cupy as cp

pool = cp.get_default_memory_pool()


def run(steps):
    for _ in range(steps):
        x = cp.ones(1000)
        pool.free_all_blocks()
    return x


run(20)
print("ran")
"""


def trace(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    before = os.environ.get("PYTHONPATH", "")
    path = f"{FAKES}{os.pathsep}{before}".rstrip(os.pathsep)
    return subprocess.run(
        [sys.executable, "-m", "gpuadvise", "trace", "--no-color", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "100", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_lines_findings_and_files(tmp_path: Path) -> None:
    (tmp_path / "life.py").write_text(SCRIPT)
    done = trace(
        tmp_path, "--export", "t.json", "--json", "r.json", "life.py", GPUADVISE_TRACE_BY="trace"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ran\n"
    assert "life.py:8 in run" in done.stderr
    assert "20 kernels" in done.stderr
    assert "Findings: 1 mistake, nothing of which was tried" in done.stderr
    assert "CP308: the memory pool is emptied in every step" in " ".join(done.stderr.split())
    report = json.loads((tmp_path / "r.json").read_text())
    (finding,) = report["findings"]
    assert (finding["rule"], finding["line"]) == ("CP308", 9)
    assert finding["file"] == str(tmp_path / "life.py")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    (mark,) = [event for event in events if event.get("cat") == "finding"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert len(kernels) == 40
    assert mark["ts"] <= max(event["ts"] for event in kernels) <= mark["ts"] + mark["dur"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["life.py", "r.json", "t.json"]


def test_without_a_recorder_the_notes_say_why_and_the_script_has_run(tmp_path: Path) -> None:
    (tmp_path / "life.py").write_text(SCRIPT)
    done = trace(tmp_path, "--export", "t.json", "life.py", FAKE_CUPTI_PROBLEM="driver")
    assert done.returncode == 1
    assert done.stdout == "ran\n"
    assert "there is no NVIDIA driver on this machine" in " ".join(done.stderr.split())
    assert not (tmp_path / "t.json").exists()
    assert "t.json was not written" in done.stderr

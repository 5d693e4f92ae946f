"""After ``--apply`` the first run finds what numba compiled in the trials."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import write
from rich.console import Console

from gpuadvise import journey as journey_module
from gpuadvise.model import Outcome, Report, Target
from gpuadvise.observe.machine import describe
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.options import Options
from gpuadvise.target import read_sources
from gpuadvise.undo import undo

pytest.importorskip("numba")

KERNEL = """\
import numba


@numba.njit(cache=True)
def {name}(count):
    s = 0
    for k in range(count):
        s = (s * 31 + k) % 1000003
    return s


"""
SCRIPT = "import helper\n\nprint(helper.total(40), sum(range(9)))\n"
HELPER = "def total(count):\n    s = 0\n    return s + sum(range(count))\n"
PATCHED = {
    "s.py": KERNEL.format(name="_main_kernel")
    + "import helper\n\nprint(helper.total(40), _main_kernel(9))\n",
    "helper.py": KERNEL.format(name="_total_kernel")
    + "def total(count):\n    return _total_kernel(count)\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUADVISE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    folder = tmp_path / "project"
    write(folder, "s.py", SCRIPT)
    write(folder, "helper.py", HELPER)
    return folder


def applied(folder: Path, monkeypatch: pytest.MonkeyPatch, output: Path) -> str:
    """The main command with one whole run of the patch as its only trial; what it says."""
    patched = {folder / name: text.encode() for name, text in PATCHED.items()}

    def one_trial(target, options, stages, spent, then):  # type: ignore[no-untyped-def]
        with Sandbox(target) as box:
            sources = read_sources(target)
            run = box.run(box.command(), patched=patched)
            assert run.ok, run.stderr
            box.run(box.command())  # the original afterwards, which removes what was compiled
            report = Report(
                target,
                describe(),
                "",
                Outcome.ADVICE,
                "2 rewrites verified",
                sources=sources,
                patched=patched,
            )
            then(box, box.root / "stdin", report)
            return report

    monkeypatch.setattr(journey_module, "advise", one_trial)
    monkeypatch.setattr(
        journey_module,
        "resolve",
        lambda command, module: Target(folder / "s.py", (), cwd=folder, python=sys.executable),
    )
    console = Console(file=io.StringIO(), width=200)
    journey_module.journey(("s.py",), None, Options(), console, apply=True, json=output)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def first_run(folder: Path) -> str:
    """What a run of the script says of numba's cache."""
    done = subprocess.run(
        [sys.executable, "s.py"],
        cwd=folder,
        env={**os.environ, "NUMBA_DEBUG_CACHE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_first_run_compiles_nothing_and_undo_leaves_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # numba writes its code all the same
    said = applied(project, monkeypatch, tmp_path / "r.json")
    assert "kept in __pycache__: the first run starts like a later one" in said
    first = first_run(project)
    for function in ("s._main_kernel", "helper._total_kernel"):
        assert f"data loaded from '{project}/__pycache__/{function}-" in first
    assert "saved" not in first
    told = json.loads((tmp_path / "r.json").read_text())["kept_compiled"]
    assert sorted(told) == sorted(map(str, (project / "__pycache__").glob("*.nb?")))
    assert len(told) == 4
    undo(project)
    assert sorted(path.name for path in project.iterdir()) == ["helper.py", "s.py"]
    assert (project / "s.py").read_text() == SCRIPT

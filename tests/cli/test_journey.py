"""The main job from a script to an applied, verified rewrite and back."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from command import COMMAND, NUMPY_ALONE, UNHURRIED, names, write

SMOOTH = '''\
"""Repeated smoothing of a noisy line."""
import numpy as np


def smooth(a):
    out = np.zeros(len(a))
    for i in range(1, len(a) - 1):
        out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0  # the mean of three
    return out


a = np.random.default_rng(3).random(150_000)
for _ in range(8):
    a = smooth(a)
with open("log.txt", "a") as log:
    log.write("done\\n")
print(f"{a.sum():.12f}", a[:3])
'''


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder after ``gpuadvise --apply --patch --json``; the original is ``original.py``."""
    folder = tmp_path_factory.mktemp("journey")
    write(folder, "s.py", SMOOTH)
    command = [*COMMAND, *UNHURRIED, "--apply", "--patch", "p.diff", "--json", "r.json", "s.py"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUADVISE_STATE_DIR", str(folder / "state"))
        patch.setenv("COLUMNS", "80")
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    (folder / "out.txt").write_text(done.stdout)
    (folder / "err.txt").write_text(done.stderr)
    assert done.returncode == 0, done.stderr
    write(folder, "original.py", SMOOTH)
    return folder


def plain(script: Path, folder: Path) -> tuple[str, str, int]:
    """Output, log and status of one plain run in an empty folder."""
    folder.mkdir()
    shutil.copy(script, folder / "s.py")
    done = subprocess.run(
        [sys.executable, "s.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout, (folder / "log.txt").read_text(), done.returncode


def test_one_real_run_and_its_streams(advised: Path, tmp_path: Path) -> None:
    out, _, _ = plain(advised / "original.py", tmp_path / "a")
    assert (advised / "out.txt").read_text() == out, "standard output is the script's alone"
    assert (advised / "log.txt").read_text() == "done\n", "one run has effects, no other"


def test_applied_script_gives_the_same(advised: Path, tmp_path: Path) -> None:
    assert (advised / "s.py").read_text() != SMOOTH
    before = plain(advised / "original.py", tmp_path / "a")
    assert plain(advised / "s.py", tmp_path / "b") == before


@pytest.mark.parametrize("command", [["git", "apply"], ["patch", "-p1", "-i"]])
def test_patch_gives_what_apply_wrote(advised: Path, tmp_path: Path, command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    write(tmp_path, "s.py", SMOOTH)
    subprocess.run([*command, str(advised / "p.diff")], cwd=tmp_path, check=True)
    assert (tmp_path / "s.py").read_bytes() == (advised / "s.py").read_bytes()


def test_json_tells_the_same_story(advised: Path) -> None:
    report = json.loads((advised / "r.json").read_text())
    assert report["schema_version"] == "2"
    assert report["outcome"] == "advice found"
    speedup = report["script_verdict"]["speedup"]
    assert 1.1 < speedup["low"] <= speedup["value"] <= speedup["high"]
    assert report["findings"][0]["winner"]["candidate"]["rule"] == "NP201"


def test_nothing_but_what_was_asked_for_appears(advised: Path) -> None:
    assert names(advised) == sorted(
        ["err.txt", "log.txt", "original.py", "out.txt", "p.diff", "r.json", "s.py", "state"]
    )


def test_redirected_report_is_plain_text(advised: Path) -> None:
    text = (advised / "err.txt").read_text()
    assert "\x1b" not in text
    assert "…" not in text, "no fact may be cut off"
    assert "verified" in text and "n=" in text
    assert "gpuadvise undo" in text.splitlines()[-1]
    assert max(map(len, text.splitlines())) <= 80


def test_undo_and_a_second_undo(
    advised: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    shutil.copytree(advised / "state", state)
    monkeypatch.setenv("GPUADVISE_STATE_DIR", str(state))
    applied = (advised / "s.py").read_bytes()
    undo = [*COMMAND, "undo"]
    try:
        (advised / "s.py").write_bytes(applied + b"# mine\n")
        edited = subprocess.run(undo, cwd=advised, capture_output=True, text=True)
        assert edited.returncode == 2
        assert "edited" in edited.stderr
        assert (advised / "s.py").read_bytes() == applied + b"# mine\n"
        (advised / "s.py").write_bytes(applied)
        assert subprocess.run(undo, cwd=advised).returncode == 0
        assert (advised / "s.py").read_text() == SMOOTH
    finally:
        (advised / "s.py").write_bytes(applied)


@pytest.mark.parametrize("columns", [80, 140])
def test_in_a_terminal(tmp_path: Path, columns: int) -> None:
    """Progress names the stages; the report fits; the last line is the outcome."""
    write(tmp_path, "s.py", SMOOTH)
    child = pexpect.spawn(
        COMMAND[0],
        [*COMMAND[1:], *NUMPY_ALONE, "s.py"],
        cwd=tmp_path,
        dimensions=(50, columns),
        timeout=240,
        encoding="utf-8",
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    for stage in ("scalene", "line profile", "trials"):
        assert stage in child.before
    report = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", child.before[child.before.rindex("  ran ") :])
    lines = [line.rstrip() for line in report.splitlines()]
    assert max(map(len, lines)) <= columns
    assert lines[-1].endswith("gpuadvise --apply s.py")


def test_quiet_is_the_last_line_only(tmp_path: Path) -> None:
    write(tmp_path, "s.py", "print('hi')\n")
    done = subprocess.run(
        [*COMMAND, "--quiet", "s.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stdout == "hi\n"
    assert len(done.stderr.splitlines()) <= 2

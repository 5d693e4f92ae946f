"""The fixture that runs the real command."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from command import COMMAND, Run, leftovers, processes


@pytest.fixture
def gpuadvise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """``gpuadvise("--quiet", "s.py", stdin=b"")`` in ``tmp_path / "work"``, leaving nothing.

    Asserts, after every call, that no traceback of the tool was shown, that no process and no
    scratch folder survives, and that only the script's own files appeared beside it.
    """
    work = tmp_path / "work"
    scratch = tmp_path / "tmp"
    state = tmp_path / "state"
    for folder in (work, scratch, state):
        folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("GPUADVISE_STATE_DIR", str(state))

    def run(*arguments: str, stdin: bytes = b"", timeout: float = 240) -> Run:
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=work, input=stdin, capture_output=True, timeout=timeout
        )
        err = done.stderr.decode()
        assert "gpuadvise/" not in err and "advisor/" not in err, f"our own traceback:\n{err}"
        assert leftovers(scratch) == []
        assert processes(str(scratch)) == []
        return Run(done.returncode, done.stdout.decode(), err, work)

    return run

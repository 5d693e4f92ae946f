"""Real processes that hold real states."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from gpuadvise.model import Exactness
from gpuadvise.verify.one_trial import StateResult
from gpuadvise.verify.server import StateServer
from gpuadvise.verify.states import HeldState

DRIVER = Path(__file__).parent / "verify" / "hold_driver.py"


@dataclass
class Bench:
    """A server, and a way to start holders of small programs."""

    server: StateServer
    folder: Path
    started: list[subprocess.Popen[bytes]]

    def hold(self, program: str, *where: str, name: str = "program.py") -> HeldState:
        path = self.folder / name
        path.write_text(dedent(program))
        self.server.originals[path] = path.read_bytes()
        command = [sys.executable, str(DRIVER), self.server.address, str(path), *where]
        buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=buffered
        )
        self.started.append(process)
        end = time.monotonic() + 120
        while True:
            for state in self.server._states:
                if state.hello.pid == process.pid:
                    return state
            if process.poll() is not None or time.monotonic() > end:
                raise AssertionError(process.communicate()[1].decode())
            time.sleep(0.02)

    def trial(
        self,
        state: HeldState,
        old: str,
        new: str,
        *,
        exactness: Exactness = Exactness.BITS,
        reduction_length: int = 1,
        repeats: int = 2,
        limit: float = 60.0,
        perturb: float = 0.0,
    ) -> StateResult:
        """Replace ``old`` by ``new`` in the held program and try that.

        ``perturb``: seconds for perturbed inputs.
        """
        path = state.hello.file
        text = self.server.originals[path].decode()
        old, new = old.strip("\n"), new.strip("\n")
        assert text.count(old) == 1, "the text to replace must be there once"
        changed = {path: text.replace(old, new).encode()}
        result = state.try_candidate(
            changed,
            exactness=exactness,
            reduction_length=reduction_length,
            repeats=repeats,
            limit=limit,
            perturb=False,
        )
        if not (perturb and result.same):
            return result
        return state.perturb(
            changed,
            result,
            exactness=exactness,
            reduction_length=reduction_length,
            limit=perturb,
        )


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with StateServer() as server:
        bench = Bench(server, tmp_path, [])
        yield bench
    for process in bench.started:
        try:
            output, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert output == b"", "a holder wrote what the program had buffered"
        assert errors == b""

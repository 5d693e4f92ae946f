"""Kernels on a machine without a GPU: equal in numba's simulator, or not, and seen to run there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from harness import region_for

from gpuadvise.codegen.cuda_backend import nest_on_gpu
from gpuadvise.deadline import Deadline
from gpuadvise.model import Candidate, Exactness, Finding, Match, Mismatch, Trial, Unavailable
from gpuadvise.patch import apply_edits
from gpuadvise.verify import devices, simulated
from gpuadvise.verify.one_trial import StateResult
from gpuadvise.verify.perturbed import Perturbed
from gpuadvise.verify.simulated import on_simulator, text_for_simulator, without_kernels
from gpuadvise.verify.trying import Trying

LOOP = """\
import numpy as np


def relax(a, b):
    for i in range(1, len(a)):
        b[i] = a[i] * a[i - 1] + 1.0
"""
CALLED = "\na, b = np.arange(9.0), np.zeros(9)\nrelax(a, b)\nprint(b.tolist())\n"
ABSENT = Unavailable("this machine has no CUDA device")


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(devices, "gpus", lambda: ())
    devices._has_gpu.cache_clear()
    yield
    devices._has_gpu.cache_clear()


def candidate(text: str = LOOP) -> Candidate:
    region = region_for(text, "relax", (np.ones(9), np.ones(9)))
    match = nest_on_gpu(region)
    assert isinstance(match, Match)
    return Candidate("c1", "NC410", region, match)


def new_text(text: str = LOOP) -> bytes:
    one = candidate(text)
    return apply_edits(one.region.source, one.match.edits)


@dataclass
class FakeState:
    """Answers with what was given, and keeps the texts that it was asked about."""

    answers: list[Perturbed]
    asked: list[bytes] = field(default_factory=list)

    def perturb_alone(self, sources: dict[Any, bytes], failure: Any, **_: object) -> StateResult:
        self.asked += sources.values()
        result = StateResult(1, "first call", None, failure)
        return SimpleNamespace(**{**vars(result), "perturbed": self.answers.pop(0)})  # type: ignore[return-value]


def looked_at(
    monkeypatch: pytest.MonkeyPatch, *answers: Perturbed, left: float = 60.0, text: str = LOOP
) -> tuple[Trial, FakeState]:
    """The trial afterwards."""
    state = FakeState(list(answers))
    monkeypatch.setattr(simulated, "nearest", lambda states, region: [state])
    trying = SimpleNamespace(
        server=SimpleNamespace(states_of=lambda region: [state]),
        deadline=Deadline(left),
        goal=lambda several: SimpleNamespace(exactness=Exactness.BITS, reduction_length=1),
        replay=lambda region: 0.1,
        progress=lambda words: None,
    )
    trial = Trial(candidate(text), ABSENT)
    found = on_simulator(cast(Trying, trying), [Finding(trial.candidate.region, None, (trial,))])
    return found[0].others[0], state


def test_equal_and_seen_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    trial, state = looked_at(monkeypatch, Perturbed(7), Perturbed(0, "b: 0.0 became 1.0"))
    assert trial.region_verdict == Unavailable(
        "this machine has no CUDA device; in numba's simulator equal on 7 small inputs made from "
        "the program's"
    )
    assert state.asked[0] != state.asked[1]


def test_kernels_that_made_no_difference_are_not_called_equal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial, _ = looked_at(monkeypatch, Perturbed(7), Perturbed(7))
    assert trial.region_verdict == ABSENT


def test_a_difference_is_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    trial, _ = looked_at(monkeypatch, Perturbed(3, "on a perturbed input (3 elements): b differs"))
    assert isinstance(trial.region_verdict, Mismatch)
    assert "b differs" in trial.region_verdict.what


@pytest.mark.parametrize("answers", [(Perturbed(),), ()])
def test_without_time_or_inputs_nothing_is_said(
    answers: tuple[Perturbed, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, _ = looked_at(monkeypatch, *answers, left=60.0 if answers else 0.5)
    assert trial.region_verdict == ABSENT


def test_a_script_that_runs_numba_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    trial, state = looked_at(monkeypatch, text="import numba\n" + LOOP)
    assert trial.region_verdict == ABSENT and not state.asked


def printed(text: bytes) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text.decode() + CALLED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_in_the_simulator() -> None:
    text = text_for_simulator(new_text())
    assert text is not None
    expected = [0.0] + [i * (i - 1.0) + 1.0 for i in range(1, 9)]
    assert printed(text) == f"{expected}\n"
    assert printed(without_kernels(text)) == f"{[0.0] * 9}\n"


def test_texts_without_numba() -> None:
    assert text_for_simulator(b"import numpy as np\n") is None
    assert text_for_simulator(b'"""Doc."""\r\nimport numba\r\n') == (
        b'"""Doc."""\r\nimport gpuadvise.verify.simulator\r\nimport numba\r\n'
    )


def test_numba_that_runs_already() -> None:
    lines = "import numba\ntry:\n    import gpuadvise.verify.simulator\nexcept ImportError as e:\n"
    done = subprocess.run(
        [sys.executable, "-c", lines + "    print(e)"], capture_output=True, text=True, check=False
    )
    assert "numba is running already" in done.stdout

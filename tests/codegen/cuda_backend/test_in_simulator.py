"""Rewrites run in numba's CUDA simulator: equal to the loops, bit for bit."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from cuda_programs import HEAT, PROGRAMS, Program, grid
from harness import chain_for

from gpuadvise.codegen.answers import answer
from gpuadvise.codegen.cuda_backend import nest_on_gpu
from gpuadvise.codegen.cuda_backend.resident import resident
from gpuadvise.model import Match, Refusal, Region
from gpuadvise.patch import apply_edits
from gpuadvise.verify.claims import broken_step

Outcome = list[tuple[str | None, int]]


def rewritten(program: Program) -> str:
    """The text after the first loop from outside that becomes kernels."""
    why = []
    for region in chain_for(
        program.text, program.function, program.args[0], inputs=program.inputs[0]
    ):
        for make in (nest_on_gpu, resident_or_reason):
            made = make(region)
            if isinstance(made, Match):
                text = apply_edits(region.source, made.edits)
                assert broken_step(region.source, text, made) is None
                return text.decode()
            why.append(made.reason)
    raise AssertionError(f"{program.name}: {why}")


def resident_or_reason(region: Region) -> Match | Refusal:
    """The second form, on its own."""
    return answer(resident, region, "a resident form")


def simulated(pairs: Sequence[tuple[object, ...]], *graphs: str) -> list[Outcome]:
    """Texts and new texts, run in the simulator. ``graphs``: which function of them fails."""
    script = Path(__file__).with_name("simulate.py")
    done = subprocess.run(
        [sys.executable, str(script), *graphs],
        input=pickle.dumps(list(pairs)),
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return pickle.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[str, Outcome]]:
    """All programs, in one process: starting it takes longer than most of them."""
    texts = {p.name: rewritten(p) for p in PROGRAMS}
    found = simulated([(p.text, texts[p.name], p.function, p.args, p.inputs) for p in PROGRAMS])
    return {p.name: (texts[p.name], one) for p, one in zip(PROGRAMS, found, strict=True)}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_equal(program: Program, outcomes: dict[str, tuple[str, Outcome]]) -> None:
    text, outcome = outcomes[program.name]
    for wanted in program.contains:
        assert wanted in text, text
    assert [why for why, _ in outcome] == [None] * len(outcome), text
    assert outcome[0][1] >= program.launches, f"{outcome[0][1]} kernels ran"


def test_the_comparison_sees_a_wrong_kernel() -> None:
    args = (grid(9, 8), grid(9, 8, 1), 0.1, 3)
    right = rewritten(Program("heat", HEAT, "heat", (args,)))
    marks = (
        ("- dmul_rn(4.0", "+ dmul_rn(4.0"),
        ("if i >= n - 1 or", "if i >= n or"),
        (
            "u, new, gpu_u, gpu_new = new, u, gpu_new, gpu_u",
            "gpu_u, gpu_new = gpu_new, gpu_u",
        ),
    )
    wrong = [right.replace(*pair) for pair in marks]
    assert right not in wrong
    found = simulated([(HEAT, text, "heat", (args,), ("",)) for text in (right, *wrong)])
    assert [outcome[0][0] is None for outcome in found] == [True, False, False, False]

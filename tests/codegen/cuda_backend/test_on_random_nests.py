"""Random loop nests as kernels, in the simulator: most may not be reordered, or not as a whole."""

from __future__ import annotations

from cuda_programs import Program
from harness import chain_for
from random_nests import RandomNest, arguments
from test_in_simulator import simulated

from gpuadvise.codegen.cuda_backend import nest_on_gpu
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

SEEDS = range(10)


def programs() -> list[tuple[Program, str]]:
    """Nests that become kernels, with the new text."""
    found = []
    for seed in SEEDS:
        text = RandomNest(seed).text
        args = (arguments(seed, 7, 6, 5), arguments(seed + 1, 3, 5, 4))
        for region in chain_for(text, "f", args[0]):
            match = nest_on_gpu(region)
            if isinstance(match, Match):
                new = apply_edits(region.source, match.edits).decode()
                found.append((Program(str(seed), text, "f", args), new))
                break
    return found


def test_equal() -> None:
    made = programs()
    assert len(made) >= 4
    outcomes = simulated([(p.text, new, "f", p.args, p.inputs) for p, new in made])
    for (program, new), outcome in zip(made, outcomes, strict=True):
        assert [why for why, _ in outcome] == [None, None], f"seed {program.name}\n{new}"
    assert sum(launches for outcome in outcomes for _, launches in outcome) > 4

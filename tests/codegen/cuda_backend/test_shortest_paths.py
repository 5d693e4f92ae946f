"""Relaxation over all pairs: one kernel for each node on the way, where nothing is negative."""

from __future__ import annotations

from typing import Any

import pytest
from cuda_programs import Program, grid
from harness import chain_for
from path_programs import FLOYD, MINIMUM, PATHS, roads
from test_in_simulator import Outcome, resident_or_reason, rewritten, simulated

from gpuadvise.codegen.cuda_backend import nest_on_gpu
from gpuadvise.model import Match


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[str, Outcome]]:
    """All programs, in one process."""
    texts = {p.name: rewritten(p) for p in PATHS}
    found = simulated([(p.text, texts[p.name], p.function, p.args, p.inputs) for p in PATHS])
    return {p.name: (texts[p.name], one) for p, one in zip(PATHS, found, strict=True)}


@pytest.mark.parametrize("program", PATHS, ids=lambda p: p.name)
def test_equal(program: Program, outcomes: dict[str, tuple[str, Outcome]]) -> None:
    text, outcome = outcomes[program.name]
    for wanted in program.contains:
        assert wanted in text, text
    assert [why for why, _ in outcome] == [None] * len(outcome), text
    assert outcome[0][1] == program.launches


def test_what_is_negative_or_of_another_type_runs_in_python(
    outcomes: dict[str, tuple[str, Outcome]],
) -> None:
    assert [ran for _, ran in outcomes["floyd"][1]] == [9, 0, 0, 0]
    assert [ran for _, ran in outcomes["hoisted"][1]] == [8, 7, 6, 0, 5, 3]
    assert [ran for _, ran in outcomes["minimum"][1]] == [7, 7, 0]


def test_without_the_test_negative_ways_are_wrong() -> None:
    """The threads of a step see what others have written by then."""
    (floyd,) = (p for p in PATHS if p.name == "floyd")
    text = rewritten(floyd)
    wrong = text.replace("and dist.min() >= 0", "")
    assert wrong != text
    args = tuple((roads(9, seed) - 30,) for seed in range(6))
    (outcome,) = simulated([(FLOYD, wrong, "floyd", args, ("",))])
    assert any(why is not None for why, _ in outcome)


REFUSED: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    ("ties of zeros", FLOYD.replace(" < dist", " <= dist"), (grid(7, 7),)),
    (
        "the new way first",
        MINIMUM.replace("w[i, j], w[i, k] + w[k, j]", "w[i, k] + w[k, j], w[i, j]"),
        (grid(7, 7),),
    ),
    ("the longest way", FLOYD.replace(" < dist", " > dist"), (grid(7, 7),)),
    ("a product", FLOYD.replace("dist[i, k] + dist", "dist[i, k] * dist"), (grid(7, 7),)),
    ("another column", FLOYD.replace("+ dist[k, j] <", "+ dist[k, j - 1] <"), (grid(7, 7),)),
)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0])
def test_refused(case: tuple[str, str, tuple[Any, ...]]) -> None:
    _, text, args = case
    function = text.split("def ")[1].split("(")[0]
    assert not any(isinstance(nest_on_gpu(r), Match) for r in chain_for(text, function, args))


def test_ties_of_whole_numbers_are_no_matter() -> None:
    text = FLOYD.replace(" < dist", " <= dist")
    assert isinstance(nest_on_gpu(chain_for(text, "floyd", (roads(7),))[0]), Match)


REPEATED = """
def repeated(dist, steps):
    n = dist.shape[0]
    for t in range(steps):
        for k in range(n):
            for i in range(n):
                for j in range(n):
                    if dist[i, k] + dist[k, j] < dist[i, j]:
                        dist[i, j] = dist[i, k] + dist[k, j]
        for i in range(n):
            for j in range(n):
                dist[i, j] = dist[i, j] - 3
"""


def test_steps_that_change_what_was_asked_are_refused() -> None:
    chain = chain_for(REPEATED, "repeated", (roads(7), 4))
    found = [resident_or_reason(region) for region in chain if region.inside]
    assert not any(isinstance(answer, Match) for answer in found)
    assert not isinstance(nest_on_gpu(chain[0]), Match)
    assert isinstance(nest_on_gpu(chain[1]), Match)

"""Which rewrites make up the versions that race."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpuadvise.crossover.versions import Kind, _together, cut_short, kind_of, versions
from gpuadvise.model import Edit, ErrorSize, Finding, Mismatch, NotFaster, Report, Trial, Verified

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from sample import full_report, ratio

FULL = full_report()
SAMPLE = FULL.findings[0].others[0]


def trial(rule: str, needs: set[str], gain: float | None, text: str = "", where: int = 0) -> Trial:
    """A rewrite of the first or the second hot place; None: its result was wrong."""
    region = FULL.findings[where].region
    match = replace(SAMPLE.candidate.match, needs=frozenset(needs), edits=(Edit(0, 0, text),))
    candidate = replace(SAMPLE.candidate, id=rule, rule=rule, region=region, match=match)
    found: Verified | NotFaster | Mismatch
    if gain is None:
        found = Mismatch("1 instead of 0")
    else:
        found = (
            Verified(ratio(gain), ErrorSize(), 1, "") if gain > 1 else NotFaster(ratio(gain), 1.0)
        )
    return Trial(candidate, found)


def report(*places: tuple[Trial, ...]) -> Report:
    return replace(FULL, findings=tuple(Finding(p[0].candidate.region, None, p) for p in places))


NUMPY = trial("NP201", {"numpy"}, 20.0)
NUMBA = trial("NB401", {"numba"}, 100.0)


@pytest.mark.parametrize(
    ("needs", "text", "kind"),
    [
        ({"numpy"}, "", Kind.NUMPY),
        (set(), "", Kind.NUMPY),
        ({"numba", "numpy"}, "@njit", Kind.NUMBA),
        ({"numba"}, "@njit(parallel=True)", Kind.PARALLEL),
        ({"cupy", "numpy"}, "", Kind.CUPY),
        ({"numba", "cuda"}, "", Kind.CUDA),
    ],
)
def test_kinds(needs: set[str], text: str, kind: Kind) -> None:
    assert kind_of(trial("X", needs, 2.0, text).candidate) is kind


def test_one_version_for_each_back_end() -> None:
    found = versions(report((NUMPY, NUMBA)))
    assert [(v.kind, v.rules) for v in found.here] == [
        (Kind.ORIGINAL, ()),
        (Kind.NUMPY, ("NP201",)),
        (Kind.NUMBA, ("NB401",)),
    ]
    assert found.elsewhere[Kind.CUDA] == "not measured here, as this machine has no CUDA device"
    assert found.elsewhere[Kind.PARALLEL] == "no rule rewrites the hot loops so"


def test_a_place_without_a_rewrite_of_the_kind_gets_the_next_best() -> None:
    second = trial("NP210", {"numpy"}, 5.0, where=1)
    found = versions(report((NUMPY, NUMBA), (second,)))
    rules = {version.kind: version.rules for version in found.here}
    assert set(rules[Kind.NUMBA]) == {"NB401", "NP210"}
    assert set(rules[Kind.NUMPY]) == {"NP201", "NP210"}


def test_what_does_not_gain_here_races_but_spoils_no_other_place() -> None:
    slow = trial("NB401", {"numba"}, 0.7)
    found = versions(report((NUMPY, slow)))
    assert [v.rules for v in found.here[1:]] == [("NP201",), ("NB401",)]
    elsewhere = trial("NB409", {"numba"}, 0.7, where=1)
    found = versions(report((NUMPY, NUMBA), (elsewhere,)))
    assert [v.rules for v in found.here[1:]] == [("NP201",), ("NB401",)]


def test_what_was_wrong_does_not_race() -> None:
    found = versions(report((NUMPY, trial("NB401", {"numba"}, None))))
    assert [v.kind for v in found.here] == [Kind.ORIGINAL, Kind.NUMPY]
    assert "rejected" in found.elsewhere[Kind.NUMBA]


def test_texts_that_collide_leave_the_kind_alone() -> None:
    helper = "def _below(n):\n    return n\n\n\n"
    cuda = trial("NC410", {"numba", "cuda"}, 50.0, helper)
    other = trial("NP201", {"numpy"}, 20.0, "\n" + helper, where=1)
    same_file = replace(
        other.candidate,
        region=replace(other.candidate.region, source=FULL.findings[0].region.source),
    )
    both = [cuda.candidate, same_file]
    made = _together(Kind.CUDA, both, FULL.sources)
    assert made.rules == ("NC410",)
    assert _together(Kind.CUDA, both[:1], FULL.sources).rules == ("NC410",)


def test_a_budget_that_ended_early_is_not_taken_for_a_lack_of_rules() -> None:
    nothing = replace(FULL, findings=(), refused=(), partial=True)
    why = versions(nothing).elsewhere[Kind.NUMPY]
    assert why == "the time budget ended before the hot loops were looked at" == cut_short(nothing)
    assert cut_short(replace(nothing, partial=False)) == ""
    assert "no rule" in versions(replace(nothing, partial=False)).elsewhere[Kind.NUMPY]
    seen = replace(FULL, findings=(), partial=True)
    looked = any(refused.region.observation for refused in seen.refused)
    assert ("a rewrite was found" in cut_short(seen)) == looked

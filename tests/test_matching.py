"""What the rules answer, as the journey asks them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from harness import chain_for

from gpuadvise import matching
from gpuadvise.matching import counted, match_rules
from gpuadvise.model import Basis, Condition, Match, Region
from gpuadvise.options import Options
from gpuadvise.patch import PatchError
from gpuadvise.registry import Rule, rules

INVERT = """\
import numpy as np
{state}


def f(x, out):
    for i in range(len(x)):
        out[i] = 1.0 / x[i]
"""


def chain(state: str = "") -> tuple[Region, ...]:
    return chain_for(INVERT.format(state=state), "f", (np.ones(400) + 1, np.zeros(400)))


def test_a_program_that_makes_exceptions_of_warnings_is_left_alone() -> None:
    """At a zero the loop has written what is in front of it; the array statement, nothing."""
    quiet, raising = chain('np.seterr(all="ignore")'), chain('np.seterr(all="raise")')
    on_cpu = Options(allow=frozenset({"numpy", "numba"}))
    assert match_rules([quiet], on_cpu, [quiet[0].source]).candidates
    tried = match_rules([raising], on_cpu, [raising[0].source])
    assert not tried.candidates
    assert {(r.refusal.line, "exceptions" in r.refusal.reason) for r in tried.refused} == {
        (2, True)
    }


def test_a_text_that_cannot_be_edited_is_a_reason_not_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def function(region: Region) -> None:
        raise PatchError("line 5: the statement shares its line with another one")

    first = rules()[0]
    broken = Rule(**{**vars(first), "function": function, "needs": frozenset()})
    monkeypatch.setattr(matching, "rules", lambda: (broken,))
    (refused,) = match_rules([chain()], Options()).refused
    assert refused.refusal.reason == "line 5: the statement shares its line with another one"


def test_observed_conditions_say_at_how_many_entries_they_were_seen() -> None:
    region = chain()[0]
    assert region.observation is not None
    region = replace(region, observation=replace(region.observation, entries=90, observed=7))
    conditions = (
        Condition("a", Basis.PROVED, "line 1"),
        Condition("b", Basis.OBSERVED, guarded=True),
        Condition("c", Basis.OBSERVED, seen=3, entries=4),
        Condition("d", Basis.ASSUMED),
    )
    counts = [
        (c.seen, c.entries) for c in counted(Match((), "", "", ledger=conditions), region).ledger
    ]
    assert counts == [(0, 0), (7, 90), (3, 4), (0, 0)]
    (found,) = match_rules([(region,)], Options(allow=frozenset({"numpy"})), []).candidates[:1]
    observed = [c for c in found.match.ledger if c.basis is Basis.OBSERVED]
    assert observed and all((c.seen, c.entries) == (7, 90) for c in observed)


DISTANCES = """\
import math


def f(x, out):
    for i in range(len(x)):
        total = 0.0
        for j in range(len(x)):
            total += math.sqrt(abs(x[i] - x[j]))
        out[i] = total
"""


@pytest.mark.parametrize("allow", [{"cuda"}, {"numba"}, {"numba", "cuda"}, {"numpy"}])
def test_numba_on_the_gpu_may_be_allowed_alone(allow: set[str]) -> None:
    loops = chain_for(DISTANCES, "f", (np.ones(40), np.ones(40)))
    tried = match_rules([loops], Options(allow=frozenset(allow)))
    found = {candidate.rule for candidate in tried.candidates}
    assert ("NC410" in found) == ("cuda" in allow)
    assert ("NB401" in found) == ("numba" in allow)

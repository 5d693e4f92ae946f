"""What becomes of the rules' answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness import chain_for

from gpuadvise import matching
from gpuadvise.api import Match, Refusal, Region
from gpuadvise.model import Edit
from gpuadvise.options import Options
from gpuadvise.registry import Rule

TEXT = """\
def f(a):
    for t in range(3):
        for i in range(len(a)):
            a[i] = a[i] + t
"""


def rule(code: str, function: object, needs: frozenset[str] = frozenset()) -> Rule:
    return Rule(code, "name", "", "", "", needs, function, (), Path("r.py"))  # type: ignore[arg-type]


def answers(monkeypatch: pytest.MonkeyPatch, *known: Rule, allow: str = "numpy") -> matching.Tried:
    monkeypatch.setattr(matching, "rules", lambda: known)
    chain = chain_for(TEXT, "f", (np.zeros(4),))
    return matching.match_rules([chain, chain], Options(allow=frozenset({allow})))


def inner_only(region: Region) -> Match | Refusal | None:
    if region.depth == 0:
        return Refusal("the time loop")
    return Match((Edit(0, 0, "# new\n"),), "slow", "change", frozenset({"numpy"}))


def test_refused_outside_matched_inside_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = answers(monkeypatch, rule("NP299", inner_only))
    assert [(c.id, c.rule, c.region.depth) for c in tried.candidates] == [("c1", "NP299", 1)]
    assert [(r.rule, r.refusal.reason) for r in tried.refused] == [("NP299", "the time loop")]


def test_packages_that_are_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answers(monkeypatch, rule("NP299", inner_only), allow="numba").candidates == ()
    needy = rule("NB499", inner_only, frozenset({"numba"}))
    assert answers(monkeypatch, needy).candidates == ()


def test_a_rule_that_fails_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(region: Region) -> None:
        raise ZeroDivisionError(f"depth {region.depth}")

    tried = answers(monkeypatch, rule("NP298", broken), rule("NP299", inner_only))
    assert len(tried.candidates) == 1, "the other rule's advice is not lost"
    failed = [r for r in tried.refused if r.rule == "NP298"]
    assert "ZeroDivisionError" in failed[0].refusal.reason


def test_a_loop_beyond_the_engine_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "rules", lambda: ())
    chain = chain_for(TEXT, "f", (np.zeros(4),))
    lost = tuple(replace(region, nest=Refusal("print", region.loop.lineno)) for region in chain)
    tried = matching.match_rules([lost], Options())
    assert [r.refusal.line for r in tried.refused] == [3], "the innermost reason"

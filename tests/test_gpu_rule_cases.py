"""GPU rules on their cases: read everywhere, executed before and after where there is a GPU."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gpuadvise.api import Ignores, Spots
from gpuadvise.cases import mistakes_in
from gpuadvise.patch import apply_edits
from gpuadvise.registry import Rule, rules


def cases(kind: type) -> list[object]:
    return [
        pytest.param(rule, case, id=f"{rule.code}-{kind.__name__.lower()}{number}")
        for rule in rules()
        for number, case in enumerate(
            c for c in rule.cases if isinstance(c, kind) and getattr(c, "static", True)
        )
    ]


@pytest.mark.parametrize(("rule", "case"), cases(Spots))
def test_spots(rule: Rule, case: Spots, tmp_path: Path) -> None:
    found = [(r, m) for r, m in mistakes_in(rule.function, case) if m.line == case.line]
    assert found, f"nothing named on line {case.line}"
    region, mistake = found[0]
    assert mistake.what and mistake.remedy and mistake.evidence
    assert mistake.measured is (case.gpu is not None)
    if case.after is None:
        assert mistake.match is None
        return
    assert mistake.match is not None, "no rewrite"
    after = apply_edits(region.source, mistake.match.edits).decode("utf-8")
    ast.parse(after)
    assert after == case.after
    assert mistake.match.needs >= rule.needs


@pytest.mark.parametrize(("rule", "case"), cases(Ignores))
def test_ignores(rule: Rule, case: Ignores, tmp_path: Path) -> None:
    found = mistakes_in(rule.function, case)
    assert not found, f"{found[0][1].what}, though {case.because}"


@pytest.mark.parametrize(("rule", "case"), cases(Spots))
def test_a_rewritten_case_is_not_named_again(rule: Rule, case: Spots) -> None:
    if case.after is None:
        pytest.skip("the rule only advises")
    try:
        again = mistakes_in(rule.function, Spots(case.after, case.line, None, case.function))
    except LookupError:
        return  # no loop is left
    assert not [m for _, m in again if m.match is not None]

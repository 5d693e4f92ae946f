"""Every rule on every one of its cases: what it writes is executed against the original."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from harness import assert_same, case_regions, first_match, needed, run, tolerance_for

from gpuadvise.api import Ignores, Rewrites
from gpuadvise.model import Exactness, Match, Refusal, Region
from gpuadvise.patch import apply_edits
from gpuadvise.registry import Rule, rules

pytestmark = pytest.mark.usefixtures("cupy_over_numpy")
SEEDS = (0, 1, 2)


def cases(kind: type) -> list[object]:
    return [
        pytest.param(
            rule, case, id=f"{rule.code}-{kind.__name__.lower()}{number}", marks=needed(case.before)
        )
        for rule in rules()
        for number, case in enumerate(
            c for c in rule.cases if isinstance(c, kind) and not getattr(c, "static", False)
        )
    ]


@pytest.fixture(autouse=True)
def private_numba_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))


@pytest.mark.parametrize(("rule", "case"), cases(Rewrites))
def test_rewrites(rule: Rule, case: Rewrites, tmp_path: Path) -> None:
    path = tmp_path / "case.py"
    path.write_text(case.before, encoding="utf-8")
    found = first_match(rule.function, case_regions(case, path))
    assert len(found) == 2 and isinstance(found[1], Match), f"left alone: {found}"
    region, match = found
    assert isinstance(region, Region)
    after = apply_edits(region.source, match.edits).decode("utf-8")
    for wanted in case.contains:
        assert wanted in after, after
    assert match.why and match.change and match.needs >= rule.needs
    for seed in SEEDS:
        before_run = run(case.before, case.function, inputs=case.inputs, folder=tmp_path, seed=seed)
        after_run = run(after, case.function, inputs=case.inputs, folder=tmp_path, seed=seed)
        exact = match.exactness is Exactness.BITS
        tolerance = 0.0 if exact else tolerance_for(match.reduction_length)
        assert_same(
            before_run,
            after_run,
            tolerance=tolerance,
            new_names=_imported(after),
            scalar_names=case.function is not None,
        )


def _imported(text: str) -> frozenset[str]:
    """Names bound at the top of the new text: kernels and imports of the rewrite."""
    names = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {item.asname or item.name for item in node.names}
    return frozenset(names)


@pytest.mark.parametrize(("rule", "case"), cases(Ignores))
def test_ignores(rule: Rule, case: Ignores, tmp_path: Path) -> None:
    path = tmp_path / "case.py"
    path.write_text(case.before, encoding="utf-8")
    answers = [rule.function(region) for region in case_regions(case, path)]
    assert not [a for a in answers if isinstance(a, Match)], f"rewritten, though {case.because}"
    if case.reason is not None:
        reasons = [a.reason for a in answers if isinstance(a, Refusal)]
        assert any(case.reason in reason for reason in reasons), reasons


@pytest.mark.parametrize(("rule", "case"), cases(Rewrites))
def test_a_rewritten_case_is_not_rewritten_again(
    rule: Rule, case: Rewrites, tmp_path: Path
) -> None:
    """The advice must come to an end: what a rule wrote, it leaves alone the next time."""
    path = tmp_path / "case.py"
    path.write_text(case.before, encoding="utf-8")
    found = first_match(rule.function, case_regions(case, path))
    assert len(found) == 2 and isinstance(found[1], Match) and isinstance(found[0], Region)
    first = apply_edits(found[0].source, found[1].edits).decode("utf-8")
    path.write_text(first, encoding="utf-8")
    again = Rewrites(first, case.inputs, case.function)
    try:
        chain = case_regions(again, path)
    except LookupError:
        return  # no loop is left
    second = first_match(rule.function, chain)
    assert not (len(second) == 2 and isinstance(second[1], Match)), first

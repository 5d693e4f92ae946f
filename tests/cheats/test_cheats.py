"""Candidates that look fast by cheating: none may come out verified."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpuadvise.deadline import Deadline
from gpuadvise.model import Target, Verified
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.verify.script import Goal, ScriptTrials
from gpuadvise.verify.verdicts import verdict_of

HERE = Path(__file__).parent
VICTIM = (HERE / "victim.py").read_text()
HONEST = "honest"
CHEATS = sorted(
    path.stem
    for path in HERE.glob("*.py")
    if path.stem not in (HONEST, "victim", "conftest") and not path.stem.startswith("test_")
)


def with_cheat(name: str) -> str:
    """The victim with its function replaced."""
    start = VICTIM.index("def smooth")
    stop = VICTIM.index("def main")
    text = (HERE / f"{name}.py").read_text()
    body = text.split('"""', 2)[2].strip("\n")
    return f"{VICTIM[:start]}{body}\n\n\n{VICTIM[stop:]}"


def on_state(bench, name: str):
    state = bench.hold(VICTIM, "call", "smooth", name="victim.py")
    result = state.try_candidate({state.hello.file: with_cheat(name).encode()}, repeats=2)
    return verdict_of([result])


def as_script(tmp_path: Path, name: str):
    script = tmp_path / "script" / "victim.py"
    script.parent.mkdir()
    script.write_text(VICTIM)
    target = Target(script, cwd=script.parent, python=sys.executable)
    with Sandbox(target) as box:
        trials = ScriptTrials(box, target, None, 60.0)
        return trials.judge({script: with_cheat(name).encode()}, Goal(), Deadline(60))


def test_there_are_enough_of_them():
    assert len(CHEATS) >= 15


@pytest.mark.parametrize("name", CHEATS)
def test_cheat(bench, tmp_path, name):
    """Caught on a state; or, where one state cannot tell, by the whole script."""
    verdict = on_state(bench, name)
    gain = isinstance(verdict, Verified) and verdict.speedup.low > 1.1
    if gain:
        whole = as_script(tmp_path, name)
        assert not isinstance(whole, Verified), (verdict, whole)


def test_the_honest_rewrite_passes(bench, tmp_path):
    verdict = on_state(bench, HONEST)
    assert isinstance(verdict, Verified) and verdict.speedup.low > 10, verdict
    assert isinstance(as_script(tmp_path, HONEST), Verified)

"""Corrections of what a script measures of itself, and changes that are only timed.

What takes time sleeps, and what is told of it is compared with nothing but the sleep's own length.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from test_compose import World, winners

from gpuadvise.conclusion import conclusion
from gpuadvise.deadline import Deadline
from gpuadvise.model import Corrected, Exited, Mismatch, OnlyTimed, Purpose, Verified
from gpuadvise.report import words

CLOCKED = """\
import time
times = []
total = 0
for i in range(3):
    start = time.perf_counter()
    total += i * i
    times.append(time.perf_counter() - start)
    time.sleep(0.05)
print(f"a step takes {sum(times) / 3 * 1000:.6f} ms")
print("total", total)
for j in range(4):
    time.sleep(0.2)
print("end")
"""
LOOP = CLOCKED[CLOCKED.index("for") : CLOCKED.index("print")]
LAST = CLOCKED[CLOCKED.index("for j") : CLOCKED.index('print("end")')]
WAITS = "total += i * i\n", "total += i * i\n    time.sleep(0.05)\n"


@pytest.fixture
def world(bench, tmp_path):
    found = World(bench, tmp_path)
    found.program(CLOCKED)
    return found


def change(world, name, purpose, *changes):
    """A change inside the first loop that is no gain."""
    made = world.candidate(name, LOOP, LOOP, *changes, share=0.2)
    match = replace(made.match, edits=made.match.edits[1:], purpose=purpose)
    return replace(made, match=match, saves=0.0)


def script_verdicts(chosen):
    trials = [t for f in chosen.findings for t in (f.winner, *f.others) if t is not None]
    return {t.candidate.id: t.script_verdict for t in trials}


def test_a_correction_is_offered_though_nothing_gets_faster(world):
    chosen = world.choose(change(world, "wait", Purpose.CORRECTION, WAITS))
    assert winners(chosen) == ["wait"]
    verdict = chosen.script_verdict
    assert isinstance(verdict, Corrected)
    ((was, now),) = verdict.told
    assert was.startswith("a step takes 0.0") and not now.startswith("a step takes 0.0")
    text = words.verdict(verdict)
    assert "not a gain" in text and was in text and now in text
    assert (b"time.sleep(0.05)\n    times") in next(iter(chosen.patched.values()))
    profile = SimpleNamespace(bare=SimpleNamespace(end=Exited(0)))
    said = conclusion(profile, (), chosen, Deadline(None))
    assert "1 correction" in said and "faster" in said


def test_a_correction_that_changes_a_result_is_rejected(world):
    other = "total += i * i\n", "total += i * i + 1\n"
    chosen = world.choose(change(world, "wrong", Purpose.CORRECTION, other))
    assert winners(chosen) == [] and not chosen.patched
    assert isinstance(script_verdicts(chosen)["wrong"], Mismatch)


def test_a_correction_goes_with_what_gains(world):
    faster = world.candidate("faster", LAST, "pass\n", share=0.6)
    faster = replace(faster, saves=0.8)
    chosen = world.choose(change(world, "wait", Purpose.CORRECTION, WAITS), faster)
    assert winners(chosen) == ["faster", "wait"]
    assert isinstance(chosen.script_verdict, Verified)
    assert isinstance(script_verdicts(chosen)["wait"], Corrected)
    text = next(iter(chosen.patched.values()))
    assert b"time.sleep(0.05)\n    times" in text and b"0.2" not in text


def test_what_changes_results_on_purpose_is_timed_and_never_offered(world):
    larger = (LAST, LAST.replace("0.2", "0.01")), ('"end"', '"another end"')
    made = change(world, "larger", Purpose.FIGURES, *larger)
    chosen = world.choose(made)
    assert winners(chosen) == [] and not chosen.patched and chosen.script_verdict is None
    verdict = script_verdicts(chosen)["larger"]
    assert isinstance(verdict, OnlyTimed)
    assert "never offered" in words.verdict(verdict)
    profile = SimpleNamespace(bare=SimpleNamespace(end=Exited(0)))
    assert "changes results on purpose" in conclusion(profile, ((),), chosen, Deadline(None))

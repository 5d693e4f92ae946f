"""Rewrites that mend several mistakes of one loop: tried together, taken apart where wrong.

The mistakes sleep: what they take does not depend on what else the machine does.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_compose import World, reasons, winners

from gpuadvise.model import Exactness, Mismatch, NotFaster, Unavailable, Verified

LOOP = """\
import time
total = other = third = 0
for i in range(20):
    time.sleep(0.011); total += i
    time.sleep(0.012); other += i
    time.sleep(0.013); third += i
print(total, other, third)
time.sleep(0.05)
"""
WAITS = ("time.sleep(0.011); ", ""), ("time.sleep(0.012); ", ""), ("time.sleep(0.013); ", "")
AFTER = """\
last = 0
for j in range(10):
    time.sleep(0.04)
    last += j
print(last)
"""
WHOLE = LOOP[LOOP.index("for") : LOOP.index("print")]


@pytest.fixture
def world(bench, tmp_path):
    found = World(bench, tmp_path)
    found.program(LOOP)
    return found


def mistake(world, name, saves, *changes):
    """A rewrite inside the loop, whose region is the whole of it."""
    made = world.candidate(name, WHOLE, WHOLE, *changes, share=0.9)
    return replace(made, match=replace(made.match, edits=made.match.edits[1:]), saves=saves)


def test_mistakes_of_one_loop_are_mended_together(world):
    """Each alone saves a quarter; all of them are in the patch, and only whole runs say so."""
    parts = [mistake(world, f"m{k}", 1.0 + k, wait) for k, wait in enumerate(WAITS)]
    chosen = world.choose(*parts, min_speedup=2.0)
    assert winners(chosen) == ["m0", "m1", "m2"], chosen
    assert isinstance(chosen.script_verdict, Verified)
    assert "only whole runs" in chosen.script_verdict.compared
    text = next(iter(chosen.patched.values()))
    assert text.count(b"sleep") == 1
    trials = [f.winner for f in chosen.findings]
    assert all(isinstance(t.region_verdict, Unavailable) for t in trials)


def test_the_wrong_one_is_found_and_left_out(world):
    wrong = ("time.sleep(0.012); other += i", "other += i + 1")
    chosen = world.choose(
        mistake(world, "right", 2.0, WAITS[0]),
        mistake(world, "wrong", 3.0, wrong),
        mistake(world, "also", 1.0, WAITS[2]),
    )
    assert winners(chosen) == ["also", "right"], chosen
    assert "standard output" in reasons(chosen)["wrong"]


def test_what_changes_digits_does_not_cost_what_is_safe(world):
    """Tried behind it: the safe one is in the patch, and one run tells that the other is wrong."""
    risky = mistake(world, "risky", 9.0, ("other += i", "other += i + 1"))
    safe = mistake(world, "safe", 2.0, WAITS[0])
    safe = replace(safe, match=replace(safe.match, ledger=()))
    chosen = world.choose(risky, safe)
    assert winners(chosen) == ["safe"], chosen
    assert "standard output" in reasons(chosen)["risky"]


def test_what_is_safe_goes_with_what_changes_digits(world):
    """The safe one alone is too little for the threshold; with the other it is in the patch."""
    parts = [mistake(world, f"m{k}", 1.0 + k, wait) for k, wait in enumerate(WAITS)]
    parts[0] = replace(parts[0], match=replace(parts[0].match, ledger=()))
    chosen = world.choose(*parts, min_speedup=2.0)
    assert winners(chosen) == ["m0", "m1", "m2"], chosen


def test_nothing_is_left_where_each_is_wrong(world):
    chosen = world.choose(
        mistake(world, "one", 3.0, ("other += i", "other += i + 1")),
        mistake(world, "two", 2.0, ("third += i", "third += i + 1")),
    )
    assert winners(chosen) == [] and not chosen.patched
    assert set(reasons(chosen)) == {"one", "two"}


def test_what_one_with_other_digits_would_gain_is_its_own(world):
    """Of several wrong ones each is told what was found without the others."""
    world.program(LOOP.replace("print(total", "print(total / 7"))
    digits = ("time.sleep(0.011); total += i", "total += i * 1.00001")
    wrong = ("other += i", "other += i + 1")
    loose = mistake(world, "digits", 3.0, digits)
    loose = replace(loose, match=replace(loose.match, exactness=Exactness.LAST_DIGIT))
    chosen = world.choose(loose, mistake(world, "wrong", 2.0, wrong))
    told = {t.candidate.id: t.script_verdict for f in chosen.findings for t in f.others}
    assert isinstance(told["digits"], Mismatch) and told["digits"].speedup is not None, told
    assert isinstance(told["wrong"], Mismatch) and told["wrong"].speedup is None, told


def test_a_wrong_one_alone_is_no_advice(world):
    chosen = world.choose(mistake(world, "wrong", 3.0, ("other += i", "other += i + 1")))
    (finding,) = chosen.findings
    assert finding.winner is None and not chosen.patched
    assert isinstance(finding.others[0].script_verdict, Mismatch)


def test_the_costlier_of_two_that_want_the_same_text(world):
    chosen = world.choose(
        mistake(world, "cheap", 1.0, WAITS[0]),
        mistake(world, "dear", 2.0, ("time.sleep(0.011); total", "total")),
    )
    assert winners(chosen) == ["dear"], chosen
    assert "change the same code" in reasons(chosen)["cheap"]


def test_one_that_costs_what_the_others_gain(world):
    slow = ("print(total", "time.sleep(1.2); print(total")
    chosen = world.choose(
        mistake(world, "gain", 3.0, *WAITS),
        mistake(world, "slow", 1.0, slow),
    )
    assert winners(chosen) == ["gain"], chosen
    others = {t.candidate.id: t for f in chosen.findings for t in f.others}
    assert isinstance(others["slow"].script_verdict, NotFaster)


def test_a_half_that_gains_though_all_together_do_not(world):
    """The costliest of them gains nothing, and the slow one is in the other half."""
    slow = ("print(total", "time.sleep(1.2); print(total")
    chosen = world.choose(
        mistake(world, "nothing", 4.0, ("import time", "import time  # the clock")),
        mistake(world, "gain", 3.0, *WAITS),
        mistake(world, "slow", 1.0, slow),
    )
    assert "gain" in winners(chosen) and "slow" not in winners(chosen), chosen


def test_mended_on_top_of_what_won_the_race(world):
    """A rewrite of another loop stands; mistakes come on top of it."""
    world.program(LOOP + AFTER)
    rest = AFTER[AFTER.index("for") : AFTER.index("print")]
    chosen = world.choose(
        mistake(world, "mended", 2.0, *WAITS),
        world.candidate("loop", rest, "last = 45\n", share=0.3),
    )
    assert winners(chosen) == ["loop", "mended"], chosen
    assert next(iter(chosen.patched.values())).count(b"sleep") == 1

"""The line that says why there is nothing to gain."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample import EXACT, full_report, ratio

from gpuadvise.conclusion import conclusion
from gpuadvise.deadline import Deadline
from gpuadvise.model import Inconclusive, NotFaster, Unavailable, Verdict
from gpuadvise.verify.choose import Chosen

SLOWER = NotFaster(ratio(0.8), 1.1)
NO_STATE = Unavailable("no state of the program could be held here")


@pytest.mark.parametrize(
    ("region", "script", "words"),
    [
        (EXACT, None, "do not make the whole script faster"),
        (EXACT, SLOWER, "do not make the whole script faster"),
        (SLOWER, None, "do not make the whole script faster"),
        (EXACT, Inconclusive("noise"), "could not be told"),
        (NO_STATE, None, "could be verified"),
        (Inconclusive("not tried: too short"), None, "the only rewrite was not tried: too short"),
    ],
)
def test_the_reason_is_the_one_that_held(
    region: Verdict, script: Verdict | None, words: str
) -> None:
    """A rewrite proved equal and 30 times faster in place is not one that cannot be verified."""
    report = full_report()
    finding = report.findings[0]
    assert finding.winner is not None and report.profile is not None
    trial = replace(finding.winner, region_verdict=region, script_verdict=script)
    chosen = Chosen(findings=(replace(finding, winner=None, others=(trial,)),))
    said = conclusion(report.profile, ((finding.region,),), chosen, Deadline(None))
    assert said.startswith("nothing to gain: ") and words in said


def test_out_of_time_is_not_nothing_to_gain() -> None:
    report = full_report()
    finding = report.findings[0]
    assert finding.winner is not None and report.profile is not None
    late = replace(finding.winner, region_verdict=Inconclusive("late"), script_verdict=None)
    findings = (replace(finding, winner=None, others=(late,)),)
    chosen = Chosen(findings=findings, partial=True)
    said = conclusion(report.profile, ((finding.region,),), chosen, Deadline(20.0))
    assert said == "nothing found within the time budget; a larger --budget may find more"
    none = conclusion(
        report.profile, ((finding.region,),), replace(chosen, partial=False), Deadline(20)
    )
    assert none.startswith("nothing to gain")

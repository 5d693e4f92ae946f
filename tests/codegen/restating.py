"""What the tests of restated loops share: the restated text runs as the original does."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import assert_same, chain_for, first_match, run

from gpuadvise.codegen.restated.restate import emit_restated
from gpuadvise.model import Basis, Match, Refusal
from gpuadvise.patch import apply_edits
from gpuadvise.verify.claims import broken_step

SETTING = "import random\nrandom.seed(2)\n"


@dataclass(frozen=True)
class Case:
    """A function, the arguments it is observed on, and others it must do as well with."""

    name: str
    text: str
    seen: str
    others: Sequence[str] = ()
    contains: Sequence[str] = ()
    """What the new text must hold."""
    sums_floats: bool = False
    """With ``sum()``, which is compensated from Python 3.12 on, and then left alone."""

    def __str__(self) -> str:
        return self.name


def answer(case: Case, folder: Path) -> tuple[str, Match] | Refusal:
    """The new text with its match; the first refusal where there is none."""
    random.seed(1)
    path = folder / "case.py"
    path.write_text(case.text, encoding="utf-8")
    chain = chain_for(case.text, case.name, path=path, inputs=f"{SETTING}args = {case.seen}")
    found = first_match(emit_restated, chain)
    if len(found) == 2 and isinstance(found[1], Match):
        region, match = found
        data = apply_edits(region.source, match.edits)
        assert broken_step(region.source, data, match) is None
        return data.decode("utf-8"), match
    refusals = [one for one in found if isinstance(one, Refusal)]
    return refusals[0] if refusals else Refusal("nothing to restate")


def check(case: Case, folder: Path) -> str:
    """The new text of a case, run on everything that the case names."""
    found = answer(case, folder)
    compensated = case.sums_floats and sys.version_info >= (3, 12)
    if compensated and isinstance(found, Refusal):
        assert "compensates" in found.reason, found
        return case.text
    assert not isinstance(found, Refusal), found
    after, match = found
    assert match.safe and match.restated is not None
    assert all(c.basis is not Basis.ASSUMED for c in match.ledger)
    for wanted in () if compensated else case.contains:
        assert wanted in after, after
    for arguments in (case.seen, *case.others):
        inputs = f"{SETTING}args = {arguments}"
        one = run(case.text, case.name, inputs=inputs, folder=folder)
        two = run(after, case.name, inputs=inputs, folder=folder)
        assert_same(one, two)
    return after

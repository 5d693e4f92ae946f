"""What tests of the rules on pandas share: frames of four kinds, and both sides run on many others.

RULE = rule_of("pd601_iterrows_to_columns")
after = rewritten(RULE, text, REALS)
assert_same_on_frames(text, after, REALS)
"""

from __future__ import annotations

import importlib
from itertools import islice
from typing import Any

import numpy as np
import pytest
from harness import assert_same, case_regions, first_match, run
from other_frames import others_of_frame

from gpuadvise.api import Match, Refusal, Region, Rewrites
from gpuadvise.patch import apply_edits
from gpuadvise.registry import Rule, read_rule

NUMBERS = 'pd.DataFrame({"a": rng.integers(-5, 5, 12), "b": rng.random(12)})'
TEXTS = 'pd.DataFrame({"a": rng.integers(-5, 5, 12), "b": rng.random(12), "t": list("xyzx") * 3})'
REALS = 'pd.DataFrame({"a": rng.random(12), "b": rng.random(12)})'
NAMES = 'pd.DataFrame({"a": rng.random(12), "b": rng.random(12), "t": list("xyzx") * 3})'
FRAMES = (NUMBERS, TEXTS, REALS, NAMES)
"""Each program runs on all four, and on other frames: each fourth of them with one."""


def rule_of(module: str) -> Rule:
    """The rule of a file."""
    return read_rule(importlib.import_module(f"gpuadvise.rules.{module}"))


def made(frame: str) -> Any:
    """A frame as its text describes it."""
    import pandas as pd

    return eval(frame, {"pd": pd, "rng": np.random.default_rng(5)})


def answered(rule: Rule, text: str, frame: str) -> tuple[Region, Match] | tuple[Refusal, ...]:
    """What the rule says of the function ``work``, observed on a frame."""
    case = Rewrites(text, f"import pandas as pd\nargs = ({frame},)", "work")
    return first_match(rule.function, case_regions(case))


def reason_against(rule: Rule, text: str, frame: str) -> str:
    """Why the rule leaves it alone; fails if it does not, or does not say so."""
    found = answered(rule, text, frame)
    reasons = [one.reason for one in found if isinstance(one, Refusal)]
    assert reasons, found
    return reasons[0]


def rewritten(rule: Rule, text: str, frame: str) -> str:
    """The program after the rule; fails if the rule does not match."""
    found = answered(rule, text, frame)
    assert len(found) == 2 and isinstance(found[1], Match), found
    region, match = found
    assert isinstance(region, Region) and match.safe
    return apply_edits(region.source, match.edits).decode()


def assert_same_on_frames(text: str, after: str, frame: str) -> None:
    """Both give and raise the same on the frame, and on others like it."""
    offset = FRAMES.index(frame)
    others = islice(others_of_frame(made(frame)), offset, None, len(FRAMES))
    for label, other in [("as it was", made(frame)), *others]:
        try:
            assert_same_on(text, after, other)
        except AssertionError as difference:
            pytest.fail(f"{label}: {difference}\n{after}")


def assert_same_on(text: str, after: str, frame: Any) -> None:
    """Both give and raise the same on one frame."""
    old, new = (run(version, "work", (frame,)) for version in (text, after))
    assert old.error == new.error
    if old.error is None:  # how far it came before an error is not compared
        assert_same(old, new)

"""The screen of new text: what no rewrite of a loop needs."""

from __future__ import annotations

import sys

import pytest

from gpuadvise.api import Rewrites
from gpuadvise.cases import case_regions, first_match, region_for
from gpuadvise.codegen.restated.as_arrays import emit_restated_arrays
from gpuadvise.model import Match
from gpuadvise.patch import combine
from gpuadvise.registry import rules
from gpuadvise.verify.reach import objection

OLD = b"import numpy as np\n\n\ndef f(x):\n    for i in range(len(x)):\n        x[i] += 1\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import os", "os"),
        ("from sys import modules", "sys"),
        ("seen = __import__('os').environ", "__import__"),
        ("exec('x = 1')", "exec"),
        ("print(1)", "print"),
        ("np.seterr(all='ignore')", "seterr"),
        ("np.random.seed(3)", "random"),
        ("np.sum = len", "np.sum"),
        ("del np.sum", "np.sum"),
        ("np.lib.format", "lib"),
        ("open('x')", "open"),
    ],
)
def test_reaching_out(line: str, said: str) -> None:
    words = objection(OLD, OLD + line.encode() + b"\n")
    assert words is not None and said in words


@pytest.mark.parametrize(
    "line",
    [
        "import numba",
        "import math",
        "y = np.zeros(3)",
        "np.zeros(3)[0] = 1",
        "y = np.add.accumulate",
    ],
)
def test_plain_rewrites(line: str) -> None:
    assert objection(OLD, OLD + line.encode() + b"\n") is None


def test_what_the_original_does_is_its_own_business() -> None:
    old = OLD + b"import os\nprint(os.environ, np.random.random())\n"
    assert (
        objection(old, old.replace(b"x[i] += 1", b"print(np.random.random(), os.environ)")) is None
    )


def test_needs_of_a_rule() -> None:
    new = OLD + b"import cupy\n"
    assert objection(OLD, new) is not None
    assert objection(OLD, new, needs=["cupy"]) is None


def test_no_rule_writes_what_is_refused() -> None:
    tried = 0
    for rule in rules():
        for case in rule.cases:
            if not isinstance(case, Rewrites):
                continue
            found = first_match(rule.function, case_regions(case))
            if len(found) == 2 and isinstance(found[1], Match):
                region, match = found
                text = combine(region.source, [match.edits])
                assert objection(region.source.data, text, match.needs) is None, rule.code
                tried += 1
    assert tried > 20


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("import sys\nolder = sys.version_info < (3, 12)", True),
        ("import sys as system\nolder = system.version_info < (3, 12)", True),
        ("import sys\nseen = sys.version_info, sys.modules", False),
        ("import sys\nseen = getattr(sys, 'modules')", False),
        ("import sys\nsys.version_info = 3", False),
        ("from sys import modules\nseen = modules", False),
    ],
)
def test_a_rewrite_may_ask_for_pythons_version_and_no_more(line: str, allowed: bool) -> None:
    assert (objection(OLD, OLD + line.encode() + b"\n") is None) == allowed


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sum() of floats is compensated there")
def test_a_sum_of_floats_is_rewritten_where_the_script_imports_nothing() -> None:
    text = """\
def averages(rain, width):
    found = []
    for day in range(width, len(rain) + 1):
        window = rain[day - width : day]
        found.append(sum(window) / width)
    return found
"""
    region = region_for(text, "averages", ([0.5 * k for k in range(300)], 7))
    match = emit_restated_arrays(region)
    assert isinstance(match, Match), match
    after = combine(region.source, [match.edits])
    assert b"import sys" in after
    assert objection(region.source.data, after, match.needs) is None

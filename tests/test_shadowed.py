"""Programs whose variables are called as builtins are, before and after their rewrites."""

from __future__ import annotations

from textwrap import dedent

import pytest
from harness import assert_same, run

from gpuadvise.cases import region_for
from gpuadvise.matching import match_rules
from gpuadvise.options import Options
from gpuadvise.patch import apply_edits
from gpuadvise.shadowed import unshadowed

EXTREMES = """
    def extremes(xs):
        max = xs[0]
        for i in range(1, len(xs)):
            if xs[i] > max:
                max = xs[i]
        return max
"""
POSITIVE = """
    def positive(type, n):
        any = 0
        for i in range(n):
            for j in range(n):
                if type[i][j] > 0:
                    any += type[i][j]
        return any
"""
OF_THE_FILE = """
    map = {"a": 1}
    list = [1, 2]

    def scaled(xs, k):
        out = [0.0] * len(xs)
        for i in range(len(xs)):
            out[i] = xs[i] * k
        return out
"""
ROWS = [[k * 3 % 7 for k in range(9)] for _ in range(9)]
HALVES = [0.5 * k for k in range(50)]
NUMPY = Options(allow=frozenset({"numpy"}))


@pytest.mark.parametrize(
    ("text", "function", "args", "other"),
    [
        (EXTREMES, "extremes", ([k * 5 % 7 for k in range(50)],), ([2.5],)),
        (POSITIVE, "positive", (ROWS, 9), ([[1.5]], 1)),
        (OF_THE_FILE, "scaled", (HALVES, 1.5), ([1, 2], 3)),
    ],
)
def test_rewrites_reach_the_builtins_they_mean(
    text: str, function: str, args: tuple[object, ...], other: tuple[object, ...]
) -> None:
    text = dedent(text)
    region = region_for(text, function, args)
    found = [c for c in match_rules([(region,)], NUMPY).candidates if c.rule == "NP201"]
    assert found
    after = apply_edits(region.source, found[0].match.edits).decode()
    assert "builtins." in after
    for given in (args, other):
        assert_same(
            run(text, function, given),
            run(after, function, given),
            new_names=frozenset({"np", "builtins"}),
        )


def test_nothing_is_said_where_nothing_is_hidden() -> None:
    text = dedent(EXTREMES).replace("max", "top")
    region = region_for(text, "extremes", ([k * 5 % 7 for k in range(50)],))
    for candidate in match_rules([(region,)], NUMPY).candidates:
        assert unshadowed(region, candidate.match) == candidate.match
        assert "builtins" not in apply_edits(region.source, candidate.match.edits).decode()


def test_functions_of_the_program_stay_what_is_called() -> None:
    """``len`` is the program's own here, and called: it is not ours to replace."""
    text = dedent(
        """
        def total(xs, len):
            s = 0.0
            for i in range(len(xs)):
                s += xs[i]
            return s
        """
    )
    region = region_for(text, "total", (HALVES, lambda xs: 3))
    for candidate in match_rules([(region,)], NUMPY).candidates:
        assert b"builtins.len" not in apply_edits(region.source, candidate.match.edits)

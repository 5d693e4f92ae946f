"""Loops too short for a compiled call are left alone at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from harness import region_for

from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.model import Refusal

TEXT = """
def f(a, n):
    s = 0.0
    for i in range(n):
        for j in range(3):
            s += a[i] * j
            if s > 9.0:
                s = 1.0
    return s
""".lstrip("\n")


@pytest.mark.parametrize(
    ("entries", "n", "short"), [(5000, 3, True), (10, 3, False), (5000, 9, False)]
)
def test_entered_often_for_a_few_statements(entries: int, n: int, short: bool) -> None:
    """Three times three rounds of an addition and a test, with one more statement."""
    region = region_for(TEXT, "f", (np.ones(9), n))
    assert region.observation is not None
    region = replace(region, observation=replace(region.observation, entries=entries))
    found = emit(region, parallel=False)
    assert isinstance(found, Refusal) is short
    if isinstance(found, Refusal):
        assert "27 statements" in found.reason and found.line == 3

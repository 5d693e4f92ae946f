"""Several rules look at one loop: what was found out is kept, and each may change a copy."""

from __future__ import annotations

import numpy as np
import pytest
from harness import region_for

from gpuadvise.codegen.nb_analyse import analyse_region
from gpuadvise.codegen.nb_state import State
from gpuadvise.codegen.nb_values import Unsupported
from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.loopnest.dependence import analyse
from gpuadvise.model import Match, Region

SCALE = """\
def k(x, out):
    for i in range(len(x)):
        out[i] = x[i] / 3.0 + x[i] ** 2
"""
ARGS = (np.arange(40.0), np.zeros(40))


@pytest.fixture
def region() -> Region:
    return region_for(SCALE, "k", ARGS)


def test_a_nest_is_analysed_once(region: Region) -> None:
    nest, other = region.nest, region_for(SCALE, "k", ARGS).nest
    assert analyse(nest) is analyse(nest)
    assert analyse(other) is not analyse(nest)


def test_a_region_is_analysed_once(region: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    first = analyse_region(region)

    def never(*_: object) -> State:
        raise AssertionError("analysed again")

    monkeypatch.setattr("gpuadvise.codegen.nb_analyse._attempt", never)
    again = analyse_region(region)
    assert (again.live_out, again.env, again.entry) == (first.live_out, first.env, first.entry)
    with pytest.raises(AssertionError, match="analysed again"):
        analyse_region(region_for(SCALE, "k", ARGS))


def test_everyone_gets_containers_of_his_own(region: Region) -> None:
    one, two = analyse_region(region), analyse_region(region)
    mine, other = vars(one.state), vars(two.state)
    for name, value in mine.items():
        if isinstance(value, dict | set | list):
            assert value is not other[name], name
            assert value == other[name]
    assert one.state.division.numpy is not two.state.division.numpy
    one.state.edits.clear()
    one.env.clear()
    match = emit(region, parallel=False)
    fresh = emit(region_for(SCALE, "k", ARGS), parallel=False)
    assert isinstance(match, Match) and isinstance(fresh, Match)
    assert match.edits == fresh.edits


def test_a_reason_is_kept_too(region: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def never(*_: object) -> State:
        asked.append(1)
        raise Unsupported("for no reason", 2)

    monkeypatch.setattr("gpuadvise.codegen.nb_analyse._attempt", never)
    reasons = set()
    for _ in range(3):
        with pytest.raises(Unsupported) as caught:
            analyse_region(region)
        reasons.add((caught.value.reason, len(asked)))
    assert len(reasons) == 1

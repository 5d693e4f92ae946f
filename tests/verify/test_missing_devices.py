"""Rewrites for a GPU on a machine that has none: not tried, and said so."""

from __future__ import annotations

import numpy as np
import pytest
from harness import region_for

from gpuadvise.codegen.cuda_backend import nest_on_gpu
from gpuadvise.model import Candidate, Match
from gpuadvise.verify import devices

LOOP = """
def relax(a, b):
    for i in range(1, len(a)):
        b[i] = a[i] * a[i - 1]
"""


@pytest.mark.parametrize("found", [(), ("NVIDIA H200",)])
def test_missing(found: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "gpus", lambda: found)
    devices._has_gpu.cache_clear()
    region = region_for(LOOP, "relax", (np.ones(9), np.ones(9)))
    match = nest_on_gpu(region)
    assert isinstance(match, Match)
    why = devices.missing(Candidate("c1", "NC410", region, match))
    devices._has_gpu.cache_clear()
    assert (why is None) is bool(found)
    assert found or why == "this machine has no CUDA device"

"""Arrays that must not be written: the loop raises at the store, not the compiler before it."""

from __future__ import annotations

import numpy as np
from harness import assert_same, region_for, run

from gpuadvise.patch import apply_edits
from gpuadvise.rules.nb401_loops_to_njit import loops_to_njit

CLIP = """
import numpy as np

def clip(samples, limit):
    for i in range(len(samples)):
        if samples[i] > limit:
            samples[i] = limit
    return samples
"""
FROZEN = "args = (np.linspace(0.0, 1.0, 9), {limit})\nargs[0].flags.writeable = False"


def test_a_store_into_a_read_only_array_raises_as_before() -> None:
    region = region_for(CLIP, "clip", (np.linspace(0.0, 1.0, 50), 0.5))
    match = loops_to_njit(region)
    assert hasattr(match, "edits"), match
    after = apply_edits(region.source, match.edits).decode()
    for limit in (0.5, 2.0):  # with a store, and without any
        inputs = FROZEN.format(limit=limit)
        before = run(CLIP, "clip", inputs=inputs)
        assert (before.error is None) == (limit > 1.0)
        assert_same(before, run(after, "clip", inputs=inputs))

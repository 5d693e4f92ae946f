"""Constants of modules and of the file: known to the compiled form, no arguments of it."""

from __future__ import annotations

import numpy as np
from harness import assert_same, region_for, run

from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

TEXT = """
import numpy as np
LOW, HIGH = -2.5, 2.5
ROWS, COLUMNS = 50, 64


def k(eta, phi, energy):
    grid = np.zeros((ROWS, COLUMNS))
    lost = 0
    for n in range(len(eta)):
        if eta[n] < LOW or eta[n] >= HIGH:
            lost += 1
            continue
        i = int((eta[n] - LOW) / (HIGH - LOW) * ROWS)
        j = int((phi[n] + np.pi) / (2 * np.pi) * COLUMNS)
        grid[i, j % COLUMNS] += energy[n]
    return grid, lost
"""


def hits(count):
    rng = np.random.default_rng(count)
    return rng.normal(0.0, 1.2, count), rng.uniform(-np.pi, np.pi, count), rng.random(count)


def test_a_number_with_known_constants_becomes_an_index():
    """``int(x)`` is compiled where the range of x is known: unpacked constants and pi must be."""
    region = region_for(TEXT, "k", hits(300))
    match = emit(region, parallel=False)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert "_k_kernel(eta, lost, phi, grid, energy)" in after
    nothing, some = hits(0), hits(40)
    far = some[0], some[1] * 1e300, some[2]
    unknown = np.full(40, np.nan), some[1], some[2]
    for data in (hits(257), nothing, far, unknown):
        old, new = (run(t, "k", tuple(a.copy() for a in data)) for t in (TEXT, after))
        assert_same(old, new, compare_warnings=False)

"""Values that a condition on the index chooses: ``a[i + 1] if i < n - 1 else 0.0``."""

from __future__ import annotations

import numpy as np
import pytest
from harness import assert_same, region_for, run
from numpy_cases import Cases, check

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

rng = np.random.default_rng(23)
cases = Cases()
case = cases.add


def rows(n, m):
    return rng.standard_normal((n, m)).tolist()


case(
    "reflecting rows",
    """
def k(prev, cur, rate):
    nx = len(cur)
    ny = len(cur[0])
    nxt = [[0.0] * ny for _ in range(nx)]
    for x in range(nx):
        for y in range(ny):
            left = cur[x - 1][y] if x > 0 else cur[x][y]
            right = cur[x + 1][y] if x < nx - 1 else cur[x][y]
            down = cur[x][y - 1] if y > 0 else cur[x][y]
            up = cur[x][y + 1] if y < ny - 1 else cur[x][y]
            nxt[x][y] = 2 * cur[x][y] - prev[x][y] + rate * (left + right + down + up)
    return nxt
""",
    (rows(20, 30), rows(20, 30), 0.25),
    [(rows(*s), rows(*s), 0.5) for s in ((1, 1), (1, 5), (5, 1), (2, 2))],
)
case(
    "zero outside, inside a longer expression",
    """
import numpy as np
def k(t, new):
    h, w = t.shape
    for r in range(h):
        for c in range(w):
            new[r, c] = (
                (t[r - 1, c] if r > 0 else 0.0)
                + (t[r + 1, c] if r + 1 < h else 0.0)
                + (t[r, c - 1] if c >= 1 else 0.0)
                + (t[r, c + 1] if c != w - 1 else 0.0)
            ) / 4
""",
    (rng.random((20, 30)), np.zeros((20, 30))),
    [(rng.random(s), np.zeros(s)) for s in ((1, 1), (1, 4), (4, 1), (0, 3), (3, 0))],
)
case(
    "both ends of a line, each its own way",
    """
import numpy as np
def k(u, dt):
    n = u.shape[0]
    new = np.empty(n)
    for i in range(n):
        before = u[i - 1] if i > 0 else (u[1] if n > 1 else u[0])
        after = u[n - 2] if i == n - 1 else u[i + 1]
        new[i] = u[i] + dt * (before - 2.0 * u[i] + after)
    return new
""",
    (rng.random(400), 0.1),
    [(rng.random(n), 0.1) for n in (1, 2, 3)],
)
case(
    "one store or the other",
    """
import numpy as np
def k(wind, field):
    n, m = field.shape
    flux = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            flux[i, j] = wind * (field[i, j] - field[i, j - 1]) if j > 0 else wind * field[i, 0]
    return flux
""",
    (0.3, rng.random((20, 30))),
    [(0.3, rng.random(s)) for s in ((1, 1), (4, 1), (1, 4))],
)

case(
    "cells of a kind without neighbours",
    """
def k(g, p):
    n = len(g)
    count = 0
    for i in range(n):
        for j in range(n):
            if g[i][j] < p:
                near = 0
                if i > 0 and g[i - 1][j] < p:
                    near += 1
                if i < n - 1 and g[i + 1][j] < p:
                    near += 1
                if j > 0 and g[i][j - 1] < p:
                    near += 1
                if j < n - 1 and g[i][j + 1] < p:
                    near += 1
                if near == 0:
                    count += 1
    return count
""",
    (rows(20, 20), 0.2),
    [(rows(n, n), 0.2) for n in (1, 2, 3)] + [(rows(3, 5), 0.2), (rows(5, 3), 0.2)],
)
case(
    "length of a coast",
    """
def k(land):
    total = 0
    for r in range(len(land)):
        for c in range(len(land[0])):
            if land[r][c] == 1:
                if r == 0 or land[r - 1][c] == 0:
                    total += 1
                if r == len(land) - 1 or land[r + 1][c] == 0:
                    total += 1
                if c == 0 or land[r][c - 1] == 0:
                    total += 1
                if c == len(land[0]) - 1 or land[r][c + 1] == 0:
                    total += 1
    return total
""",
    (rng.integers(0, 2, (20, 30)).tolist(),),
    [(rng.integers(0, 2, s).tolist(),) for s in ((1, 1), (1, 4), (4, 1), (2, 2))],
)
case(
    "spreading to neighbours",
    """
import numpy as np
def k(img):
    h, w = img.shape
    out = np.zeros((h, w), dtype=int)
    for y in range(h):
        for x in range(w):
            if img[y, x] > 0.5:
                out[y, x] = 2
            elif (y > 0 and img[y - 1, x] > 0.5) or (y < h - 1 and img[y + 1, x] > 0.5):
                out[y, x] = 1
            elif (x > 0 and img[y, x - 1] > 0.5) or (x < w - 1 and img[y, x + 1] > 0.5):
                out[y, x] = 1
    return out
""",
    (rng.random((20, 30)),),
    [(rng.random(s),) for s in ((1, 1), (1, 4), (4, 1), (2, 2), (0, 3))],
)
case(
    "peaks, a border counting as lower",
    """
import numpy as np
def k(a, t):
    n, m = a.shape
    peaks = np.zeros((n, m), dtype=int)
    for i in range(n):
        for j in range(m):
            above = a[i, j]
            if above > t and (i == 0 or a[i - 1, j] < above) and (
                j == m - 1 or a[i, j + 1] < above
            ):
                peaks[i, j] = 1
    return peaks
""",
    (rng.random((20, 30)), 0.5),
    [(rng.random(s), 0.2) for s in ((1, 1), (1, 4), (4, 1), (0, 3))],
)


@pytest.mark.parametrize("name", cases)
def test_borders_stay_the_same(name):
    after = check(cases[name]).partition("else:")[0]
    assert "np.where" not in after or name == "spreading to neighbours"


def test_a_condition_on_data_is_no_border():
    """Both sides are computed, as before: their elements exist."""
    others = Cases()
    others.add(
        "data",
        """
import numpy as np
def k(a, b):
    out = np.zeros(len(a))
    for i in range(1, len(a)):
        out[i] = a[i - 1] if a[i] > 0.0 else b[i]
    return out
""",
        (rng.standard_normal(400), rng.standard_normal(400)),
        [(np.array([0.0, np.nan, -0.0]), np.ones(3)), (np.ones(1), np.ones(1))],
    )
    assert "np.where" in check(others["data"])


def test_a_number_kept_from_cell_to_cell_stays_under_its_condition():
    """``last`` is set where the data say so, and read later."""
    others = Cases()
    others.add(
        "kept",
        """
import numpy as np
def k(a, t):
    last = 0.0
    out = np.zeros(len(a))
    for i in range(len(a)):
        if a[i] > t:
            if i > 0 and a[i - 1] > t:
                last = a[i - 1]
            out[i] = last
    return out
""",
        (rng.random(400), 0.5),
        [(rng.random(9), 0.3), (np.ones(3), 0.5), (np.zeros(0), 0.5)],
    )
    case = others["kept"]
    region = region_for(case.text, "k", case.observed)
    match = emit(region)
    if isinstance(match, Match):
        after = apply_edits(region.source, match.edits).decode()
        for args in (case.observed, *case.others):
            assert_same(run(case.text, "k", args), run(after, "k", args))

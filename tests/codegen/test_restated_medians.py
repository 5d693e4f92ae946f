"""Medians and other places of sorted windows as array statements."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import assert_same, run
from test_restated_arrays import XS, Case, answer

from gpuadvise.model import Exactness, Match, Refusal

HEAD = "import statistics\n\nimport numpy as np\n\n\n"
IMAGE = "np.random.default_rng(3).integers(0, 255, (9, 11)).astype(np.uint8)"
ROWS = "[[(7 * r + 3 * c * c) % 19 - 4 for c in range(9)] for r in range(8)]"
FLOATS = "[[(7 * r + 3 * c * c) % 19 / 8 for c in range(9)] for r in range(8)]"
GRIDS = (
    "([],)",
    "([[]],)",
    "([[1]],)",
    "([[1, 2], [3, 4], [5, 6]],)",
    "([[1, 2, 3], [3, 4], [5, 6, 7]],)",
    "([[1, 2, 3], [3.5, 4, 1], [5, 6, 7]],)",
    "([[1.0, float('nan'), 2.0]] * 4,)",
    "([[0.0, -0.0, 0.0, -0.0]] * 4,)",
    "([[-0.0, 1.0, 0.0, -0.0], [2.0, 0.0, -0.0, -1.0], [0.0, -0.0, 1.0, 1.0]],)",
    "([[10**30, 1, 2], [3, 4, 5], [6, 7, 8]],)",
    "([(1, 2, 3), (9, 8, 7), (4, 5, 6)],)",
    "([[True, False, True]] * 3,)",
)
ARRAYS = (
    "(np.zeros((0, 0), np.uint8),)",
    "(np.zeros((2, 5), np.uint8),)",
    "(np.random.default_rng(3).random((6, 7)),)",
    "(np.random.default_rng(3).random((6, 7)).astype(np.float32),)",
    "(np.random.default_rng(4).integers(-9, 9, (6, 7)),)",
    f"({IMAGE}.T,)",
    f"({IMAGE}[::-1, ::2],)",
    "(np.full((4, 4), np.nan),)",
    "(np.where(np.random.default_rng(4).random((9, 9)) < 0.5, 0.0, -0.0),)",
    "(np.arange(16.0),)",
)
CASES = {
    "smoothed": Case(
        """\
def smoothed(xs, half):
    found = []
    for i in range(half, len(xs) - half):
        found.append(sorted(xs[i - half : i + half + 1])[half])
    return found
""",
        more=", 2",
        others=tuple(f"({XS}, {n})" for n in (0, 1, 3, 500, -2, 2.0, "np.array([1, 2])")),
        contains=("_in_order(", "half == 2", "0.0 and -0.0 stay in the order"),
    ),
    "second_least": Case(
        """\
def second_least(xs):
    out = xs[:]
    for k in range(2, len(xs) - 2):
        near = xs[k - 2 : k + 3]
        near.sort()
        out[k] = near[1] - near[-2]  # of five
    return out
""",
        contains=("near_1 = _in_order(", "near_3 = _in_order("),
    ),
    "of_three": Case(
        HEAD
        + """\
def of_three(xs):
    out = list(xs)
    for i in range(1, len(xs) - 1):
        out[i] = statistics.median([xs[i - 1], xs[i], xs[i + 1]])
    return out
""",
        contains=("_in_order(1, xs_array[:-2], xs_array[1:-1], xs_array[2:])",),
    ),
    "despeckled": Case(
        HEAD
        + """\
def despeckled(image):
    h, w = image.shape
    out = image.copy()
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            window = []
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    window.append(image[y + dy, x + dx])
            window.sort()  # nine of them
            out[y, x] = window[4]
    return out
""",
        seen=f"({IMAGE}",
        others=ARRAYS,
        contains=("window_4 = _in_order(", "image[2:, 2:]"),
    ),
    "medians": Case(
        HEAD
        + """\
def medians(image):
    h, w = image.shape
    out = np.zeros((h, w))
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            out[y, x] = np.median(image[y - 1 : y + 2, x - 1 : x + 1])
    return out
""",
        seen=f"({IMAGE}",
        others=ARRAYS,
        contains=("_in_order(2,", "_in_order(3,"),
    ),
    "around": Case(
        """\
def around(grid):
    h, w = len(grid), len(grid[0])
    out = [[0] * w for _ in range(h)]
    for r in range(1, h - 1):
        for c in range(1, w - 1):
            near = sorted([grid[r + a][c + b] for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b])
            out[r][c] = (near[3] + near[4]) // 2
    return out
""",
        seen=f"({ROWS}",
        others=GRIDS,
        contains=("near_3 = _in_order(",),
    ),
    "clamped": Case(
        """\
def clamped(grid):
    h, w = len(grid), len(grid[0])
    out = [[0.0] * w for _ in range(h)]
    for y in range(h):
        for x in range(w):
            values = []
            for dy, dx in ((0, -1), (0, 0), (0, 1), (1, 0), (-1, 0)):
                yy = min(max(y + dy, 0), h - 1)
                xx = min(max(x + dx, 0), w - 1)
                values.append(grid[yy][xx])
            out[y][x] = sorted(values)[2]
    return out
""",
        seen=f"({FLOATS}",
        others=GRIDS,
        contains=("_in_order(",),
    ),
    "framed": Case(
        """\
def framed(grid, size=3):
    h, w = len(grid), len(grid[0])
    k = size // 2
    out = [[0] * w for _ in range(h)]
    for y in range(h):
        for x in range(w):
            if y < k or x < k or y >= h - k or x >= w - k:
                out[y][x] = grid[y][x]
                continue
            near = []
            for dy in range(-k, k + 1):
                for dx in range(-k, k + 1):
                    if dy == 0 and dx == 0:
                        continue
                    near.append(grid[y + dy][x + dx])
            near.sort()
            out[y][x] = near[len(near) // 2]
    return out
""",
        seen=f"({ROWS}",
        others=(*GRIDS, f"({ROWS}, 5)", f"({ROWS}, 1)", f"({ROWS}, -3)"),
        contains=("k == 1", "near_4 = _in_order("),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_runs_as_the_original(name: str, tmp_path: Path) -> None:
    """Results, types, signs of zeros, exceptions and warnings are those of the original."""
    case = CASES[name]
    found = answer(name, case, tmp_path)
    assert not isinstance(found, Refusal), found
    after, match = found
    assert isinstance(match, Match) and match.safe and match.exactness is Exactness.BITS
    for wanted in case.contains:
        assert wanted in after, after
    for arguments in case.calls:
        inputs = f"import numpy as np\nargs = {arguments}"
        one = run(case.text, name, inputs=inputs, folder=tmp_path)
        two = run(after, name, inputs=inputs, folder=tmp_path)
        assert_same(one, two)


@pytest.mark.parametrize("count", [2, 3, 4, 7, 9])
def test_every_place_of_random_windows(count: int, tmp_path: Path) -> None:
    """With zeros of both signs and many equal numbers."""
    numbers = "(np.random.default_rng(5).integers(-2, 3, 90) * -0.5).tolist()"
    for place in range(count):
        text = (
            "def k(xs):\n    out = []\n"
            f"    for i in range(len(xs) - {count - 1}):\n"
            f"        out.append(sorted(xs[i : i + {count}])[{place}])\n    return out\n"
        )
        inputs = f"import numpy as np\nargs = ({numbers},)"
        found = answer("k", Case(text, seen="([1.5, 2.0, 0.25] * 40"), tmp_path)
        assert not isinstance(found, Refusal), found
        one, two = (run(t, "k", inputs=inputs, folder=tmp_path) for t in (text, found[0]))
        assert_same(one, two)


@pytest.mark.parametrize(
    "body",
    [
        # a view: the image is sorted along with it
        "w = image[y, x - 1 : x + 2]\n            w.sort()\n            out[y, x] = w[1]",
        # rows are sorted, not numbers
        "out[y, x] = sorted(image[y - 1 : y + 2, x - 1 : x + 2])[1][0]",
        # of a size that changes
        "out[y, x] = sorted(image[y, x - 1 : x + 1 + y % 2])[0]",
        # the window is read as a whole
        "w = sorted(image[y, x - 1 : x + 2])\n            out[y, x] = w[1] + len(str(w))",
        # the smallest comes last
        "out[y, x] = sorted(image[y, x - 1 : x + 2], reverse=True)[0]",
        # no such place
        "out[y, x] = sorted(image[y, x - 1 : x + 2])[3]",
    ],
)
def test_left_alone(body: str, tmp_path: Path) -> None:
    text = f"""\
def k(image):
    out = image.copy()
    for y in range(1, image.shape[0] - 1):
        for x in range(1, image.shape[1] - 1):
            {body}
    return out
"""
    found = answer("k", Case("import numpy as np\n\n\n" + text, seen=f"({IMAGE}"), tmp_path)
    assert isinstance(found, Refusal)


def test_a_view_that_is_sorted(tmp_path: Path) -> None:
    """``xs[i - 1 : i + 2].sort()`` sorts a part of the array itself."""
    text = """\
def k(xs):
    out = np.zeros(len(xs))
    for i in range(1, len(xs) - 1):
        near = xs[i - 1 : i + 2]
        near.sort()
        out[i] = near[1]
    return out
"""
    seen = "(np.random.default_rng(3).random(200)"
    found = answer("k", Case("import numpy as np\n\n\n" + text, seen=seen), tmp_path)
    assert isinstance(found, Refusal)

"""Parts of two-dimensional arrays in loops, as array statements and compiled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import assert_same, chain_for, run

from gpuadvise.codegen.restated.as_arrays import emit_restated_arrays
from gpuadvise.model import Exactness, Match, Refusal
from gpuadvise.patch import apply_edits
from gpuadvise.verify.claims import broken_step

HEAD = "import numpy as np\n\n\n"
BYTES = "(np.random.default_rng(3).random((24, 31)) * 255).astype(np.uint8)"
FLOATS = "np.random.default_rng(3).random((24, 31))"
ODD = (
    "a[:0]",
    "a[:1]",
    "a[:2, :2]",
    "a[:3]",
    "a[:, :4]",
    "a[::2, ::3]",
    "a[::-1]",
    "a.T",
    "np.asfortranarray(a)",
    "a.astype(float)",
    "a.astype(int)",
    "a.astype(bool)",
    "a.ravel()",
    "a.tolist()",
    "None",
)


@dataclass(frozen=True)
class Case:
    """A function of an image."""

    body: str
    image: str = BYTES
    more: str = ""
    contains: tuple[str, ...] = ()


CASES = {
    "edges": Case(
        """\
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            patch = image[y - 1 : y + 2, x - 1 : x + 2].astype(float)  # nine cells
            out[y, x] = patch[0, 2] + 2 * patch[1, 2] - np.sqrt(patch[2, 0])
""",
        contains=("image[:-2, 2:].astype(np.float64)", "# nine cells", "image.shape[0] - h >= 0"),
    ),
    "weights": Case(
        """\
    for y in range(h - 2):
        for x in range(w - 2):
            patch = image[y : y + 3, x : x + 3]
            s = 0.0
            for a in range(3):
                for b in range(3):
                    s += patch[a, b] * k[a, b]
            out[y, x] = s
""",
        image=FLOATS,
        more=", np.random.default_rng(4).random((3, 3))",
    ),
    "brightest": Case(
        """\
    for y in range(k, h - k):
        for x in range(k, w - k):
            out[y, x] = image[y - k : y + k + 1, x - k : x + k + 1].max()
""",
        more=", 2",
        contains=("else:\n        for y in range(k, h - k):",),
    ),
    "above the mean": Case(
        """\
    for y in range(k, h - k):
        for x in range(k, w - k):
            mean = image[y - k : y + k + 1, x - k : x + k + 1].mean()
            if image[y, x] > mean + 3:
                out[y, x] = 255
""",
        more=", 1",
    ),
}


def text_of(body: str) -> str:
    head = "def f(image, k=1):\n    h, w = image.shape\n    out = np.zeros((h, w))\n"
    return f"{HEAD}{head}{body}    return out\n"


def answer(case: Case, folder: Path) -> Match | Refusal | None:
    path = folder / "case.py"
    text = text_of(case.body)
    path.write_text(text, encoding="utf-8")
    inputs = f"args = ({case.image}{case.more},)"
    return emit_restated_arrays(chain_for(text, "f", path=path, inputs=inputs)[0])


@pytest.mark.parametrize("name", CASES)
def test_runs_as_the_original(name: str, tmp_path: Path) -> None:
    """Results and exceptions, also for images that the windows leave."""
    case = CASES[name]
    text, match = text_of(case.body), answer(case, tmp_path)
    assert isinstance(match, Match) and match.safe and match.exactness is Exactness.BITS, match
    source = chain_for(text, "f", inputs=f"args = ({case.image}{case.more},)")[0].source
    data = apply_edits(source, match.edits)
    assert broken_step(source, data, match) is None
    for wanted in case.contains:
        assert wanted in data.decode(), data.decode()
    sizes = (case.more, *([f", {k}" for k in (0, 3, 40, -1, 1.0)] if case.more == ", 2" else []))
    for image in ("a", *ODD):
        for more in sizes:
            inputs = f"a = {case.image}\nargs = ({image}{more},)"
            before = run(text, "f", inputs=inputs, folder=tmp_path)
            assert_same(before, run(data.decode(), "f", inputs=inputs, folder=tmp_path))


@pytest.mark.parametrize(
    "body",
    [
        # cut off at the border
        "patch = image[y - 1 : y + 2, x - 1 : x + 2]\n            out[y, x] = patch[0, 0]",
        # counted from the other end
        "patch = image[y : y + 2, x : x + 2]\n            out[y, x] = patch[-1, 0]",
        # behind the part, inside the array
        "patch = image[y : y + 2, x : x + 2]\n            out[y, x] = patch[2, 0]",
        # handed on as a whole
        "patch = image[y : y + 2, x : x + 2]\n            out[y, x] = patch.shape[0]",
        "patch = image[y : y + 2, x : x + 2].astype(float)\n            out[y, x] = np.ptp(patch)",
        # changed meanwhile
        "patch = image[y : y + 2, x : x + 2].copy()\n            image[y + 1, x] = 1\n"
        "            out[y, x] = patch[1, 0]",
        # stored into
        "patch = image[y : y + 2, x : x + 2]\n            patch[0, 0] = 1",
    ],
)
def test_refused(body: str, tmp_path: Path) -> None:
    """Parts that are no plain windows."""
    loops = f"    for y in range(h - 2):\n        for x in range(w - 2):\n            {body}\n"
    assert not isinstance(answer(Case(loops), tmp_path), Match)


def test_means_of_floats_are_left_alone(tmp_path: Path) -> None:
    """NumPy adds them in an order of its own."""
    body = CASES["above the mean"].body
    assert not isinstance(answer(Case(body, image=FLOATS, more=", 1"), tmp_path), Match)

"""Two steps of edits as one: the bytes are those of the one step after the other."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpuadvise.edits import PatchError, apply_edits, composed
from gpuadvise.model import Edit, Source

LINES = [f"name_{k} = {k}" for k in range(12)]


def _source(eol: str = "\n") -> Source:
    return Source(Path("case.py"), eol.join([*LINES, ""]).encode())


def _some_edits(source: Source, rng: random.Random) -> list[Edit]:
    """Whole lines replaced, removed, or put in, at different places."""
    edits = []
    for line in rng.sample(range(len(source.lines)), rng.randint(1, 4)):
        start, end = source.line_starts[line], source.line_starts[line + 1]
        new = "".join(f"new_{rng.randint(0, 99)} = {k}\n" for k in range(rng.randint(0, 2)))
        edits.append(Edit(start, rng.choice([start, end]), new))
    return edits


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("seed", range(60))
def test_same_text(seed: int, eol: str) -> None:
    rng = random.Random(seed)
    source = _source(eol)
    first = _some_edits(source, rng)
    middle = Source(source.path, apply_edits(source, first))
    second = _some_edits(middle, rng)
    assert apply_edits(source, composed(source, first, second)) == apply_edits(middle, second)


def test_untouched_lines_are_left_out() -> None:
    source = _source()
    first = [Edit(0, len(LINES[0]), "first = 1")]
    middle = Source(source.path, apply_edits(source, first))
    start = middle.line_starts[10]
    edits = composed(source, first, [Edit(start, start, "late = 2\n")])
    assert [edit.end - edit.start for edit in edits] == [len(LINES[0]), 0]


def test_a_text_that_is_no_program() -> None:
    with pytest.raises(PatchError):
        composed(_source(), [Edit(0, 0, "for\n")], [])

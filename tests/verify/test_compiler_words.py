"""What numba says where it cannot compile: the reason, the statement and its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuadvise.verify.reached import in_words

numba = pytest.importorskip("numba")
TEXT = """\
def attribute(a):
    for i in range(len(a)):
        a[i] = a[i].foo + 1


def item(a):
    x = 2.5
    return x[0] + a[0]


def opened(a):
    with open("x") as f:
        return 1
"""


def said(name: str, folder: Path) -> str:
    """The words for what the compiler raises."""
    file = folder / "case.py"
    file.write_text(TEXT)
    names: dict[str, object] = {}
    exec(compile(TEXT, str(file), "exec"), names)
    with pytest.raises(Exception) as raised:
        numba.njit(names[name])(np.ones(3))
    return in_words(raised.value)


def test_the_reason_and_the_line(tmp_path: Path) -> None:
    assert said("attribute", tmp_path) == (
        "TypingError: Unknown attribute 'foo' of type float64, in `a[i] = a[i].foo + 1` "
        "(line 3 of the new text)"
    )
    assert "getitem(float64, Literal[int](0)), in `return x[0] + a[0]` (line 8" in said(
        "item", tmp_path
    )


def test_messages_of_another_form_are_kept(tmp_path: Path) -> None:
    assert "context manager" in said("opened", tmp_path)


def test_other_exceptions_are_as_they_were() -> None:
    text = "Failed in the morning\nThere are two"
    assert in_words(ValueError(text)) == "ValueError: Failed in the morning There are two"
    assert in_words(KeyError()) == "KeyError"

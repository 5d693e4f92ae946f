"""Strings in compiled loops: characters become numbers, and text again behind the loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from harness import assert_same, region_for, run
from test_numba_cpu import Loaded, _private_cache
from text_corpus import CALLS, LOOPS, TEXT

from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.edits import apply_edits
from gpuadvise.model import Match, Refusal

__all__ = ["_private_cache"]


def rewritten(text: str, name: str, args: tuple[Any, ...]) -> str:
    """The text with the function's loop compiled; fails on a refusal."""
    region = region_for(text, name, args)
    match = emit(region, parallel=False)
    assert isinstance(match, Match), match
    return apply_edits(region.source, match.edits).decode()


def check(loaded: Loaded, name: str, args: tuple[Any, ...]) -> None:
    """The function of both texts, called with the same data."""
    before = replace(run(LOOPS, name, args), names={})
    assert_same(before, loaded.call(name, args))


@pytest.mark.parametrize("name", CALLS)
def test_as_in_python(name: str, tmp_path: Path) -> None:
    after = rewritten(LOOPS, name, CALLS[name][0])
    loaded = Loaded(after, tmp_path / "rewritten.py")
    for args in CALLS[name]:
        check(loaded, name, args)
    assert loaded.compilations == 1


def test_a_text_that_is_not_ascii_is_taken_as_it_is(tmp_path: Path) -> None:
    seen = "na\u00efve caf\u00e9 \U0001f600"
    after = rewritten(LOOPS, "runs", (seen,))
    assert "isascii" not in after
    loaded = Loaded(after, tmp_path / "rewritten.py")
    for text in (seen, "", "ee\ud800\ud800\ud800", "plain"):
        check(loaded, "runs", (text,))


def test_words_come_back_as_words() -> None:
    after = rewritten(LOOPS, "scan", CALLS["scan"][0])
    assert '("name", "number", "start")[state - 1114112]' in after
    assert 'Text is numbers here: 95 is "_"' in after


def test_a_remainder_bounds_what_is_kept() -> None:
    """``value = (10 * value + digit) % 1000003``: only the sum is looked at, with all its bits."""
    after = rewritten(LOOPS, "scan", CALLS["scan"][0])
    assert "value = (value * 10 + _scan_digit(ch)) % 1000003\n" in after
    assert "if not -(2**61) <= k <= 2**61" in after


REFUSED = {
    "a word is put into a list": (
        "def f(s):\n    out = []\n    for ch in s:\n"
        '        out.append("yes" if ch == "a" else ch)\n    return out\n',
        "may be other text than one character",
    ),
    "a string that is read while it grows": (
        'def f(s):\n    out = ""\n    for ch in s:\n        out += ch\n        n = len(out)\n'
        "    return out, n\n",
        "",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, words = REFUSED[name]
    found = emit(region_for(text, "f", (TEXT,)), parallel=False)
    assert isinstance(found, Refusal) and words in found.reason, found

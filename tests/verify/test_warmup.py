"""Results that a rewrite remembers from an earlier call show, whatever it remembers them by."""

from __future__ import annotations

import pytest

from gpuadvise.verify.compare import Different

PROGRAM = """
def words(text, n):
    found = []
    for word in text.split():
        found.append(word * n)
    return found


def arguments():
    return ("one two three two", 2), {}
"""
LOOP = PROGRAM.partition("\n\n\n")[0]
KEPT = """
_kept = {}


def words(text, n):
    if KEY not in _kept:
        _kept[KEY] = [word * n for word in text.split()]
    return _kept[KEY]
"""


@pytest.mark.parametrize(
    "key", ["0", "type(text)", "len(text)", "id(text)", "text", "(text, n)", "(id(text), id(n))"]
)
def test_remembered_results(bench, key):
    state = bench.hold(PROGRAM, "call", "words")
    result = bench.trial(state, LOOP, KEPT.replace("KEY", key), repeats=1)
    assert isinstance(result.comparison, Different), result


def test_a_new_list_in_every_call(bench):
    state = bench.hold(PROGRAM, "call", "words")
    new = KEPT.replace("KEY", "text").replace("return _kept[text]", "return list(_kept[text])")
    assert bench.trial(state, LOOP, new, repeats=1).same


def test_originals_that_remember(bench):
    memo = PROGRAM.replace(LOOP, KEPT.replace("KEY", "text"))
    state = bench.hold(memo, "call", "words")
    result = bench.trial(state, "if text not in _kept:", "if not text in _kept:", repeats=1)
    assert result.same, result

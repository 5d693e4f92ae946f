from __future__ import annotations

import pytest
from ast_rule_harness import outcome, region, rewritten

from gpuadvise.api import Refusal, Rewrites
from gpuadvise.rules.py120_list_membership import CASES, list_membership

TEXT = """\
import numpy as np
from fractions import Fraction


class Odd(str):
    __hash__ = str.__hash__

    def __eq__(self, other):
        return str(self) < other


WORDS = ["a", "b", "c", "d"]
NUMBERS = (1, 2, 30, 1180591620717411303424)


def f(values):
    found = []
    for v in values:
        if v in WORDS:
            found.append(repr(v))
        elif not v in NUMBERS and v not in WORDS:
            found.append(-1)
    return found
"""


@pytest.mark.parametrize(
    "values",
    [
        "['a', 'x', 'd', '']",
        "[1, 1.0, True, 30, 31, 2**70, -2, 2**64]",
        "[[1], {'a': 1}, None, (1, 2)]",
        "[float('nan'), Fraction(30), 2 + 0j, b'a']",
        "[Odd('B'), Odd('z'), np.str_('c'), np.int8(30), np.float32(30)]",
        "[]",
    ],
)
def test_everything_is_found_that_was_found(values):
    new = rewritten(list_membership, TEXT, "f")
    assert new.count("_set if type(v) is") == 3
    assert outcome(new, f"f({values})") == outcome(TEXT, f"f({values})")


def test_without_the_question_for_the_type_some_would_be_missed():
    new = rewritten(list_membership, TEXT, "f").replace("type(v) is str", "True")
    values = "f([Odd('B')])"
    assert outcome(new, values) != outcome(TEXT, values)
    values = "f([[1]])"
    assert outcome(new, values) != outcome(TEXT, values)


LOOP = "for v in values:\n    if v in WORDS: n += 1\n"
HEAD = 'WORDS = ["a", "b", "c", "d"]\nvalues, n = "abxy", 0\n'
REFUSED = {
    "appended": (HEAD + LOOP + "    WORDS.append(v)\n", "may change"),
    "item_set": (HEAD + "WORDS[0] = 'x'\n" + LOOP, "may change"),
    "handed_on": (HEAD + "other = [WORDS]\n" + LOOP, "someone else may hold WORDS"),
    "unknown_call": (HEAD + LOOP + "    refresh()\n", "calls code"),
    "generator": (
        'WORDS = ["a", "b", "c", "d"]\ndef f(values):\n    for v in values:\n'
        "        if v in WORDS: yield v\n",
        "middle of the loop",
    ),
    "globals": (HEAD + "globals()\n" + LOOP, "globals() may change"),
    "type_rebound": (HEAD + "type = 3\n" + LOOP, "another meaning"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name):
    text, reason = REFUSED[name]
    answer = list_membership(region(text))
    assert isinstance(answer, Refusal), answer
    assert reason in answer.reason


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace('"d"]', '"d", 1]') + LOOP,
        HEAD.replace('"d"]', "[]]") + LOOP,
        HEAD.replace("WORDS = ", "WORDS = sorted(").replace("]\n", "])\n") + LOOP,
        HEAD + "WORDS = ['x', 'y', 'z', 'u']\n" + LOOP,
        HEAD + LOOP.replace("v in WORDS", "v.lower() in WORDS"),
        HEAD + LOOP.replace("v in WORDS", "v in WORDS in values"),
        'WORDS = {"a", "b", "c", "d"}\nvalues, n = "abxy", 0\n' + LOOP,
        'WORDS = ["a", "b", "c"]\nvalues, n = "abxy", 0\n' + LOOP,
    ],
)
def test_not_its_business(text):
    assert list_membership(region(text)) is None


def test_module_level():
    text = HEAD + LOOP + "print(n)\n"
    new = rewritten(list_membership, text)
    assert "WORDS_set = frozenset(WORDS)\nfor v" in new
    assert outcome(new) == outcome(text)


@pytest.mark.parametrize("case", [c for c in CASES if isinstance(c, Rewrites)])
def test_cases_hold_without_observation(case):
    new = rewritten(list_membership, case.before, case.function)
    call = f"{case.function}(*{case.inputs.removeprefix('args = ')})"
    assert outcome(new, call) == outcome(case.before, call)

from __future__ import annotations

import pytest
from ast_rule_harness import outcome, region, rewritten

from gpuadvise.api import Match, Refusal, Rewrites
from gpuadvise.rules.py110_list_growth import CASES, list_growth

# Bodies of ``def f(n)``; each must come out equal, and with the text given.
EQUAL = {
    "append": ("xs = []\nfor i in range(n):\n    xs = xs + [i]\nreturn xs", "xs.append(i)"),
    "several": ("xs = [0]\nfor i in range(n):\n    xs = xs + [i, -i]\nreturn xs", "xs += [i, -i]"),
    "comprehension": (
        "xs = [1]\nfor i in range(min(n, 5)):\n    xs = xs + [x + i for x in xs]\nreturn xs",
        "xs += [x + i",
    ),
    "starred": ("xs = []\nfor i in range(n):\n    xs = xs + [*range(i)]\nreturn xs", "xs += ["),
    "tuple_item": ("xs = []\nfor i in range(n):\n    xs = xs + [(i, i)]\nreturn xs", "((i, i))"),
    "reads_last": (
        "xs = [1, 1]\nwhile len(xs) < n:\n    xs = xs + [xs[-1] + xs[-2]]\nreturn xs",
        "xs.append(xs[-1] + xs[-2])",
    ),
    "outer_loop_starts_again": (
        "out = []\nfor i in range(n):\n    xs = []\n    for j in range(i):\n"
        "        xs = xs + [j]\n    out.append(xs)\nreturn out",
        "xs.append(j)",
    ),
    "old_list_is_kept": (
        "old = [1]\nxs = old\nfor i in range(n):\n    xs = xs + [i]\nreturn old, xs",
        "new_xs.append(i)",
    ),
    "no_pass_keeps_the_object": (
        "old = [1]\nxs = old\nfor i in range(n):\n    xs = xs + [i]\nreturn xs is old",
        "if new_xs:",
    ),
    "front": ("xs = [7]\nfor i in range(n):\n    xs = [i] + xs\nreturn xs", "new_xs[::-1] + xs"),
    "break": (
        "xs = []\nfor i in range(n):\n    xs = xs + [i]\n    if i == 3: break\nreturn xs",
        "xs.append(i)",
    ),
    "raises": (
        "xs = []\ntry:\n    xs = []\n    for i in range(n):\n        xs = xs + [1 // (i - 4)]\n"
        "except ZeroDivisionError:\n    return xs\nreturn xs",
        "xs.append(1 // (i - 4))",
    ),
    "multi_line": (
        "xs = []\nfor i in range(n):\n    xs = xs + [\n        i  # here\n    ]\nreturn xs",
        "i  # here",
    ),
    "condition": (
        "xs = []\nfor i in range(n):\n    if i not in xs and not sum(xs) > 20: xs = xs + [i]\n"
        "return xs",
        "xs.append(i)",
    ),
}


def function(body: str) -> str:
    return "def f(n):\n" + "".join(f"    {line}\n" for line in body.splitlines())


def innermost(text: str) -> int:
    return 1 if "for j" in text else 0


@pytest.mark.parametrize("name", EQUAL)
def test_the_list_is_the_same(name):
    body, contains = EQUAL[name]
    text = function(body)
    made = region(text, "f", innermost(body))
    answer = list_growth(made)
    assert isinstance(answer, Match) and answer.safe
    from gpuadvise.edits import apply_edits

    new = apply_edits(made.source, answer.edits).decode()
    assert contains in new
    for n in (0, 1, 2, 9):
        assert outcome(new, f"f({n})") == outcome(text, f"f({n})")


REFUSED = {
    "history": (
        "xs, out = [], []\nfor i in range(n):\n    xs = xs + [i]\n    out.append(xs)\nreturn out",
        "someone else may hold xs",
    ),
    "identity": (
        "xs = []\na = xs\nfor i in range(n):\n    xs = xs + [i]\n    print(xs is a)\nreturn xs",
        "someone else may hold xs",
    ),
    "closure": (
        "xs = []\ndef size(): return len(xs)\nfor i in range(n):\n    xs = xs + [i]\n    size()",
        "can see xs",
    ),
    "walks": (
        "xs = [1]\nfor x in xs:\n    if len(xs) < n: xs = xs + [x]\nreturn xs",
        "walks along xs",
    ),
    "array": (
        "import numpy as np\nxs = np.ones(1)\nfor i in range(n):\n    xs = xs + [i]\nreturn xs",
        "something other than a list",
    ),
    "maybe_array": (
        "xs = []\nif n > 3: xs = n\nfor i in range(n):\n    xs = xs + [i]\nreturn xs",
        "something other than a list",
    ),
    "handler_reads_other_list": (
        "a = b = []\ntry:\n    for i in range(n):\n        a = a + [1 // (i - 2)]\n"
        "except ZeroDivisionError: pass\nreturn a, b",
        "not made here",
    ),
    "else_reads": (
        "a = b = []\nfor i in range(n):\n    a = a + [i]\nelse:\n    print(a)\nreturn a, b",
        "not made here",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name):
    body, reason = REFUSED[name]
    answer = list_growth(region(function(body), "f"))
    assert isinstance(answer, Refusal), answer
    assert reason in answer.reason


@pytest.mark.parametrize(
    "body",
    [
        "xs = []\nfor i in range(n):\n    xs.append(i)",
        "xs = ''\nfor i in range(n):\n    xs = xs + 'a'",
        "xs = ()\nfor i in range(n):\n    xs = xs + (i,)",
        "xs = []\nys = [1]\nfor i in range(n):\n    xs = ys + [i]",
        "xs = []\nfor i in range(n):\n    xs = [*xs] + xs",
    ],
)
def test_not_its_business(body):
    assert list_growth(region(function(body), "f")) is None


def test_module_level():
    text = "xs = []\nfor i in range(5):\n    xs = xs + [i]\nprint(xs)\n"
    assert outcome(rewritten(list_growth, text)) == outcome(text)
    seen = text + "def late():\n    return xs\n"
    assert isinstance(list_growth(region(seen)), Refusal)


@pytest.mark.parametrize("case", [c for c in CASES if isinstance(c, Rewrites)])
def test_cases_hold_without_observation(case):
    new = rewritten(list_growth, case.before, case.function)
    call = f"{case.function}(*{case.inputs.removeprefix('args = ')})"
    assert outcome(new, call) == outcome(case.before, call)
    for part in case.contains:
        assert part in new

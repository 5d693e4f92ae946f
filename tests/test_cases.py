"""Regions made from text: what the tests of rules and back ends stand on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from harness import assert_same, chain_for, first_match, region_for, run

from gpuadvise.api import Ignores, Rewrites
from gpuadvise.cases import rewritten
from gpuadvise.loopnest.ir import Nest
from gpuadvise.model import Edit, Match, Refusal, Region

MODULE = """import numpy as np

K = 3


def weight(i):
    return i * K


def outer(a):
    def unused():
        for k in range(2):
            pass
    total = 0.0
    for i in range(len(a)):
        for j in range(2):
            total += a[i] * weight(j)
    return total


class Grid:
    def __init__(self, n):
        self.u = np.arange(float(n))
        self.v = self.u

    def at(self, i):
        return self.u[i]

    def step(self):
        for i in range(3):
            self.u[i] = self.at(i) + 1.0
        return self
"""


def test_a_function_is_observed_while_it_runs() -> None:
    region = region_for(MODULE, "outer", (np.arange(4.0),))
    assert region.lines == (15, 17)
    assert region.function is not None and region.function.name == "outer"
    assert region.observation is not None
    values = region.observation.values
    assert (values["a"].dtype, values["a"].shape, values["a"].maximum) == ("float64", (4,), 3.0)
    assert values["total"].constant and values["K"].maximum == 3
    assert set(region.functions) == {"weight"}
    assert isinstance(region.nest, Nest)


def test_a_chain_goes_from_the_outer_loop_inwards() -> None:
    outer, inner = chain_for(MODULE, "outer", (np.arange(4.0),))
    assert (outer.depth, inner.depth) == (0, 1)
    assert inner.lines == (16, 17)
    assert outer.observation is not None and inner.observation is not None
    # total is the float 0.0 at the first entry and a NumPy scalar at the other three
    assert (outer.observation.entries, inner.observation.entries) == (1, 3)
    assert (inner.observation.others, inner.observation.kinds) == (1, 2)
    assert inner.observation.values["i"].maximum == 3


def test_methods_and_aliases() -> None:
    region = chain_for(MODULE, "Grid.step", inputs="args = (Grid(5),)")[0]
    assert region.class_name == "Grid" and region.site.qualname == "Grid.step"
    assert region.observation is not None
    assert region.observation.values["self.u"].shape == (5,)
    assert set(region.functions) == {"self.at"}
    text = "def f(a, b, c):\n    for i in range(2):\n        a[i] = b[i] + c[i]\n"
    data = np.zeros(6)
    seen = chain_for(text, "f", (), inputs="x = np.zeros(6); args = (x[:4], x[2:], np.ones(6))")
    assert seen[0].observation is not None and seen[0].observation.aliases == (("a", "b"),)
    alone = region_for(text, "f", (data, data.copy(), data.copy())).observation
    assert alone is not None and alone.aliases == ()


def test_arguments_are_copied() -> None:
    data = np.arange(3.0)
    region_for("def f(a):\n    for i in range(3):\n        a[i] = 9\n", "f", (data,))
    assert data.tolist() == [0, 1, 2]


def test_a_loop_at_module_level_sees_the_inputs() -> None:
    region = chain_for("for v in xs:\n    t += v\n", None, inputs="xs = [1.5, 2.5]; t = 0.0")[0]
    assert region.function is None and region.site.qualname == "<module>"
    assert region.observation is not None and region.observation.values["xs"].maximum == 2.5


def test_module_code_runs_as_the_main_program() -> None:
    text = 'if __name__ == "__main__":\n    for v in xs:\n        t = v\n'
    region = chain_for(text, None, inputs="xs = [1.5]")[0]
    assert region.observation is not None and region.observation.entries == 1


def test_a_loop_that_raises_was_still_observed() -> None:
    text = "def f(a):\n    for i in range(9):\n        a[i] = 1\n"
    region = region_for(text, "f", ([0],))
    assert region.observation is not None and region.observation.entries == 1


def test_a_loop_that_is_not_reached_says_so() -> None:
    text = "def f(a):\n    for i in a:\n        for j in a:\n            pass\n"
    outer, inner = chain_for(text, "f", ([],))
    assert outer.observation is not None
    assert inner.observation is None and isinstance(inner.nest, Refusal)


@pytest.mark.parametrize(
    ("function", "words"), [("nothing", "no function"), ("weight", "no loop"), ("Grid", "is no f")]
)
def test_wrong_names(function: str, words: str) -> None:
    with pytest.raises(LookupError, match=words):
        region_for(MODULE, function)


def test_code_that_raises_before_the_loop_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        region_for("def f(a):\n    1 / 0\n    for i in a:\n        pass\n", "f", ([],))


# -------------------------------------------------------------------- matching
def _inner_only(region: Region) -> Match | Refusal | None:
    if region.depth == 0:
        return Refusal("not this one")
    start, end = region.source.span(region.loop)
    return Match((Edit(start, end, "pass"),), why="w", change="c")


def test_the_first_match_of_a_chain_counts() -> None:
    chain = chain_for(MODULE, "outer", (np.arange(4.0),))
    found = first_match(_inner_only, chain)
    assert found[0] is chain[1]
    assert first_match(_inner_only, chain[:1]) == (Refusal("not this one"),)


def test_rewritten_text() -> None:
    case = Rewrites(MODULE, "args = (np.arange(4.0),)", "outer")
    text = rewritten(_inner_only, case)
    assert text is not None and "for i in range(len(a)):\n        pass\n    return total" in text
    assert rewritten(lambda region: None, case) is None
    assert Ignores(MODULE, because="x").inputs == "args = ()"


# ------------------------------------------------------------------- comparing
def _differ(before: str, after: str, **options: object) -> str:
    try:
        assert_same(run(before, "f"), run(after, "f"), **options)  # type: ignore[arg-type]
    except AssertionError as error:
        return str(error)
    return ""


def _f(body: str) -> str:
    return f"import numpy as np\nimport warnings\nG = [1]\ndef f():\n    {body}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return 1", "return 1.0"),
        ("return 1", "return True"),
        ("return 1.0", "return np.float64(1.0)"),
        ("return np.zeros(2)", "return np.zeros(2, np.float32)"),
        ("return np.zeros(2)", "return np.zeros((2, 1))"),
        ("return [1, 2]", "return (1, 2)"),
        ("return [1, 2]", "return [1, 2, 3]"),
        ("return 0.0", "return -0.0"),
        ("return np.array([0.0])", "return np.array([-0.0])"),
        ("return float('nan')", "return 1.0"),
        ("return 1 + 2j", "return 1 - 2j"),
        ("return {'a': 1}", "return {'b': 1}"),
        ("return 'a'", "return 'b'"),
        ("print(1)", "print(2)"),
        ("raise ValueError('a')", "raise ValueError('b')"),
        ("raise ValueError('a')", "raise KeyError('a')"),
        ("return 1", "warnings.warn('new'); return 1"),
        ("G.append(2)", "G.append(3)"),
        ("global G; G = 1", "pass"),
        ("pass", "global H; H = 1"),
        ("return 1.0", "return 1.0 + 1e-15"),
    ],
)
def test_differences_are_found(before: str, after: str) -> None:
    assert _differ(_f(before), _f(after))
    assert not _differ(_f(before), _f(before))


def test_what_may_differ() -> None:
    assert not _differ(_f("return 1.0"), _f("return 1.0 + 1e-15"), tolerance=1e-14)
    assert _differ(_f("return 1.0"), _f("return 1.0 + 1e-13"), tolerance=1e-14)
    assert not _differ(_f("pass"), _f("global _h; _h = 1"))
    assert not _differ(_f("pass"), _f("global h; h = 1"), new_names=frozenset({"h"}))
    assert not _differ(_f("global h; h = 1"), _f("pass"), scalar_names=False)
    assert not _differ(_f("warnings.warn('old')"), _f("pass"))


def test_runs_are_apart(tmp_path: Path) -> None:
    text = "calls = []\ndef f(a):\n    a.append(1)\n    calls.append(1)\n    return len(calls)\n"
    data: list[int] = []
    first, second = (run(text, "f", (data,), folder=tmp_path) for _ in range(2))
    assert first.result == second.result == 1
    assert data == [] and first.args == ([1],)
    assert len(list(tmp_path.glob("case_*.py"))) == 1

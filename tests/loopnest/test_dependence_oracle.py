"""Verdicts against what iterations really touch: no loop is called parallel that is none."""

import copy
import warnings
from typing import Any

import numpy as np
import pytest
from nests import good, setup, value_at
from polybench import KERNELS, as_lists, list_text
from test_lower_semantics import LOOPS
from tracer import Tracer

from gpuadvise.loopnest.dependence import Carried, Parallel, analyse
from gpuadvise.loopnest.ir import For

CASES: dict[str, tuple[str, tuple[Any, ...]]] = dict(LOOPS)
for _name, (_text, _make) in KERNELS.items():
    _args = _make(np.random.default_rng(5))
    CASES[f"polybench {_name}"] = (_text, _args)
    CASES[f"polybench lists {_name}"] = (list_text(_text), as_lists(_args))


def trace(text: str, args: tuple[Any, ...]) -> tuple[Any, Tracer]:
    nest = good(text, *args)
    made = setup(text, *args)
    names = {**nest.arrays, **nest.scalars}
    values = {path: copy.deepcopy(value_at(path, made.namespace)) for path in names}
    machine = Tracer(nest, values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.run()
    return analyse(nest), machine


@pytest.mark.parametrize("name", CASES)
def test_parallel_loops_are_parallel(name: str) -> None:
    analysis, machine = trace(*CASES[name])
    for facts in analysis.loops:
        if isinstance(facts.loop, For) and isinstance(facts.verdict, Parallel):
            assert id(facts.loop) not in machine.conflicts, (
                facts.loop.line,
                machine.conflicts[id(facts.loop)],
            )


SUBSCRIPTS = [
    "i",
    "i + 1",
    "i - 1",
    "2 * i",
    "2 * i + 1",
    "n - 1 - i",
    "j",
    "i + j",
    "i % 3",
    "0",
    "(i + 1) % n",
]


@pytest.mark.parametrize("write", SUBSCRIPTS)
@pytest.mark.parametrize("read", SUBSCRIPTS)
def test_pairs_of_subscripts(write: str, read: str) -> None:
    """Every pair of subscripts of one array, in two nested loops."""
    text = f"""
def f(a, b, n):
    for i in range(1, n - 1):
        for j in range(i):
            a[{write}] = b[j] + a[{read}]
"""
    analysis, machine = trace(text, (np.arange(20.0), np.arange(20.0), 9))
    for facts in analysis.loops:
        if isinstance(facts.verdict, Parallel):
            assert id(facts.loop) not in machine.conflicts, machine.conflicts


def test_index_that_wraps_below_zero() -> None:
    """Odd and even never meet, but a[-3] of nine elements is a[6]."""
    text = "def f(a):\n    for i in range(5):\n        a[2 * i] = a[2 * i - 3] + 1\n"
    analysis, machine = trace(text, (np.arange(9.0),))
    (facts,) = analysis.loops
    assert id(facts.loop) in machine.conflicts
    assert isinstance(facts.verdict, Carried)

"""Tests in front of new code: those that ask the same of several names are one chain."""

from __future__ import annotations

import ast
import random

import numpy as np

from gpuadvise.codegen.chained import LIMIT, chained, condition_lines
from gpuadvise.verify.claims import asked

TESTS = [
    "type(a) is np.ndarray",
    "a.dtype == np.float64",
    "a.ndim == 2",
    "type(x) is np.ndarray",
    "x.dtype == np.float64",
    "x.flags.carray",
    "type(count) is np.ndarray",
    "count.dtype == np.int64",
    "type(scale) is float",
    "x.shape == (n,)",
    "count.shape == (n,)",
    "not np.may_share_memory(a, x)",
]


def test_what_is_asked_of_several_is_asked_once() -> None:
    assert chained(TESTS) == [
        "type(a) is type(x) is type(count) is np.ndarray",
        "a.dtype == x.dtype == np.float64",
        "a.ndim == 2",
        "x.flags.carray",
        "count.dtype == np.int64",
        "type(scale) is float",
        "x.shape == count.shape == (n,)",
        "not np.may_share_memory(a, x)",
    ]


def test_long_chains_are_cut() -> None:
    tests = [f"type(temperature_{n}) is np.ndarray" for n in range(9)]
    found = chained(tests)
    assert 1 < len(found) < 9
    assert all(len(test) <= LIMIT for test in found)


def test_a_short_condition_is_one_line() -> None:
    assert condition_lines(TESTS[:3]) == [
        "if type(a) is np.ndarray and a.dtype == np.float64 and a.ndim == 2:"
    ]
    assert condition_lines(TESTS)[0] == "if ("
    ast.parse("\n".join([*condition_lines(TESTS), "    pass"]))


def test_the_chain_says_what_the_tests_say() -> None:
    """On arrays and on what is none: equal, and no attribute is missing."""
    random.seed(3)
    values = [np.zeros((2, 2)), np.zeros(2), np.zeros(2, int), np.ones(3), 1.5, 2, [0.0]]
    plain, joined = " and ".join(TESTS), " and ".join(chained(TESTS))
    seen = set()
    for _ in range(3000):
        names = {name: random.choice(values) for name in ("a", "x", "count", "scale")}
        if random.random() < 0.3:
            names |= {"a": values[0], "x": values[1], "count": values[2], "scale": 1.5}
        where = {"np": np, "n": random.choice((2, 3))} | names
        wanted = eval(plain, where)
        assert eval(joined, where) == wanted
        seen.add(wanted)
    assert seen == {True, False}


def test_the_verifier_finds_each_test_in_the_chain() -> None:
    text = "\n".join([*condition_lines(TESTS), "    pass"])
    found = {ast.unparse(test) for test in asked(ast.parse(text))}
    assert {ast.unparse(ast.parse(test, mode="eval")) for test in TESTS} <= found
    # a == b == c asks nothing of a and b alone, and neither does a chain of two kinds
    assert "type(a) is type(x)" not in found
    mixed = {ast.unparse(test) for test in asked(ast.parse("if a is b == c: pass"))}
    assert mixed == {"a is b == c"}

"""What the ledger promises of the new text, held against the text."""

from __future__ import annotations

import pytest

from gpuadvise.api import Rewrites
from gpuadvise.cases import case_regions, first_match
from gpuadvise.model import Basis, Condition, Match
from gpuadvise.patch import combine
from gpuadvise.registry import rules
from gpuadvise.verify.claims import broken_promise, broken_step

OLD = """
def f(u, out):
    for i in range(len(u)):
        out[i] = u[i] * 2.0
    total = 0.0
    return out
"""
NEW = """
import numpy as np
def f(u, out):
    if type(u) is np.ndarray and u.ndim == 1 and len(out) >= len(u):
        out[:len(u)] = u * 2.0
    else:
        for i in range(len(u)):
            out[i] = u[i] * 2.0
    total = 0.0
    return out
"""
APART = """
import numba
def _kernel(u, out):
    for i in range(len(u)):
        out[i] = u[i] * 2.0
def _loops(u, out):
    if not (type(u) is np.ndarray and u.ndim == 1 and len(out) >= len(u)):
        FALLBACK
    _kernel(u, out)
def f(u, out):
    _loops(u, out)
    total = 0.0
    return out
"""
TESTS = ("type(u) is np.ndarray and u.ndim == 1", "len(out) >= len(u)")
LEDGER = tuple(Condition(text, Basis.OBSERVED, guarded=True) for text in TESTS)


def judged(new: str, ledger: tuple[Condition, ...] = LEDGER) -> str | None:
    return broken_promise(OLD.encode(), new.encode(), ledger)


def test_kept_promises() -> None:
    assert judged(NEW) is None
    assert judged(APART.replace("FALLBACK", "return _kernel.py_func(u, out)")) is None


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("u.ndim == 1", "True", "u.ndim == 1"),
        ("u.ndim == 1 and ", "", "u.ndim == 1"),
        ("len(out) >= len(u)", "len(out) + 1 >= len(u)", "len(out) >= len(u)"),
        ("type(u) is np.ndarray", "type(out) is np.ndarray", "type(u) is np.ndarray"),
        # named, but not asked
        ("u.ndim == 1 and", "True and", "u.ndim == 1"),
        (
            "        for i in range(len(u)):\n            out[i] = u[i] * 2.0",
            "        pass",
            "line 4",
        ),
        ("out[i] = u[i] * 2.0", "out[i] = u[i] * 3.0", "line 4"),
        ("            out[i] = u[i] * 2.0", "            pass", "line 4"),
        ("    total = 0.0\n", "", "total = 0.0"),
    ],
)
def test_broken_promises(before: str, after: str, said: str) -> None:
    assert before in NEW
    words = judged(NEW.replace(before, after))
    assert words is not None and said in words


@pytest.mark.parametrize(
    ("fallback", "kept"),
    [
        ("return _kernel.py_func(u, out)", True),
        ("for k in range(len(u)):\n            out[k] = u[k] * 2.0\n        return", True),
        ("for k in range(len(u)):\n            out[k] = u[k] * 2.5\n        return", False),
        ("return", False),
        ("pass", False),
    ],
)
def test_loops_in_a_function_of_their_own(fallback: str, kept: bool) -> None:
    assert (judged(APART.replace("FALLBACK", fallback)) is None) == kept


def test_tests_of_several_names_in_a_chain() -> None:
    chain = NEW.replace("type(u) is np", "type(u) is type(out) is np")
    both = (*LEDGER, Condition("type(out) is np.ndarray", Basis.OBSERVED, guarded=True))
    assert judged(chain, both) is None
    assert judged(NEW, both) is not None
    assert judged(chain.replace("type(out) is np", "type(v) is np"), both) is not None
    assert judged(chain.replace("is type(out) is", "is not type(out) is"), both) is not None


def test_each_place_has_its_test() -> None:
    two = NEW.replace("        out[:len(u)]", "        ndim = u.ndim == 1\n        out[:len(u)]")
    twice = (*LEDGER, Condition("u.ndim == 1", Basis.OBSERVED, guarded=True))
    assert judged(NEW, twice) is not None
    assert judged(two, twice) is None


def test_a_test_of_the_original_is_no_guard() -> None:
    old = OLD.replace("    total", "    if u.ndim == 1:\n        print(u)\n    total")
    new = NEW.replace("    total", "    if u.ndim == 1:\n        print(u)\n    total")
    assert broken_promise(old.encode(), new.encode(), LEDGER) is None
    lost = new.replace("and u.ndim == 1 and", "and")
    assert broken_promise(old.encode(), lost.encode(), LEDGER) is not None


def test_all_rules_keep_their_promises() -> None:
    guarded = 0
    for rule in rules():
        for case in rule.cases:
            if not isinstance(case, Rewrites):
                continue
            found = first_match(rule.function, case_regions(case))
            if len(found) == 2 and isinstance(found[1], Match):
                region, match = found
                text = combine(region.source, [match.edits])
                assert broken_step(region.source, text, match) is None, rule.code
                guarded += any(c.guarded for c in match.ledger)
    assert guarded > 10


GIVING_UP = """
def _on_gpu(u, out):
    size = len(u)
    if not len(out) >= size:
        return None
    kernel(u, out)
    return True
def _loops(u, out):
    if type(u) is np.ndarray and u.ndim == 1:
        result = _on_gpu(u, out)
        if result is not None:
            return
    for i in range(len(u)):
        out[i] = u[i] * 2.0
def f(u, out):
    _loops(u, out)
    total = 0.0
    return out
"""


def test_a_new_function_may_give_up_where_its_caller_goes_on_with_the_original() -> None:
    late = Condition("len(out) >= size", Basis.OBSERVED, guarded=True)
    ledger = (LEDGER[0], late)
    assert judged(GIVING_UP, ledger) is None
    lost = "    for i in range(len(u)):\n        out[i] = u[i] * 2.0\n"
    others = (
        GIVING_UP.replace(lost, ""),
        GIVING_UP.replace("u[i] * 2.0", "u[i] * 3.0"),
        GIVING_UP.replace("is not None", "is None"),
        GIVING_UP.replace("return None", "return True"),
    )
    assert GIVING_UP not in others
    for text in others:
        assert judged(text, ledger) is not None, text

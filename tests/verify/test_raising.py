from __future__ import annotations

import pytest
from holding import Bench

from gpuadvise.model import Unavailable
from gpuadvise.verify.raising import only_here

PLAIN = b"def f(x):\n    return 1 / x\n"


@pytest.mark.parametrize(
    ("raised", "text", "said"),
    [
        (None, PLAIN, False),
        ("CudaError: no device", PLAIN, True),
        ("ValueError", PLAIN, True),
        ("ValueError: 3", PLAIN + b"try:\n    f(0)\nexcept ValueError:\n    pass\n", False),
        ("ValueError: 3", b"with suppress(ValueError):\n    f()\n", False),
        ("StopIteration", PLAIN, False),
        ("SystemExit: 0", PLAIN, False),
    ],
)
def test_what_cannot_have_been_raised_says_nothing(raised: str, text: bytes, said: bool) -> None:
    assert (only_here(raised, [text]) is not None) == said


def test_every_file_counts() -> None:
    assert only_here("ValueError", [PLAIN, b"try:\n  f()\nexcept ValueError: pass"]) is None


def test_a_replay_that_fails_on_both_sides_verifies_nothing(bench: Bench) -> None:
    """As with a driver that does not survive the fork: both fail at once, the rewrite sooner."""
    old = """
import os
HOME = os.getpid()

def f(n):
    if os.getpid() != HOME:
        raise RuntimeError("lost")
    return sum(range(n))

def arguments():
    return (1000,), {}
"""
    state = bench.hold(old, "call", "f")
    result = bench.trial(state, "return sum(range(n))", "return n * (n - 1) // 2")
    assert isinstance(result.failure, Unavailable)
    assert "RuntimeError: lost" in result.failure.why


def test_copies_run_under_a_bound_on_memory(bench: Bench) -> None:
    old = """
import resource

def f():
    return resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY

def arguments():
    return (), {}
"""
    state = bench.hold(old, "call", "f")
    line = "    return resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY"
    assert bench.trial(state, line, "    return False").same

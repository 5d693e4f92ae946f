"""What a rewrite imports is imported once for all of its attempts."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gpuadvise.verify import preloaded
from gpuadvise.verify.compare import Different, Same
from gpuadvise.verify.states import imported_once

PROGRAM = """
import random
random.seed(5)
SEEN = []

def count(values):
    total = 0.0
    for value in values:
        total += value
    SEEN.append(random.random())
    return total

def arguments():
    return ([0.5 * k for k in range(3000)],), {}
"""
LOOP = """
    for value in values:
        total += value
"""
FAST = "    import numba\n    total = numba.add(values)"
MODULE = """
import os, time
with open({log!r}, "a") as log:
    log.write(f"{{os.getpid()}}\\n")
{more}

def add(values):
    return sum(values, 0.0)
"""


@pytest.fixture
def module(bench):
    """Puts a module called numba beside the program, which notes who imports it."""
    log = bench.folder / "log"
    log.touch()

    def write(more=""):
        text = MODULE.format(log=str(log), more=more)
        (bench.folder / "numba.py").write_text(text)
        return lambda: [int(line) for line in log.read_text().split()]

    return write


def test_all_attempts_share_one_import(bench, module):
    importers = module()
    state = bench.hold(PROGRAM, "call", "count")
    result = bench.trial(state, LOOP, FAST, repeats=2, perturb=5.0)
    assert isinstance(result.comparison, Same), result
    assert result.warm and result.perturbed.count > 5 and len(importers()) == 1
    # Another rewrite that imports the same, and is wrong, and the first one once more.
    wrong = bench.trial(state, LOOP, f"{FAST} + 0.5")
    assert isinstance(wrong.comparison, Different)
    assert bench.trial(state, LOOP, FAST).same and len(importers()) == 1


def test_the_import_counts_as_a_cost_of_the_first_call(bench, module):
    module("time.sleep(0.3)")
    state = bench.hold(PROGRAM, "call", "count")
    for _ in range(2):
        assert bench.trial(state, LOOP, FAST, repeats=0).first_call >= 0.3


@pytest.mark.parametrize("more", ["os._exit(3)", "raise ImportError"])
def test_a_module_that_cannot_be_imported_beforehand(bench, module, more):
    """The attempt imports it by itself, and says what happens there."""
    once = f"if os.path.getsize({str(bench.folder / 'log')!r}) < 8: {more}"
    importers = module(once)
    state = bench.hold(PROGRAM, "call", "count")
    assert bench.trial(state, LOOP, FAST, repeats=1).same
    assert len(importers()) >= 2


def test_an_attempt_that_kills_what_serves_it(bench, module):
    module()
    state = bench.hold(PROGRAM, "call", "count")
    deadly = f"{FAST}\n    import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)"
    assert not bench.trial(state, LOOP, deadly, repeats=0, limit=20.0).same


def test_the_copy_ends_with_its_holder(bench, module):
    importers = module()
    state = bench.hold(PROGRAM, "call", "count")
    assert bench.trial(state, LOOP, FAST, repeats=0).same
    (copy,) = importers()
    os.kill(copy, 0)
    state.close()
    end = time.monotonic() + 60.0
    while time.monotonic() < end and _runs(copy):
        time.sleep(0.02)
    assert not _runs(copy)


def _runs(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
        return stat.rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        (b"import numpy as np\n", ["numpy"]),
        (b"def f():\n    from numpy import dot\n", ["numpy"]),
        (b"import numpy as np\nimport numba\n", ["numba"]),
        (b"from numba import njit\n", ["numba"]),
        (b"import numpydoc\nx = 'import numba'\n", []),
        (b"import numba\nfrom numba import cuda\n", []),
        (b"import numpy as np\nimport cupy as cp\n", []),
        (b"import math\n", []),
    ],
)
def test_what_may_be_imported_beforehand(text, modules):
    assert imported_once([text]) == modules


def test_no_copy_where_memory_is_short(monkeypatch):
    monkeypatch.setattr(preloaded, "LEAST_MEMORY", 1 << 60)
    forked = []
    monkeypatch.setattr(os, "fork", lambda: forked.append(1))
    with pytest.raises(preloaded.Unanswered):
        preloaded.Preloaded(None, ("numpy",), lambda link, seconds: None)
    assert not forked

"""Puts this folder on the import path, so that tests in sub-folders can ``import harness``."""

from __future__ import annotations

import compileall
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import fake_cupy
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import gpuadvise
from gpuadvise import rules

# How long an example takes says how busy the machine is.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# A job in the background of a shell (``make test &``) ignores the interrupt, and so would all that
# it starts: what a test interrupts would go on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


MEASURING = (
    *("cli", "crossover", "roofline", "cudatrace/test_session.py", "cudatrace/test_traced.py"),
    *("diagnose/test_regions.py", "gpu_rules/test_gpu_journey.py"),
    *("observe/test_bare.py", "observe/test_hooks.py", "observe/test_lines.py"),
    *("observe/test_sandbox.py", "observe/test_scalene.py"),
    *("verify/test_choose.py", "verify/test_compose.py", "verify/test_mending.py"),
    *("verify/test_perturb.py", "verify/test_script.py", "verify/test_states.py"),
)
"""Tests that rest on times, of programs that run for a second: another job on the machine can spoil
one (a gain is found inconclusive, a budget is used up), and is not there any more a moment later.
They have three tries, 5 s apart, and the summary shows which needed them. What looks for changed
results (traps, cheats, the cases of rules) has one."""


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package once, for the thousands of processes that tests start.

    Where PYTHONDONTWRITEBYTECODE is set, each would do it anew: 0.7 s for a run of the tool.
    """
    if not hasattr(config, "workerinput"):
        for package in (gpuadvise, rules):
            compileall.compile_dir(Path(package.__path__[0]), quiet=2)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Five tries for ``MEASURING``."""
    here = Path(__file__).parent
    places = [here / place for place in MEASURING]
    assert all(place.exists() for place in places)
    files = {item.path for item in items}  # few of them, and many tests in each
    measuring = {f for f in files if any(f.is_relative_to(place) for place in places)}
    for item in items:
        if item.path in measuring:
            item.add_marker(pytest.mark.flaky(reruns=4, reruns_delay=5))


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of the test's own, removed after it.

    pytest would keep those of all tests, side by side; and a scratch copy links what lies beside
    the folder that it copies: thousands of links in each of the last tests.
    """
    folder = Path(tempfile.mkdtemp(prefix="test-", dir=tmp_path_factory.getbasetemp()))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _numpy_errors_as_before() -> Iterator[None]:
    """Programs under test may call ``np.seterr``; the next test must not inherit it."""
    before = np.geterr()
    yield
    np.seterr(**before)


@pytest.fixture
def cupy_over_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text for CuPy runs everywhere; tests/codegen/cupy_backend runs it on a GPU, too."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
